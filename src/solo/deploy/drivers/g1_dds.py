"""The real G1: low-level commands and states over DDS.

Before it moves the robot, the driver releases the robot's own motion service, otherwise
two programs would command the motors, and listens whether anybody else does.

Commands are repeated at 500 Hz, as the robot expects, by a process of its own that also
damps when the control loop hangs or ends, see `g1_publisher`.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from solo.deploy.contract import JointContract, reorder
from solo.deploy.drivers import g1_messages as messages
from solo.deploy.drivers.dds import Connection, TopicListener
from solo.deploy.drivers.g1_publisher import COMMAND_TOPIC, STATE_TOPIC, Publisher
from solo.deploy.drivers.protocols import JointCommand, RobotState, damping_command
from solo.errors import SoloError

BATTERY_TOPIC = "rt/lf/bmsstate"


@dataclass(frozen=True)
class G1Cfg:
    """How to reach the robot, and what to do with joints the policy does not know."""

    interface: str = "eth0"
    """Network interface that leads to the robot; ``lo`` for a simulated one."""
    domain_id: int = 0
    """DDS domain; the robot's is 0."""
    publish_hz: float = 500.0
    """Rate at which the command is repeated (the vendor's examples use 500 Hz)."""
    watchdog_s: float = 0.06
    """Age of the command from which the robot is damped. Chosen because it is three
    control periods: one tick may take twice its time (31 ms of CPU time was the longest
    in half an hour of walking), two may not be missed."""
    connect_timeout_s: float = 5.0
    """How long to wait for the first state."""
    service_timeout_s: float = 5.0
    """How long the robot's motion service may take to answer (the vendor's examples
    wait as long)."""
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
        self._battery = float("nan")
        self._other_pos = np.zeros(len(self._others))
        self._other_target, self._other_time_s = self._other_pos, 0.0
        self._mode_machine, self._start_mode = 0, 0
        self.publisher: Publisher | None = None
        """The process that sends the commands."""
        self._connection: Connection | None = None

    def start(self) -> None:
        """Connect, wait for a state and check that it is the robot we expect.

        Raises:
            SoloError: No robot, another machine, or another program commands it.
        """
        self._connection = Connection(self.cfg.interface, self.cfg.domain_id)
        try:
            self._take_control(self._connection)
        except SoloError:
            self._disconnect()
            raise

    def _take_control(self, connection: Connection) -> None:
        from solo.deploy.drivers import g1_idl, g1_motion

        cfg = self.cfg
        self._listener = TopicListener(
            connection, STATE_TOPIC, g1_idl.LowState, self._on_state
        )
        self._battery_listener = TopicListener(
            connection, BATTERY_TOPIC, g1_idl.BmsState, self._on_battery
        )
        deadline = time.monotonic() + cfg.connect_timeout_s
        while self._newest is None:
            if time.monotonic() > deadline:
                raise SoloError(
                    f"No state of a G1 on {cfg.interface!r} within "
                    f"{cfg.connect_timeout_s:g} s ({self.num_bad} messages with a "
                    "wrong checksum). Check the cable, --interface and the robot's "
                    "power."
                )
            time.sleep(0.01)
        if cfg.mode_machine not in (None, self._mode_machine):
            raise SoloError(
                f"The robot reports mode_machine {self._mode_machine}; this policy "
                f"needs {cfg.mode_machine} (29 joints, waist free). Unlock the waist, "
                "or use a policy for this machine."
            )
        self._start_mode = self._mode_machine
        g1_motion.release_motion(connection, cfg.interface, cfg.service_timeout_s)
        self._check_alone(connection, g1_idl.LowCmd)
        damping = damping_command(len(self.joints.names), 2.0 * self.joints.kd)
        publisher = Publisher(
            connection, cfg.interface, cfg.domain_id, cfg.publish_hz, cfg.watchdog_s
        )
        publisher.start(self._encode(damping))
        self.publisher = publisher

    def read(self) -> RobotState | None:
        """The newest state."""
        state, problems = self._newest, {}
        if self.publisher is not None:
            problems.update(self.publisher.problems())
        if self._mode_machine != self._start_mode:
            problems["mode_machine"] = (
                f"the robot reports mode_machine {self._mode_machine} instead of "
                f"{self._start_mode}"
            )
        return replace(state, problems=problems) if state and problems else state

    def write(self, command: JointCommand) -> None:
        """Hand over the command to repeat."""
        assert self.publisher is not None
        self.publisher.send(self._encode(command), bool(np.any(command.kp)))

    def close(self) -> None:
        """Damp until the joints are slow, then let go."""
        if self.publisher is not None:
            self.publisher.close()
            self.publisher = None
        self._disconnect()

    def _check_alone(self, connection: Connection, kind: Any) -> None:
        """Listen for the commands of another program before sending our own."""
        heard = threading.Event()
        listener = TopicListener(connection, COMMAND_TOPIC, kind, lambda _: heard.set())
        is_heard = heard.wait(self.cfg.listen_s)
        listener.close()
        if is_heard:
            raise SoloError(
                "Another program commands the motors of this G1, though its motion "
                "service is released. End the other program."
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
            health=messages.read_health(record, self._battery),
        )

    def _on_battery(self, charge: float) -> None:
        self._battery = charge

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._listener.close()
            self._battery_listener.close()
            self._connection.close()
            self._connection = None
