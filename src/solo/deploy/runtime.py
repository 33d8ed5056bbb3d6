"""One tick of the runtime, 50 times a second: read, check, decide, act, record.

The runtime owns no thread and no clock of its own; `run` calls `tick` at a fixed rate,
and tests and replay call it with times of their choice. All checks come before the
command of the same tick, so that a fault has its reaction within one tick.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from solo.deploy.camera import DepthImage, DepthSource
from solo.deploy.command import CommandCfg, CommandFilter, Operator, OperatorInput
from solo.deploy.contract import Contract
from solo.deploy.drivers.protocols import (
    JointCommand,
    Robot,
    RobotState,
    damping_command,
)
from solo.deploy.loop import FixedRateLoop
from solo.deploy.observation import Observer, Policy
from solo.deploy.phase import Phase, Request, next_phase
from solo.deploy.recorder import Recorder, Snapshot
from solo.deploy.safety import (
    RATE_TICKS,
    Fault,
    Reaction,
    SafetyCfg,
    check_action,
    check_ages,
    check_health,
    check_pace,
    check_state,
    worst,
)
from solo.deploy.watches import (
    Believable,
    DepthWatch,
    Patience,
    StateWatch,
    TargetLimiter,
)


@dataclass(frozen=True)
class RuntimeCfg:
    """What the operator may choose. None of it is stated in the paper."""

    start: Phase = Phase.IDLE
    """Phase to start in; damping on a real robot."""
    stand_up_s: float = 2.0
    """Duration of the ramp to the default pose.

    Chosen because no joint of a G1 then moves faster than 2 rad/s from any usual pose.
    """
    blend_s: float = 0.6
    """Time in which the policy takes over from the default pose: its actions grow from
    nothing to their full size.

    Chosen because an action of 1 rad then moves a target by 0.05 rad per tick at most.
    """
    damping_scale: float = 2.0
    """Damping of the damping phase, as a multiple of the policy's.

    Chosen because the robot sinks slowly and the gain stays within what PD control at
    1 kHz can track on the lightest motors.
    """
    safety: SafetyCfg = field(default_factory=SafetyCfg)
    """Limits and reactions."""
    command: CommandCfg = field(default_factory=CommandCfg)
    """Limits of the velocity command."""


class Runtime:
    """Ties robot, depth, policy, operator, safety and log together."""

    def __init__(
        self,
        contract: Contract,
        robot: Robot,
        policy: Policy,
        operator: Operator,
        depth: DepthSource | None = None,
        cfg: RuntimeCfg | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        """Prepare a run with devices that are started; nothing moves yet."""
        self.contract, self.robot, self.policy = contract, robot, policy
        self.operator, self.depth, self.cfg = operator, depth, cfg or RuntimeCfg()
        self.phase = self.cfg.start
        self.faults: tuple[Fault, ...] = ()
        """What is wrong in the present tick."""
        self.phase_ticks = dict.fromkeys(Phase, 0)
        """Ticks spent in each phase."""
        self.recorder = recorder or Recorder(contract)
        self.loop = FixedRateLoop(contract.period_s)
        num_joints = len(contract.joints.names)
        self._num_joints = num_joints
        self._damping = damping_command(
            num_joints, self.cfg.damping_scale * contract.joints.kd
        )
        safety, period_s = self.cfg.safety, contract.period_s
        self._patience = Patience(safety, period_s)
        self._action_patience = Patience(safety, period_s)
        self._state_watch, self._depth_watch = StateWatch(safety), DepthWatch(safety)
        self._believable = Believable(safety, contract.joints)
        self.limiter = TargetLimiter(safety, contract.joints)
        """Limits the targets, and counts how often it had to."""
        self._observer = Observer(contract)
        self._filter = CommandFilter(self.cfg.command, contract.period_s)
        self._action = np.zeros(num_joints)
        self._ramp_start, self._ramp_s = contract.joints.default_pos, 0.0
        self._blend_s = np.inf
        self._times_s: deque[float] = deque(maxlen=RATE_TICKS + 1)
        self._is_stopping = self._is_writing = False
        self._note = ""
        nothing = OperatorInput(-np.inf)
        self.snapshot = self._watch(-np.inf, None, None, None, nothing)
        """The last tick; replaced, never changed, so that it can be read anywhere."""

    @property
    def is_up(self) -> bool:
        """Whether the ramp to the default pose has ended."""
        return self._ramp_s >= self.cfg.stand_up_s

    def run(
        self,
        max_ticks: int | None = None,
        on_tick: Callable[[Snapshot], None] | None = None,
    ) -> dict[str, Any]:
        """Run until stopped; damps at the end, also after an error."""

        def tick(now: float) -> bool:
            go_on = self.tick(now)
            if on_tick is not None:
                on_tick(self.snapshot)
            return go_on

        gc.collect()
        gc.freeze()  # What exists now is not looked at again: short pauses only.
        # Python lets a thread run for 5 ms before another may; the loop cannot wait.
        switch_s = sys.getswitchinterval()
        sys.setswitchinterval(0.0005)
        try:
            self.loop.run(tick, max_ticks)
        finally:
            sys.setswitchinterval(switch_s)
            gc.unfreeze()
            self._write(self._damping)
        return {
            "phase": self.phase.name.lower(),
            "phase_ticks": {p.name.lower(): n for p, n in self.phase_ticks.items()},
            "faults": dict(self.recorder.fault_counts),
            "slowed_targets": self.limiter.num_slowed,
            "clipped_torques": self.limiter.num_clipped,
            "post_mortems": self.recorder.num_post_mortems,
            **self.loop.stats.summary(),
        }

    def stop(self) -> None:
        """Damp at once and end the run; may be called from a signal handler."""
        self._is_stopping = True
        if not self._is_writing:  # Otherwise the damping comes after what is written.
            self._write(self._damping)

    def tick(self, now: float) -> bool:
        """One step at time ``now``; false when the run is over."""
        begin = time.perf_counter()
        cfg = self.cfg
        faults = self._check_pace(now)
        state = self._read(faults)
        image = self.depth.newest() if self.depth is not None else None
        wish = self.operator.read(now)
        ages = (
            now - state.time_s if state is not None else np.inf,
            now - image.time_s if image is not None else np.inf,
            now - wish.time_s,
        )
        bad_depth = self._depth_watch.check(image)
        request = self._granted(wish.request, ages, bad_depth)
        if self._is_stopping:
            request = Request.STOP
        is_walking = self.phase == Phase.WALKING
        faults += check_ages(
            cfg.safety,
            ages[0],
            ages[1] if is_walking and self.contract.needs_depth else None,
            ages[2] if self._is_stiff else 0.0,
        )
        if is_walking and self.contract.needs_depth:
            faults += bad_depth
        believed = state
        if state is not None:
            faults += self._check(state, now)
            believed = self._believable(state)
        phase = next_phase(self.phase, request, worst(faults), self.is_up)
        self._enter(phase, believed)

        is_held = worst(faults) == Reaction.HOLD
        target = self._act(now, believed, image, wish, is_held, faults)
        if target is not None and not self._write(target):
            faults.append(self._robot_error(f"writing failed: {self._note}"))
            self._enter(Phase.STOPPED, state)
        self.faults = tuple(faults)
        self.phase_ticks[self.phase] += 1
        self.snapshot = self._watch(now, state, image, target, wish, ages)
        self.recorder.add(self.snapshot, begin)
        return self.phase != Phase.STOPPED

    @property
    def _is_stiff(self) -> bool:
        return self.phase in (Phase.STAND_UP, Phase.WALKING)

    def _check_pace(self, now: float) -> list[Fault]:
        """Whether the loop keeps up; a pause matters only where motors are stiff."""
        self._times_s.append(now)
        period_s = self.contract.period_s
        found = check_pace(self.cfg.safety, period_s, self._times_s)
        if any(fault.name == "pause" for fault in found):
            self._times_s.clear()
            return found if self._is_stiff else []
        return found

    def _check(self, state: RobotState, now: float) -> list[Fault]:
        """What is wrong with the state; brief excesses do not count."""
        safety = self.cfg.safety
        problems = [
            safety.fault(name, message) for name, message in state.problems.items()
        ]
        found = check_state(safety, self.contract.joints, state)
        found += self._state_watch.check(state)
        if state.health is not None:
            found += check_health(safety, state.health)
        return problems + self._patience.lasting(found, now)

    def _granted(
        self,
        request: Request,
        ages: tuple[float, float, float],
        bad_depth: list[Fault],
    ) -> Request:
        """Refuse to walk while depth or the operator is missing."""
        if request != Request.WALK or self.phase != Phase.STAND_UP:
            return request
        depth_age = ages[1] if self.contract.needs_depth else None
        missing = check_ages(self.cfg.safety, 0.0, depth_age, ages[2])
        missing += bad_depth if self.contract.needs_depth else []
        self._note = "; ".join(f"{m.name}: {m.message}" for m in missing)
        return Request.NONE if missing else request

    def _enter(self, phase: Phase, state: RobotState | None) -> None:
        """Change the phase, and prepare what the new one needs."""
        if phase == self.phase:
            return
        self.phase = phase
        self._filter.reset()
        self._action = np.zeros(self._num_joints)
        if phase == Phase.STAND_UP and state is not None:
            self._ramp_start, self._ramp_s = state.joint_pos.copy(), 0.0
            self.limiter.reset()
        if phase == Phase.WALKING:
            self._blend_s = 0.0
            self.policy.reset()
            self._observer.reset()

    def _act(
        self,
        now: float,
        state: RobotState | None,
        image: DepthImage | None,
        wish: OperatorInput,
        is_held: bool,
        faults: list[Fault],
    ) -> JointCommand | None:
        """The command of this tick; None sends nothing."""
        joints = self.contract.joints
        if self.phase == Phase.IDLE:
            return None
        if state is None or self.phase in (Phase.DAMPING, Phase.STOPPED):
            return self._damping
        if self.phase == Phase.STAND_UP:
            share = _ease(self._ramp_s, self.cfg.stand_up_s)
            if not is_held:
                self._ramp_s += self.contract.period_s
            ramp = joints.default_pos - self._ramp_start
            return self._track(self._ramp_start + share * ramp, state)
        command = self._filter.step((0.0, 0.0, 0.0) if is_held else wish.velocity)
        try:
            seen = self._observer.observe(state, image, command, self._action)
            action = np.asarray(self.policy.step(seen), dtype=np.float64)
            found = check_action(self.cfg.safety, joints, action, self._action)
            found = self._action_patience.lasting(found, now)
        except Exception as error:  # Whatever a policy does, the robot must not fall.
            message = f"{type(error).__name__}: {error}"
            found = [self.cfg.safety.fault("policy_error", message)]
            action = self._action
        faults += found
        if worst(found) >= Reaction.DAMP:
            self._enter(next_phase(self.phase, Request.NONE, worst(found), True), state)
            return self._damping
        if not found:
            # The policy sees as its last action what was done of it.
            self._blend_s += self.contract.period_s
            self._action = _ease(self._blend_s, self.cfg.blend_s) * action
        return self._track(joints.targets(self._action), state)

    def _track(self, target: np.ndarray, state: RobotState) -> JointCommand:
        joints, zeros = self.contract.joints, np.zeros(self._num_joints)
        allowed = self.limiter(target, state)
        return JointCommand(allowed, zeros, joints.kp, joints.kd, zeros)

    def _read(self, faults: list[Fault]) -> RobotState | None:
        try:
            return self.robot.read()
        except Exception as error:
            faults.append(self._robot_error(f"{type(error).__name__}: {error}"))
            return None

    def _write(self, target: JointCommand) -> bool:
        """Send a command; once the run is being stopped, damping and nothing else.

        `stop` may come anywhere in here, so each of the two first says what it does and
        then looks at the other: nothing stiff is sent after damping.
        """
        self._is_writing = True
        try:
            self.robot.write(self._damping if self._is_stopping else target)
        except Exception as error:
            self._note = f"{type(error).__name__}: {error}"
            return False
        finally:
            self._is_writing = False
        if self._is_stopping and target is not self._damping:
            return self._write(self._damping)
        return True

    def _robot_error(self, message: str) -> Fault:
        return self.cfg.safety.fault("robot_error", message)

    def _watch(
        self,
        now: float,
        state: RobotState | None,
        image: DepthImage | None,
        target: JointCommand | None,
        wish: OperatorInput,
        ages_s: tuple[float, float, float] = (np.inf, np.inf, np.inf),
    ) -> Snapshot:
        view = getattr(self.policy, "view", None)
        return Snapshot(
            now, self.phase, self.faults, state, image, self._filter.value,
            self._action, target, self.loop.stats, self._note,
            wish, ages_s, view if self.phase == Phase.WALKING else None,
        )  # fmt: skip


def _ease(time_s: float, duration_s: float) -> float:
    """From 0 to 1 within a duration, at rest at both ends; 1 if there is none."""
    share = min(time_s / duration_s, 1.0) if duration_s > 0.0 else 1.0
    return share * share * (3.0 - 2.0 * share)
