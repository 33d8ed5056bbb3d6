"""Checks of what was measured and of what the policy wants; all but one are pure.

Each check names its fault and the reaction it asks for. What the reactions mean:

- hold: the velocity command goes to zero and the policy balances on; when the fault
  ends, walking goes on. A ramp to the default pose pauses.
- damp: no stiffness, only damping, until the operator asks to stand up again.
- stop: damping, and the run ends.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from solo.deploy.contract import JointContract
from solo.deploy.drivers.protocols import RobotState
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
    """Limits, and the reaction of each check. None of it is stated in the paper."""

    max_state_age_s: float = 0.1
    """Chosen because it is 50 lost messages of a G1 and still five ticks."""
    max_depth_age_s: float = 0.25
    """Chosen because it is 15 lost frames at 60 Hz, beyond any hiccup of USB; training
    covers a latency of 3 ticks (0.06 s)."""
    lost_depth_age_s: float = 2.0
    """Depth so old that balancing on it has no sense any more."""
    max_command_age_s: float = 0.5
    """Chosen because a person needs as long to react."""
    max_action: float = 10.0
    """Chosen because an offset of 10 scales (3.5 rad or more) is outside the range of
    every joint."""
    pos_margin_rad: float = 0.15
    """How far beyond its limit a joint may be measured: stops and gears give way."""
    max_joint_fault_s: float = 0.05
    """How long joints may be beyond their limits. Chosen because a foot that hits an
    edge throws ankle or knee over them for one tick or two: damping at once makes a
    fall of a stumble, see ``docs/deploy.md``."""
    max_tilt_deg: float = 60.0
    """Tilt of the base from which no step recovers."""

    stale_state: Reaction = Reaction.DAMP
    stale_depth: Reaction = Reaction.HOLD
    lost_depth: Reaction = Reaction.DAMP
    lost_command: Reaction = Reaction.HOLD
    nan_action: Reaction = Reaction.DAMP
    action_range: Reaction = Reaction.DAMP
    nan_state: Reaction = Reaction.DAMP
    joint_position: Reaction = Reaction.DAMP
    joint_velocity: Reaction = Reaction.DAMP
    tilt: Reaction = Reaction.DAMP
    policy_error: Reaction = Reaction.DAMP
    robot_error: Reaction = Reaction.STOP


FAULTS = (
    "stale_state",
    "stale_depth",
    "lost_depth",
    "lost_command",
    "nan_action",
    "action_range",
    "nan_state",
    "joint_position",
    "joint_velocity",
    "tilt",
    "policy_error",
    "robot_error",
)
"""Names of all checks; a log stores the faults of a tick as bits in this order."""


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
    if not command_age_s <= cfg.max_command_age_s:
        faults.append(_old(cfg, "lost_command", command_age_s, cfg.max_command_age_s))
    return faults


def check_state(
    cfg: SafetyCfg, joints: JointContract, state: RobotState
) -> list[Fault]:
    """Measurements that are impossible, or beyond what the robot may do."""
    numbers = (state.joint_pos, state.joint_vel, state.quat_wxyz, state.ang_vel_b)
    if not all(np.isfinite(value).all() for value in numbers):
        return [Fault("nan_state", cfg.nan_state, "the robot's state is not finite")]
    if not np.linalg.norm(state.quat_wxyz) > 0.5:
        return [Fault("nan_state", cfg.nan_state, "the orientation is all zero")]
    faults = []
    beyond = np.maximum(joints.pos_low - state.joint_pos, 0.0) + np.maximum(
        state.joint_pos - joints.pos_high, 0.0
    )
    if (worst_joint := int(beyond.argmax())) >= 0 and beyond.max() > cfg.pos_margin_rad:
        faults.append(
            Fault(
                "joint_position",
                cfg.joint_position,
                f"{joints.names[worst_joint]} is at "
                f"{state.joint_pos[worst_joint]:.2f} rad, {beyond.max():.2f} rad "
                f"beyond its limit (allowed {cfg.pos_margin_rad:g})",
            )
        )
    speed = np.abs(state.joint_vel) / joints.vel_limit
    if speed.max() > 1.0:
        fastest = int(speed.argmax())
        faults.append(
            Fault(
                "joint_velocity",
                cfg.joint_velocity,
                f"{joints.names[fastest]} moves at {state.joint_vel[fastest]:.1f} "
                f"rad/s (allowed {joints.vel_limit[fastest]:g})",
            )
        )
    upright = -projected_gravity(state.quat_wxyz)[2]
    tilt_deg = float(np.degrees(np.arccos(np.clip(upright, -1.0, 1.0))))
    if tilt_deg > cfg.max_tilt_deg:
        message = f"the base leans by {tilt_deg:.0f} deg (allowed {cfg.max_tilt_deg:g})"
        faults.append(Fault("tilt", cfg.tilt, message))
    return faults


class JointPatience:
    """Holds back faults of joints until they have lasted, see `SafetyCfg`."""

    NAMES = ("joint_position", "joint_velocity")

    def __init__(self, cfg: SafetyCfg) -> None:
        self._max_s = cfg.max_joint_fault_s
        self._since: dict[str, float] = {}

    def lasting(self, faults: Iterable[Fault], now: float) -> list[Fault]:
        """The faults of this tick that count; call it every tick."""
        found = list(faults)
        self._since = {f.name: self._since.get(f.name, now) for f in found}
        return [
            fault
            for fault in found
            if fault.name not in self.NAMES
            or now - self._since[fault.name] > self._max_s
        ]


def check_action(
    cfg: SafetyCfg, joints: JointContract, action: np.ndarray
) -> list[Fault]:
    """Actions that no sound policy gives."""
    if action.shape != (len(joints.names),):
        message = f"the action has shape {action.shape}, not ({len(joints.names)},)"
        return [Fault("policy_error", cfg.policy_error, message)]
    if not np.isfinite(action).all():
        bad = joints.names[int(np.flatnonzero(~np.isfinite(action))[0])]
        return [Fault("nan_action", cfg.nan_action, f"action of {bad} is not finite")]
    largest = int(np.abs(action).argmax())
    if abs(action[largest]) > cfg.max_action:
        message = (
            f"action of {joints.names[largest]} is {action[largest]:.1f} "
            f"(allowed {cfg.max_action:g})"
        )
        return [Fault("action_range", cfg.action_range, message)]
    return []


def _old(cfg: SafetyCfg, name: str, age_s: float, allowed_s: float) -> Fault:
    message = f"newest data is {age_s:.3f} s old (allowed {allowed_s:g})"
    return Fault(name, getattr(cfg, name), message)
