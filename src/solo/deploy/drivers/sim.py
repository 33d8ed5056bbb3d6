"""The simulated robot and its camera in a process of their own, over two pipes.

The process simulates in real time: 1 kHz physics with PD control, states at 200 Hz,
depth at 60 Hz. It ends when the runtime does.
"""

from __future__ import annotations

import multiprocessing
import select
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from solo.deploy.contract import DepthContract, JointContract, reorder
from solo.deploy.drivers.protocols import Camera, DepthFrame, JointCommand, RobotState
from solo.errors import SoloError

STATE_HZ = 200
"""States per second."""
DEPTH_HZ = 60
"""Depth images per second, as the paper's stream."""


class SimulatedRobot:
    """Starts the process and receives what it sends; the camera uses it, too."""

    name = "sim"

    def __init__(
        self,
        model: Path,
        joints: JointContract,
        depth: DepthContract,
        keep_ropes: bool = False,
    ) -> None:
        """Prepare the process; with ``keep_ropes`` the harness is never let go."""
        self.model, self.joints, self.depth = model, joints, depth
        self._keep_ropes = keep_ropes
        self._process: Any = None
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._newest: RobotState | None = None
        self._num_states, self._order = 0, np.zeros(0, dtype=int)

    def start(self, timeout_s: float = 60.0) -> None:
        """Start the process and wait for its state; a second call does nothing."""
        if self._process is not None:
            return
        context = multiprocessing.get_context("spawn")
        self.states, states = context.Pipe()
        self.images, images = context.Pipe()
        self._process = context.Process(
            target=_simulate,
            args=(self.model, self.depth, states, images, self._keep_ropes),
            daemon=True,
        )
        self._process.start()
        states.close()
        images.close()
        names = self.states.recv() if self.states.poll(timeout_s) else "no answer"
        if isinstance(names, str):
            self.close()
            raise SoloError(f"The simulated robot did not start: {names}")
        self._order = np.array(reorder(names, self.joints.names, "sim"), dtype=int)
        self._inverse = np.argsort(self._order)
        self._thread = threading.Thread(target=self._receive, name="sim", daemon=True)
        self._thread.start()
        deadline = time.monotonic() + timeout_s
        while self._newest is None:
            if time.monotonic() > deadline:
                raise SoloError(
                    f"The simulated robot sent no state within {timeout_s:g} s."
                )
            time.sleep(0.005)

    def read(self) -> RobotState | None:
        """The newest state."""
        return self._newest

    def write(self, command: JointCommand) -> None:
        """Send a command, in the order of the model."""
        parts = (command.q, command.dq, command.kp, command.kd, command.tau)
        self.states.send(tuple(np.asarray(p)[self._inverse] for p in parts))

    def close(self) -> None:
        """End the process; a second call does nothing."""
        if self._process is None:
            return
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=1.0)
        self.states.close()
        self.images.close()
        self._process.join(timeout=2.0)
        if self._process.is_alive():
            self._process.terminate()
        self._process = None

    def _receive(self) -> None:
        try:
            while not self._stop.is_set():
                if not self.states.poll(0.1):
                    continue
                pos, vel, torque, quat, rate = self.states.recv()
                self._num_states += 1
                order = self._order
                self._newest = RobotState(
                    time.monotonic(), pos[order], vel[order], quat, rate,
                    torque[order], b"", self._num_states,
                )  # fmt: skip
        except (EOFError, OSError):
            return  # The state grows old, which the runtime notices.


class SimulatedCamera(Camera):
    """The depth camera of a `SimulatedRobot`, which also ends the process."""

    name = "sim"

    def __init__(self, robot: SimulatedRobot) -> None:
        self._robot, self._num_frames = robot, 0

    def start(self) -> None:
        """Start the process, if the robot has not done so."""
        self._robot.start()

    def wait(self, timeout_s: float) -> DepthFrame | None:
        """Block until an image arrives."""
        try:
            if not self._robot.images.poll(timeout_s):
                return None
            depth_mm = self._robot.images.recv()
        except (EOFError, OSError):
            time.sleep(timeout_s)
            return None
        self._num_frames += 1
        return DepthFrame(time.monotonic(), depth_mm, self._num_frames)


def _simulate(
    path: Path,
    depth: DepthContract,
    states: Connection,
    images: Connection,
    keep_ropes: bool,
) -> None:
    """The process: step, send states and images, take the newest command."""
    import signal

    from solo.deploy.drivers.sim_robot import (
        PHYSICS_HZ,
        HarnessCfg,
        SimCamera,
        SimRobot,
    )

    try:
        harness = HarnessCfg(release_s=np.inf) if keep_ropes else HarnessCfg()
        robot = SimRobot.from_file(path, harness)
        camera = SimCamera(robot, depth)
    except SoloError as error:
        states.send(str(error))
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the runtime's to handle.
    states.send(robot.joint_names)
    command: JointCommand | None = None
    period, start, deadline, count = 1.0 / STATE_HZ, time.monotonic(), 0.0, 0
    try:
        while True:
            while states.poll():
                command = JointCommand(*states.recv())
            robot.step(command, PHYSICS_HZ // STATE_HZ)
            states.send(
                (
                    robot.joint_pos,
                    robot.joint_vel,
                    robot.torque.copy(),
                    robot.quat_wxyz.copy(),
                    robot.ang_vel_b.copy(),
                )
            )
            is_due = count * DEPTH_HZ // STATE_HZ != (count + 1) * DEPTH_HZ // STATE_HZ
            count += 1
            # A frame that nobody takes is dropped, as a camera does.
            if is_due and select.select([], [images], [], 0.0)[1]:
                images.send(camera.render())
            # After a pause of the machine go on from here; do not race to catch up.
            deadline = max(deadline + period, time.monotonic() - start - 0.05)
            time.sleep(max(start + deadline - time.monotonic(), 0.0))
    except (EOFError, OSError):
        return  # The runtime has ended.
