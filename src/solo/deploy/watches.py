"""Checks that need a memory, and what is done about values that cannot be true.

The checks of `safety` look at one tick; these look at what changes from tick to tick,
and at what does not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from solo.deploy.camera import DepthImage
from solo.deploy.contract import JointContract
from solo.deploy.drivers.protocols import RobotState
from solo.deploy.safety import Fault, SafetyCfg, beyond_limits

SAME_TIME_S = 1e-6
"""Arrivals that are no further apart are the same one, read again."""


class Patience:
    """Holds back faults that a stumble or one wrong message explains.

    A fault counts once it has lasted, or once it was there for too large a share of the
    last second: values that are wrong in two ticks of three are no stumble.
    """

    NAMES = (
        "joint_position",
        "joint_velocity",
        "gyroscope",
        "bus_voltage",
        "action_rate",
    )

    def __init__(self, cfg: SafetyCfg, period_s: float) -> None:
        self._cfg, self._period_s = cfg, period_s
        self._since: dict[str, float] = {}
        self._times_s = {name: deque[float]() for name in self.NAMES}

    def lasting(self, faults: Iterable[Fault], now: float) -> list[Fault]:
        """The faults of this tick that count; call it every tick."""
        found = list(faults)
        self._since = {f.name: self._since.get(f.name, now) for f in found}
        return [
            fault
            for fault in found
            if fault.name not in self.NAMES or self._has_lasted(fault.name, now)
        ]

    def _has_lasted(self, name: str, now: float) -> bool:
        times_s = self._times_s[name]
        times_s.append(now)
        while times_s[0] < now - 1.0:
            times_s.popleft()
        share = len(times_s) * self._period_s
        is_frequent = share > self._cfg.max_brief_share
        return is_frequent or now - self._since[name] > self._cfg.max_brief_s


class StateWatch:
    """Whether the robot's clock runs and its measurements change."""

    def __init__(self, cfg: SafetyCfg) -> None:
        self._cfg = cfg
        self._last: RobotState | None = None
        self._ticked_s = self._moved_s = 0.0

    def check(self, state: RobotState) -> list[Fault]:
        """Faults of the newest state; call it every tick."""
        last, self._last = self._last, state
        if last is None:
            self._ticked_s = self._moved_s = state.time_s
            return []
        if state.time_s <= last.time_s + SAME_TIME_S:
            return []
        steps = _clock_steps(last, state)
        if steps is None or steps > 0:
            self._ticked_s = state.time_s
        elif steps < 0:
            message = f"the robot's clock went back by {-steps} ms"
            return [self._cfg.fault("frozen_state", message)]
        if not _is_same(last, state):
            self._moved_s = state.time_s
        for what, since_s in (
            ("the robot's clock stands still", self._ticked_s),
            ("the robot's measurements do not change", self._moved_s),
        ):
            still_s = state.time_s - since_s
            if still_s > self._cfg.max_frozen_state_s:
                allowed = f"(allowed {self._cfg.max_frozen_state_s:g})"
                message = f"{what} since {still_s:.3f} s {allowed}"
                return [self._cfg.fault("frozen_state", message)]
        return []


def _clock_steps(last: RobotState, state: RobotState) -> int | None:
    """Milliseconds by which the robot's clock went on; None if it has none.

    The clock has 32 bits and starts again after 50 days.
    """
    if last.health is None or state.health is None:
        return None
    steps = (state.health.clock_ms - last.health.clock_ms) & 0xFFFFFFFF
    return steps - (1 << 32) if steps >= 1 << 31 else steps


def _is_same(a: RobotState, b: RobotState) -> bool:
    names = ("joint_pos", "joint_vel", "quat_wxyz", "ang_vel_b")
    return all(np.array_equal(getattr(a, n), getattr(b, n)) for n in names)


class Believable:
    """Replaces joint values that cannot be true by the last that could.

    They count as faults once they last; until then the policy must not see them.
    """

    def __init__(self, cfg: SafetyCfg, joints: JointContract) -> None:
        self._cfg, self._joints = cfg, joints
        self._pos, self._vel = joints.default_pos, np.zeros(len(joints.names))

    def __call__(self, state: RobotState) -> RobotState:
        """The state with every joint where it can be."""
        joints = self._joints
        is_there = beyond_limits(joints, state.joint_pos) <= self._cfg.pos_margin_rad
        is_slow = np.abs(state.joint_vel) <= joints.vel_limit
        is_good = is_there & is_slow
        self._pos = np.where(is_good, state.joint_pos, self._pos)
        self._vel = np.where(is_good, state.joint_vel, self._vel)
        if is_good.all():
            return state
        return replace(state, joint_pos=self._pos, joint_vel=self._vel)


class DepthWatch:
    """Whether images change, show something, and come often enough."""

    def __init__(self, cfg: SafetyCfg) -> None:
        self._cfg = cfg
        self._last: DepthImage | None = None
        self._changed_s = self._good_s = 0.0
        self._pace: deque[float] = deque(maxlen=5)
        self._faults: list[Fault] = []

    def check(self, image: DepthImage | None) -> list[Fault]:
        """Faults of the newest image; call it every tick."""
        last = self._last
        if image is None:
            return []
        if last is None:
            self._changed_s = self._good_s = image.time_s
        elif image.time_s <= last.time_s + SAME_TIME_S:
            return self._faults
        else:
            num = max(image.sequence - last.sequence, 1)
            self._pace.append((image.time_s - last.time_s) / num)
            if not np.array_equal(image.depth_mm, last.depth_mm):
                self._changed_s = image.time_s
        self._last = image
        self._faults = self._look(image)
        return self._faults

    def _look(self, image: DepthImage) -> list[Fault]:
        cfg = self._cfg
        valid = float((image.depth > 0.0).mean())
        still_s = image.time_s - self._changed_s
        if valid < cfg.min_valid_depth:
            message = f"{valid:.0%} of the pixels are valid (at least "
            message += f"{cfg.min_valid_depth:.0%}); is the lens covered?"
            fault = cfg.fault("covered_depth", message)
        elif still_s > cfg.max_depth_age_s:
            message = f"the image has not changed for {still_s:.3f} s (allowed "
            message += f"{cfg.max_depth_age_s:g})"
            fault = cfg.fault("frozen_depth", message)
        else:
            self._good_s = image.time_s
            return self._check_pace()
        blind_s = image.time_s - self._good_s
        if blind_s > cfg.lost_depth_age_s:
            message = f"no usable image for {blind_s:.1f} s (allowed "
            message += f"{cfg.lost_depth_age_s:g})"
            return [fault, cfg.fault("lost_depth", message)]
        return [fault]

    def _check_pace(self) -> list[Fault]:
        """The median, so that one late frame is no fault."""
        if len(self._pace) < 5:
            return []
        hz = 1.0 / float(np.median(self._pace))
        if hz >= self._cfg.min_depth_hz:
            return []
        message = f"{hz:.1f} images per second (at least {self._cfg.min_depth_hz:g})"
        return [self._cfg.fault("slow_depth", message)]


class TargetLimiter:
    """Keeps targets from jumping, and motors from more torque than they have."""

    def __init__(self, cfg: SafetyCfg, joints: JointContract) -> None:
        self._step = cfg.max_action_step * np.abs(joints.action_scale)
        self._joints = joints
        self._last: np.ndarray | None = None
        self.num_slowed = 0
        """Ticks in which a target would have jumped."""
        self.num_clipped = 0
        """Ticks in which a motor would have been asked for more torque than it has."""

    def reset(self) -> None:
        """Begin anew: the next targets may be anywhere."""
        self._last = None

    def __call__(self, target: np.ndarray, state: RobotState) -> np.ndarray:
        """Targets [joints] that may be sent, rad.

        The state tells with which torque PD control will begin.
        """
        joints = self._joints
        if self._last is not None:
            wanted = target
            low, high = self._last - self._step, self._last + self._step
            target = np.clip(wanted, low, high)
            self.num_slowed += bool((target != wanted).any())
        self._last = target
        damping = -joints.kd * state.joint_vel
        torque = joints.kp * (target - state.joint_pos) + damping
        is_over = np.abs(torque) > joints.effort_limit
        if not is_over.any():
            return target
        self.num_clipped += 1
        most = np.clip(torque, -joints.effort_limit, joints.effort_limit)
        clipped = state.joint_pos + (most - damping) / joints.kp
        return np.where(is_over, clipped, target)
