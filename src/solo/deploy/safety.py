"""Checks of what was measured and of what the policy wants, in one tick.

Those that need a memory are in `watches`.

Each check names its fault and the reaction it asks for. What the reactions mean:

- hold: the velocity command goes to zero and the policy balances on; when the fault
  ends, walking goes on. A ramp to the default pose pauses.
- damp: no stiffness, only damping, until the operator asks to stand up again.
- stop: damping, and the run ends.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from solo.deploy.contract import JointContract
from solo.deploy.drivers.protocols import RobotHealth, RobotState
from solo.deploy.observation import projected_gravity


class Reaction(enum.IntEnum):
    """What to do about a fault, in order of severity."""

    NONE = 0
    HOLD = 1
    DAMP = 2
    STOP = 3


@dataclass(frozen=True)
class Fault:
    """Something that is wrong in this tick."""

    name: str
    """Name of the check, a field of `SafetyCfg`."""
    reaction: Reaction
    message: str
    """What was found and what is allowed."""


@dataclass(frozen=True)
class SafetyCfg:
    """Limits, and the reaction of each check. None of it is stated in the paper.

    T: the default of the vendor's termination checks for the G1, unitree_sdk2,
    ``include/unitree/robot/g1/common/terminations.hpp``, which recommend to make the
    motors passive.
    """

    max_state_age_s: float = 0.1
    """Chosen because it is 50 lost messages of a G1 and still five ticks."""
    max_depth_age_s: float = 0.25
    """Chosen because it is 15 lost frames at 60 Hz, beyond any hiccup of USB; training
    covers a latency of 3 ticks (0.06 s)."""
    lost_depth_age_s: float = 2.0
    """Depth so old that balancing on it has no sense any more."""
    max_command_age_s: float = 0.5
    """Chosen because a person needs as long to react."""
    lost_command_age_s: float = 5.0
    """How long a robot may stand that nobody can stop: enough to plug a cable in again,
    too short to walk up to it."""
    max_pause_s: float = 0.2
    """Longest time between two ticks. Chosen because the policy's window has 10 control
    steps: after as many missed ones nothing in it, nor in the policy's memory, belongs
    together."""
    min_rate: float = 0.8
    """Share of the control rate that the loop must reach over the last 50 ticks. Chosen
    because the policy was never trained at another rate than its own."""
    max_action: float = 10.0
    """Chosen because an offset of 10 scales (3.5 rad or more) is outside the range of
    every joint."""
    pos_margin_rad: float = 0.15
    """How far beyond its limit a joint may be measured: stops and gears give way."""
    max_brief_s: float = 0.05
    """How long joints, gyroscope, voltage and actions may be beyond their limits.
    Chosen because a foot that hits an edge throws ankle or knee over them for one tick
    or two: damping at once makes a fall of a stumble, see ``docs/deploy.md``."""
    max_brief_share: float = 0.2
    """For which share of the last second they may be. Chosen because that is five
    stumbles of two ticks."""
    max_tilt_deg: float = 60.0
    """Tilt of the base from which no step recovers (the vendor's example: 57, T)."""
    max_gyroscope: float = 6.0
    """Angular velocity of the base about any axis, rad/s (T). The shipped policy stays
    below 1.4 on flat ground and reached 6.3 briefly on stairs of 15 cm."""
    max_winding_c: float = 120.0
    """Temperature of a motor's winding, degrees Celsius (T)."""
    max_casing_c: float = 85.0
    """Temperature of a motor's casing (T)."""
    min_battery: float = 20.0
    """Charge of the battery, per cent (T)."""
    min_voltage: float = 39.0
    """Voltage at any motor. The battery has 13 cells in series (46.8 V rated, 54.6 V
    charged, says the vendor's manual); chosen because a cell is empty at 3.0 V."""
    max_voltage: float = 60.0
    """Chosen because it is a tenth more than the charged battery: braking motors feed
    energy back."""
    max_frozen_state_s: float = 0.1
    """How long the robot's clock or its measurements may stand still though messages
    arrive; as long as a state may be old."""
    min_valid_depth: float = 0.3
    """Share of the network's image that must be valid. Chosen because a free lens gives
    more than 0.9 in simulation, and a hand on it nothing."""
    min_depth_hz: float = 15.0
    """Images per second, over the last five. Chosen because an image is then repeated
    for three ticks, the latency that training covers."""
    max_action_step: float = 6.0
    """How far a target may move in a tick, in action scales. The shipped policy moves
    them by 1.9 at most on flat ground; 7.6 was seen for moments on stairs of 15 cm,
    where the limit slows the target."""

    # The reactions. A log stores the faults of a tick as bits in this order: append.
    stale_state: Reaction = Reaction.DAMP
    stale_depth: Reaction = Reaction.HOLD
    lost_depth: Reaction = Reaction.DAMP
    lost_command: Reaction = Reaction.DAMP
    nan_action: Reaction = Reaction.DAMP
    action_range: Reaction = Reaction.DAMP
    nan_state: Reaction = Reaction.DAMP
    joint_position: Reaction = Reaction.DAMP
    joint_velocity: Reaction = Reaction.DAMP
    tilt: Reaction = Reaction.DAMP
    policy_error: Reaction = Reaction.DAMP
    robot_error: Reaction = Reaction.STOP
    stale_command: Reaction = Reaction.HOLD
    pause: Reaction = Reaction.DAMP
    slow_loop: Reaction = Reaction.DAMP
    watchdog: Reaction = Reaction.DAMP
    """The robot's side had to damp by itself: the loop gave no command in time."""
    mode_machine: Reaction = Reaction.DAMP
    """The robot reports another kind of machine than at the start."""
    other_commands: Reaction = Reaction.STOP
    """Another program commands the motors: two must not."""
    gyroscope: Reaction = Reaction.DAMP
    motor_error: Reaction = Reaction.DAMP
    overheat: Reaction = Reaction.DAMP
    bus_voltage: Reaction = Reaction.DAMP
    low_battery: Reaction = Reaction.HOLD
    """Unlike the vendor's example: a robot that stands can still be led to its gantry,
    one that is damped falls."""
    frozen_state: Reaction = Reaction.DAMP
    frozen_depth: Reaction = Reaction.HOLD
    covered_depth: Reaction = Reaction.HOLD
    slow_depth: Reaction = Reaction.HOLD
    action_rate: Reaction = Reaction.DAMP

    def fault(self, name: str, message: str) -> Fault:
        """A fault with its reaction."""
        return Fault(name, getattr(self, name), message)


FAULTS = tuple(f.name for f in fields(SafetyCfg) if isinstance(f.default, Reaction))
"""Names of all checks; a log stores the faults of a tick as bits in this order."""


DRIVER_FAULTS = (
    "watchdog",
    "mode_machine",
    "other_commands",
    "motor_error",
    "overheat",
    "bus_voltage",
    "low_battery",
    "frozen_state",
)
"""Those that the robot's driver finds or that are about the robot's health. A log does
not hold what they were found in, so a replay takes them from its fault bits."""


def worst(faults: Iterable[Fault]) -> Reaction:
    """The most severe reaction asked for."""
    return max((fault.reaction for fault in faults), default=Reaction.NONE)


def fault_bits(faults: Iterable[Fault]) -> int:
    """Faults as one number, see `FAULTS`."""
    return sum({1 << FAULTS.index(fault.name) for fault in faults})


def check_ages(
    cfg: SafetyCfg,
    state_age_s: float,
    depth_age_s: float | None,
    command_age_s: float,
) -> list[Fault]:
    """Data that is too old; ``depth_age_s`` is None where depth is not needed."""
    faults = []
    if not state_age_s <= cfg.max_state_age_s:
        faults.append(_old(cfg, "stale_state", state_age_s, cfg.max_state_age_s))
    if depth_age_s is not None:
        if not depth_age_s <= cfg.lost_depth_age_s:
            faults.append(_old(cfg, "lost_depth", depth_age_s, cfg.lost_depth_age_s))
        elif not depth_age_s <= cfg.max_depth_age_s:
            faults.append(_old(cfg, "stale_depth", depth_age_s, cfg.max_depth_age_s))
    if not command_age_s <= cfg.lost_command_age_s:
        limit_s = cfg.lost_command_age_s
        faults.append(_old(cfg, "lost_command", command_age_s, limit_s))
    elif not command_age_s <= cfg.max_command_age_s:
        faults.append(_old(cfg, "stale_command", command_age_s, cfg.max_command_age_s))
    return faults


RATE_TICKS = 50
"""Ticks over which the rate of the loop is measured."""


def check_pace(
    cfg: SafetyCfg, period_s: float, times_s: Sequence[float]
) -> list[Fault]:
    """A loop that paused or cannot keep up; ``times_s`` are its last ticks."""
    if len(times_s) < 2:
        return []
    pause_s = times_s[-1] - times_s[-2]
    if pause_s > cfg.max_pause_s:
        message = f"no tick for {pause_s:.3f} s (allowed {cfg.max_pause_s:g})"
        return [cfg.fault("pause", message)]
    if len(times_s) <= RATE_TICKS:
        return []
    allowed_hz = cfg.min_rate / period_s
    found_hz = RATE_TICKS / (times_s[-1] - times_s[-1 - RATE_TICKS])
    if found_hz < allowed_hz:
        message = (
            f"{found_hz:.1f} ticks per second over the last {RATE_TICKS} (allowed "
            f"{allowed_hz:g})"
        )
        return [cfg.fault("slow_loop", message)]
    return []


def beyond_limits(joints: JointContract, position: np.ndarray) -> np.ndarray:
    """How far each joint is beyond its limits [joints], rad; 0 within them."""
    return np.maximum(joints.pos_low - position, 0.0) + np.maximum(
        position - joints.pos_high, 0.0
    )


def check_state(
    cfg: SafetyCfg, joints: JointContract, state: RobotState
) -> list[Fault]:
    """Measurements that are impossible, or beyond what the robot may do."""
    numbers = (state.joint_pos, state.joint_vel, state.quat_wxyz, state.ang_vel_b)
    if not all(np.isfinite(value).all() for value in numbers):
        return [cfg.fault("nan_state", "the robot's state is not finite")]
    if not np.linalg.norm(state.quat_wxyz) > 0.5:
        return [cfg.fault("nan_state", "the orientation is all zero")]
    faults = []
    beyond = beyond_limits(joints, state.joint_pos)
    if (worst_joint := int(beyond.argmax())) >= 0 and beyond.max() > cfg.pos_margin_rad:
        faults.append(
            cfg.fault(
                "joint_position",
                f"{joints.names[worst_joint]} is at "
                f"{state.joint_pos[worst_joint]:.2f} rad, {beyond.max():.2f} rad "
                f"beyond its limit (allowed {cfg.pos_margin_rad:g})",
            )
        )
    speed = np.abs(state.joint_vel) / joints.vel_limit
    if speed.max() > 1.0:
        fastest = int(speed.argmax())
        faults.append(
            cfg.fault(
                "joint_velocity",
                f"{joints.names[fastest]} moves at {state.joint_vel[fastest]:.1f} "
                f"rad/s (allowed {joints.vel_limit[fastest]:g})",
            )
        )
    turn = float(np.abs(state.ang_vel_b).max())
    if turn > cfg.max_gyroscope:
        message = f"the base turns at {turn:.1f} rad/s (allowed {cfg.max_gyroscope:g})"
        faults.append(cfg.fault("gyroscope", message))
    upright = -projected_gravity(state.quat_wxyz)[2]
    tilt_deg = float(np.degrees(np.arccos(np.clip(upright, -1.0, 1.0))))
    if tilt_deg > cfg.max_tilt_deg:
        message = f"the base leans by {tilt_deg:.0f} deg (allowed {cfg.max_tilt_deg:g})"
        faults.append(cfg.fault("tilt", message))
    return faults


def check_health(cfg: SafetyCfg, health: RobotHealth) -> list[Fault]:
    """What the robot reports about its motors and its battery."""
    faults = []
    if health.errors.any():
        index = int(np.flatnonzero(health.errors)[0])
        message = f"{health.motors[index]} reports error 0x{health.errors[index]:x}"
        faults.append(cfg.fault("motor_error", message))
    for part, values, most in (
        ("winding", health.winding_c, cfg.max_winding_c),
        ("casing", health.casing_c, cfg.max_casing_c),
    ):
        if values.max() > most:
            name = health.motors[int(values.argmax())]
            message = (
                f"the {part} of {name} has {values.max():.0f} C (allowed {most:g})"
            )
            faults.append(cfg.fault("overheat", message))
    lowest, highest = health.voltage.min(), health.voltage.max()
    if highest > 0.0 and (lowest < cfg.min_voltage or highest > cfg.max_voltage):
        value = lowest if lowest < cfg.min_voltage else highest
        message = f"a motor has {value:.1f} V (allowed {cfg.min_voltage:g} to "
        faults.append(cfg.fault("bus_voltage", f"{message}{cfg.max_voltage:g})"))
    if health.battery < cfg.min_battery:  # Not a number if it is not known.
        message = f"the battery has {health.battery:.0f} % (at least "
        message += f"{cfg.min_battery:g})"
        faults.append(cfg.fault("low_battery", message))
    return faults


def check_action(
    cfg: SafetyCfg, joints: JointContract, action: np.ndarray, last: np.ndarray
) -> list[Fault]:
    """Actions that no sound policy gives, also not after its ``last`` one."""
    if action.shape != (len(joints.names),):
        message = f"the action has shape {action.shape}, not ({len(joints.names)},)"
        return [cfg.fault("policy_error", message)]
    if not np.isfinite(action).all():
        bad = joints.names[int(np.flatnonzero(~np.isfinite(action))[0])]
        return [cfg.fault("nan_action", f"action of {bad} is not finite")]
    largest = int(np.abs(action).argmax())
    if abs(action[largest]) > cfg.max_action:
        message = (
            f"action of {joints.names[largest]} is {action[largest]:.1f} "
            f"(allowed {cfg.max_action:g})"
        )
        return [cfg.fault("action_range", message)]
    step = np.abs(action - last)
    if step.max() > cfg.max_action_step:
        message = (
            f"action of {joints.names[int(step.argmax())]} changes by {step.max():.1f} "
            f"in a tick (allowed {cfg.max_action_step:g})"
        )
        return [cfg.fault("action_rate", message)]
    return []


def _old(cfg: SafetyCfg, name: str, age_s: float, allowed_s: float) -> Fault:
    message = f"newest data is {age_s:.3f} s old (allowed {allowed_s:g})"
    return cfg.fault(name, message)
