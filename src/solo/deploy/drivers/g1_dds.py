"""The real G1: low-level commands and states over DDS.

Before this driver may move the robot, its own motion service has to be released,
otherwise two programs command the motors (docs/deploy.md says how). The driver refuses
to start while another program writes to the command topic.

Commands are repeated at 500 Hz, as the robot expects, by a thread. If the control loop
does not hand over a new command in time, the thread sends damping by itself.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from solo.deploy.contract import JointContract, reorder
from solo.deploy.drivers import g1_messages as messages
from solo.deploy.drivers.dds import Connection
from solo.deploy.drivers.protocols import JointCommand, RobotState
from solo.errors import SoloError

COMMAND_TOPIC = "rt/lowcmd"
STATE_TOPIC = "rt/lowstate"


@dataclass(frozen=True)
class G1Cfg:
    """How to reach the robot, and what to do with joints the policy does not know."""

    interface: str = "eth0"
    """Network interface that leads to the robot; ``lo`` for a simulated one."""
    domain_id: int = 0
    """DDS domain; the robot's is 0."""
    publish_hz: float = 500.0
    """Rate at which the command is repeated (the vendor's examples use 500 Hz)."""
    watchdog_s: float = 0.1
    """Age of the command from which the thread damps: five missed ticks."""
    connect_timeout_s: float = 5.0
    """How long to wait for the first state."""
    listen_s: float = 0.3
    """How long to listen for the commands of another program before starting."""
    wrist_kp: float = 20.0
    """Stiffness that holds the other joints (the wrists) at zero, Nm/rad."""
    wrist_kd: float = 1.0
    """Their damping, Nm s/rad."""
    wrist_speed: float = 0.5
    """How fast they are brought to zero from where they were, rad/s."""
    mode_machine: int | None = messages.MODE_MACHINE_29
    """What the robot must report; None accepts any G1."""


class G1Robot:
    """A G1, behind the robot protocol."""

    name = "g1"

    def __init__(self, joints: JointContract, cfg: G1Cfg | None = None) -> None:
        self.joints, self.cfg = joints, cfg or G1Cfg()
        self._slots = np.array(
            reorder(messages.MOTOR_NAMES, joints.names, self.name), dtype=int
        )
        self._others = np.setdiff1d(np.arange(len(messages.MOTOR_NAMES)), self._slots)
        self.num_states = 0
        """States that arrived."""
        self.num_bad = 0
        """States that were dropped because their checksum was wrong."""
        self._newest: RobotState | None = None
        self._other_pos = np.zeros(len(self._others))
        self._other_target, self._other_time_s = self._other_pos, 0.0
        self._mode_machine = 0
        self._command: tuple[float, Any] | None = None
        self._damping: Any = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._publish, name="g1", daemon=True)
        self._connection: Connection | None = None

    def start(self) -> None:
        """Connect, wait for a state and check that it is the robot we expect.

        Raises:
            SoloError: No robot, another machine, or another program commands it.
        """
        cfg = self.cfg
        self._connection = Connection(cfg.interface, cfg.domain_id)
        from solo.deploy.drivers import g1_idl

        self._listener = self._connection.listen(
            STATE_TOPIC, g1_idl.LowState, self._on_state
        )
        deadline = time.monotonic() + cfg.connect_timeout_s
        while self._newest is None:
            if time.monotonic() > deadline:
                self._disconnect()
                raise SoloError(
                    f"No state of a G1 on {cfg.interface!r} within "
                    f"{cfg.connect_timeout_s:g} s ({self.num_bad} messages with a "
                    "wrong checksum). Check the cable, --interface and the robot's "
                    "power."
                )
            time.sleep(0.01)
        if cfg.mode_machine not in (None, self._mode_machine):
            self._disconnect()
            raise SoloError(
                f"The robot reports mode_machine {self._mode_machine}; this policy "
                f"needs {cfg.mode_machine} (29 joints, waist free). Unlock the waist, "
                "or use a policy for this machine."
            )
        self._check_alone(g1_idl.LowCmd)
        self._writer = self._connection.writer(COMMAND_TOPIC, g1_idl.LowCmd)
        zeros = np.zeros(len(self.joints.names))
        damping = JointCommand(zeros, zeros, zeros, 2.0 * self.joints.kd, zeros)
        self._damping = g1_idl.EncodedCommand(self._encode(damping))
        self._thread.start()

    def read(self) -> RobotState | None:
        """The newest state."""
        return self._newest

    def write(self, command: JointCommand) -> None:
        """Hand over the command that the thread repeats."""
        from solo.deploy.drivers import g1_idl

        if not self._thread.is_alive():
            raise RuntimeError("the thread that sends commands has ended")
        encoded = g1_idl.EncodedCommand(self._encode(command))
        self._command = (time.monotonic(), encoded)

    def close(self) -> None:
        """Damp for a moment, then let go."""
        if self._thread.is_alive():
            self._command = (time.monotonic(), self._damping)
            time.sleep(0.05)
            self._stop.set()
            self._thread.join(timeout=1.0)
        self._disconnect()

    def _check_alone(self, kind: Any) -> None:
        """Listen for the commands of another program before sending our own."""
        assert self._connection is not None
        heard = threading.Event()
        listener = self._connection.listen(COMMAND_TOPIC, kind, lambda _: heard.set())
        is_heard = heard.wait(self.cfg.listen_s)
        listener.close()
        if is_heard:
            self._disconnect()
            raise SoloError(
                "Another program commands the motors of this G1. Release the robot's "
                "motion service (docs/deploy.md) or end the other program."
            )

    def _encode(self, command: JointCommand) -> np.ndarray:
        """The message of a command: its checksum and mode fields as the robot wants."""
        record = np.zeros((), messages.LOW_CMD)
        record["mode_pr"] = messages.MODE_PR
        record["mode_machine"] = self._mode_machine
        motors = record["motor_cmd"]
        motors["mode"][: len(messages.MOTOR_NAMES)] = 1  # Enabled.
        for field in ("q", "dq", "tau", "kp", "kd"):
            motors[field][self._slots] = getattr(command, field)
        is_stiff = bool(np.any(command.kp))
        motors["q"][self._others] = self._move_others(is_stiff)
        motors["kp"][self._others] = self.cfg.wrist_kp if is_stiff else 0.0
        motors["kd"][self._others] = self.cfg.wrist_kd
        return messages.seal(record)

    def _move_others(self, is_stiff: bool) -> np.ndarray:
        """Targets of the joints that the policy does not know: slowly to zero, rad."""
        now = time.monotonic()
        if is_stiff:
            step = self.cfg.wrist_speed * min(now - self._other_time_s, 0.05)
            target = self._other_target
            self._other_target = target - np.clip(target, -step, step)
        else:
            self._other_target = self._other_pos
        self._other_time_s = now
        return self._other_target

    def _on_state(self, record: np.ndarray) -> None:
        now = time.monotonic()
        if not messages.is_sound(record):
            self.num_bad += 1
            return
        self.num_states += 1
        self._mode_machine = int(record["mode_machine"])
        self._other_pos = record["motor_state"]["q"][self._others].astype(np.float64)
        motors = record["motor_state"][self._slots]
        imu = record["imu_state"]
        self._newest = RobotState(
            time_s=now,
            joint_pos=motors["q"].astype(np.float64),
            joint_vel=motors["dq"].astype(np.float64),
            quat_wxyz=imu["quaternion"].astype(np.float64),
            ang_vel_b=imu["gyroscope"].astype(np.float64),
            joint_torque=motors["tau_est"].astype(np.float64),
            remote=record["wireless_remote"].tobytes(),
            sequence=self.num_states,
        )

    def _publish(self) -> None:
        """Repeat the newest command; nothing is sent before there is one."""
        period = 1.0 / self.cfg.publish_hz
        deadline = time.monotonic()
        while not self._stop.is_set():
            current = self._command
            if current is not None:
                age = time.monotonic() - current[0]
                is_old = age > self.cfg.watchdog_s
                self._writer.write(self._damping if is_old else current[1])
            deadline = max(deadline + period, time.monotonic() - period)
            time.sleep(max(deadline - time.monotonic(), 0.0))

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._listener.close()
            self._connection.close()
            self._connection = None
