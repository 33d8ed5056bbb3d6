"""A simulated G1 that speaks the robot's DDS topics: what ``solo sim-robot`` runs.

It publishes states at 500 Hz and obeys the newest command whose checksum is right and
whose mode fields are the robot's. Like the motors of the robot, it goes on tracking the
last command when none arrives.
"""

from __future__ import annotations

import time

import numpy as np

from solo.deploy.contract import reorder
from solo.deploy.drivers import g1_messages as messages
from solo.deploy.drivers.dds import Connection, TopicListener
from solo.deploy.drivers.g1_dds import BATTERY_TOPIC, COMMAND_TOPIC, STATE_TOPIC
from solo.deploy.drivers.protocols import JointCommand
from solo.deploy.drivers.sim_robot import PHYSICS_HZ, SimRobot
from solo.errors import unknown_name

STATE_HZ = 500
"""Rate of the states, as on the robot."""
BATTERY_HZ = 20
"""Rate of the battery's messages; chosen, the robot's is not known to us."""

KNEE = 3
"""Motor slot of the left knee, which most faults are of."""

FAULTS = (
    "motor_error",
    "hot_winding",
    "hot_casing",
    "low_voltage",
    "gyroscope",
    "frozen_clock",
    "clock_back",
    "frozen_state",
    "wild_joint",
    "mode_machine",
    "low_battery",
)
"""Faults of the simulated G1: they change what it reports, not what it does."""


def _damage(name: str, state: np.ndarray, last: np.ndarray) -> None:
    """Change the next state message; ``last`` is the one that was sent before."""
    motors, tick = state["motor_state"], int(state["tick"])
    if name == "motor_error":
        motors["motorstate"][KNEE] = 0x200  # Winding too hot.
    elif name == "hot_winding":
        motors["temperature"][KNEE, 1] = 121
    elif name == "hot_casing":
        motors["temperature"][KNEE, 0] = 86
    elif name == "low_voltage":
        motors["vol"] = 38.0
    elif name == "gyroscope":
        state["imu_state"]["gyroscope"][1] = 6.5
    elif name == "frozen_clock":
        state["tick"] = last["tick"]
    elif name == "clock_back":
        state["tick"] = last["tick"] - 100
    elif name == "frozen_state":
        state[...] = last
        state["tick"] = tick
    elif name == "wild_joint" and tick % 60 < 40:  # Two control steps of three.
        motors["q"][KNEE] = 50.0
    elif name == "mode_machine":
        state["mode_machine"] = 4  # A G1 whose waist is locked.


class InjectedFault:
    """A fault that begins at some time."""

    def __init__(self, name: str | None = None, start_s: float = 0.0) -> None:
        """Choose the fault; None for a sound robot."""
        if name is not None and name not in FAULTS:
            raise unknown_name("fault", name, FAULTS, "Choose one of these.")
        self._name, self._start_s = name, start_s
        self._last: np.ndarray | None = None

    def change(self, state: np.ndarray, time_s: float) -> np.ndarray:
        """The state message that is sent instead, at a simulated time."""
        changed = state.copy()
        if self._name is not None and time_s >= self._start_s:
            _damage(self._name, changed, state if self._last is None else self._last)
        self._last = changed
        return changed

    def battery(self, time_s: float) -> int:
        """Charge of the battery, per cent."""
        is_low = self._name == "low_battery" and time_s >= self._start_s
        return 19 if is_low else 80


class SimG1:
    """The robot's side of the two topics."""

    def __init__(
        self,
        robot: SimRobot,
        interface: str = "lo",
        domain_id: int = 0,
        drop: float = 0.0,
        wait_s: float = 0.0,
        fault: InjectedFault | None = None,
        motion: str = "ai",
    ) -> None:
        """Join the domain.

        Args:
            robot: The simulation.
            interface: Network interface.
            domain_id: DDS domain.
            drop: Share of the messages to lose, in both directions.
            wait_s: How long simulated time waits for a new command. On a machine with
                other work the control loop is late at times that a robot's computer
                would not be; waiting for it keeps such pauses out of the physics.
            fault: What is wrong with the robot.
            motion: The robot's motion service, see `SimulatedMotionService`. While it
                has a mode, the robot does not obey.
        """
        self.robot, self.drop, self._wait_s = robot, drop, wait_s
        self._is_stiff = False
        self._crc, self._new_s, self._new_at = -1, 0.0, -np.inf
        self.num_commands, self.num_refused = 0, 0
        self._random = np.random.default_rng(0)
        self._slots = np.array(
            reorder(messages.MOTOR_NAMES, robot.joint_names, "g1"), dtype=int
        )
        self._command: JointCommand | None = None
        self._state = np.zeros((), messages.LOW_STATE)
        self._state["mode_machine"] = messages.MODE_MACHINE_29
        self._state["motor_state"]["temperature"] = (35, 45)
        self._state["motor_state"]["vol"] = 50.0
        self.fault, self._num_states = fault or InjectedFault(), 0
        self._connection = Connection(interface, domain_id)
        from solo.deploy.drivers import g1_idl, g1_motion

        self.motion = g1_motion.SimulatedMotionService(self._connection, motion)
        self._encode = g1_idl.EncodedState
        self._writer = self._connection.writer(STATE_TOPIC, g1_idl.LowState)
        self._battery = g1_idl.battery_message
        self._battery_writer = self._connection.writer(BATTERY_TOPIC, g1_idl.BmsState)
        self._listener = TopicListener(
            self._connection, COMMAND_TOPIC, g1_idl.LowCmd, self._on_command
        )

    def run(self, seconds: float | None = None) -> None:
        """Simulate in real time; a machine that is too slow falls behind, not apart.

        Prints when the motors become stiff or damped, as `time.monotonic`.
        """
        steps = PHYSICS_HZ // STATE_HZ
        period, deadline = 1.0 / STATE_HZ, time.monotonic()
        end = None if seconds is None else deadline + seconds
        while end is None or deadline < end:
            command = self._command
            is_stiff = command is not None and bool(command.kp.any())
            if is_stiff != self._is_stiff:
                self._is_stiff = is_stiff
                what = "stiff" if is_stiff else "damped"
                print(f"motors {what} at {time.monotonic():.4f} s", flush=True)
            if not self._is_waiting():
                self.robot.step(command, steps)
            self._publish()
            # After a pause of the machine go on from here; do not race to catch up.
            deadline = max(deadline + period, time.monotonic() - 0.05)
            time.sleep(max(deadline - time.monotonic(), 0.0))

    def close(self) -> None:
        """Leave the domain."""
        self.motion.close()
        self._listener.close()
        self._connection.close()

    def _is_waiting(self) -> bool:
        """Whether the command is two control periods old, but not older than agreed."""
        is_old = self.robot.time_s - self._new_s > 0.04
        return is_old and time.monotonic() - self._new_at < self._wait_s

    def _publish(self) -> None:
        robot, state = self.robot, self._state
        state["tick"] = round(1e3 / STATE_HZ * self._num_states)
        state["imu_state"]["quaternion"] = robot.quat_wxyz
        state["imu_state"]["gyroscope"] = robot.ang_vel_b
        motors = state["motor_state"]
        motors["q"][self._slots] = robot.joint_pos
        motors["dq"][self._slots] = robot.joint_vel
        motors["tau_est"][self._slots] = robot.torque
        if self._num_states % (STATE_HZ // BATTERY_HZ) == 0:
            charge = self.fault.battery(robot.time_s)
            self._battery_writer.write(self._battery(charge))
        self._num_states += 1
        sent = self.fault.change(state, robot.time_s)
        if self._random.random() >= self.drop:
            self._writer.write(self._encode(messages.seal(sent)))

    def _on_command(self, record: np.ndarray) -> None:
        if self._random.random() < self.drop:
            return
        if (
            self.motion.name
            or not messages.is_sound(record)
            or record["mode_pr"] != messages.MODE_PR
            or record["mode_machine"] != messages.MODE_MACHINE_29
            or not record["motor_cmd"]["mode"][self._slots].all()
        ):
            self.num_refused += 1
            return
        self.num_commands += 1
        if int(record["crc"]) != self._crc:
            self._crc = int(record["crc"])
            self._new_s, self._new_at = self.robot.time_s, time.monotonic()
        motors = record["motor_cmd"][self._slots]
        self._command = JointCommand(
            *(
                motors[name].astype(np.float64)
                for name in ("q", "dq", "kp", "kd", "tau")
            )
        )
