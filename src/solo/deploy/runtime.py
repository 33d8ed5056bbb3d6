"""One tick of the runtime, 50 times a second: read, check, decide, act, record.

The runtime owns no thread and no clock of its own; `run` calls `tick` at a fixed rate,
and tests and replay call it with times of their choice. All checks come before the
command of the same tick, so that a fault has its reaction within one tick.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from solo.deploy.camera import DepthImage, DepthSource
from solo.deploy.command import CommandFilter, Operator, OperatorInput
from solo.deploy.contract import Contract
from solo.deploy.drivers.protocols import (
    JointCommand,
    Robot,
    RobotState,
    damping_command,
)
from solo.deploy.loop import FixedRateLoop
from solo.deploy.observer import Observer
from solo.deploy.phase import Phase, Request, next_phase
from solo.deploy.policy import Policy
from solo.deploy.recorder import Recorder
from solo.deploy.runtime_cfg import RuntimeCfg
from solo.deploy.safety import (
    Fault,
    JointPatience,
    Reaction,
    check_action,
    check_ages,
    check_state,
    worst,
)
from solo.deploy.snapshot import Snapshot


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
        """Prepare a run; nothing moves yet.

        Args:
            contract: What the policy was trained with.
            robot: The robot, already started.
            policy: The policy.
            operator: Who steers, already started.
            depth: Where images come from; None for a blind policy.
            cfg: Settings.
            recorder: Keeps the records; one without files if None.
        """
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
        self._patience = JointPatience(self.cfg.safety)
        self._observer = Observer(contract)
        self._filter = CommandFilter(self.cfg.command, contract.period_s)
        self._action = np.zeros(num_joints)
        self._ramp_start, self._ramp_s = contract.joints.default_pos, 0.0
        self._note = ""
        self.snapshot = self._watch(-np.inf, None, None, None)
        """The last tick; replaced, never changed, so that it can be read anywhere."""

    @property
    def is_up(self) -> bool:
        """Whether the ramp to the default pose has ended."""
        return self._ramp_s >= self.cfg.stand_up_s

    def run(
        self, max_ticks: int | None = None, on_tick: Callable[[], None] | None = None
    ) -> dict[str, Any]:
        """Run until stopped; damps at the end, also after an error.

        Args:
            max_ticks: End after so many ticks.
            on_tick: Called after each tick, in the loop's thread.
        """

        def tick(now: float) -> bool:
            go_on = self.tick(now)
            if on_tick is not None:
                on_tick()
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
            "post_mortems": self.recorder.num_post_mortems,
            **self.loop.stats.summary(),
        }

    def tick(self, now: float) -> bool:
        """One step at time ``now``; false when the run is over."""
        begin = time.perf_counter()
        cfg, joints = self.cfg, self.contract.joints
        faults: list[Fault] = []
        state = self._read(faults)
        image = self.depth.newest() if self.depth is not None else None
        wish = self.operator.read(now)
        ages = (
            now - state.time_s if state is not None else np.inf,
            now - image.time_s if image is not None else np.inf,
            now - wish.time_s,
        )
        request = self._granted(wish.request, ages)
        is_walking = self.phase == Phase.WALKING
        faults += check_ages(
            cfg.safety,
            ages[0],
            ages[1] if is_walking and self.contract.needs_depth else None,
            ages[2] if is_walking else 0.0,
        )
        if state is not None:
            found = check_state(cfg.safety, joints, state)
            faults += self._patience.lasting(found, now)
        self._enter(next_phase(self.phase, request, worst(faults), self.is_up), state)

        is_held = worst(faults) == Reaction.HOLD
        target = self._act(state, image, wish, is_held, faults)
        if target is not None and not self._write(target):
            faults.append(self._robot_error(f"writing failed: {self._note}"))
            self._enter(Phase.STOPPED, state)
        self.faults = tuple(faults)
        self.phase_ticks[self.phase] += 1
        self.snapshot = self._watch(now, state, image, target, wish, ages)
        self.recorder.add(self.snapshot, wish, ages, begin)
        return self.phase != Phase.STOPPED

    def _granted(self, request: Request, ages: tuple[float, float, float]) -> Request:
        """Refuse to walk while depth or the operator is missing."""
        if request != Request.WALK or self.phase != Phase.STAND_UP:
            return request
        depth_age = ages[1] if self.contract.needs_depth else None
        missing = check_ages(self.cfg.safety, 0.0, depth_age, ages[2])
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
        if phase == Phase.WALKING:
            self.policy.reset()
            self._observer.reset()

    def _act(
        self,
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
            share = min(self._ramp_s / self.cfg.stand_up_s, 1.0)
            share = share * share * (3.0 - 2.0 * share)  # Starts and ends at rest.
            if not is_held:
                self._ramp_s += self.contract.period_s
            return self._track(
                self._ramp_start + share * (joints.default_pos - self._ramp_start)
            )
        command = self._filter.step((0.0, 0.0, 0.0) if is_held else wish.velocity)
        try:
            seen = self._observer.observe(state, image, command, self._action)
            action = np.asarray(self.policy.step(seen), dtype=np.float64)
            found = check_action(self.cfg.safety, joints, action)
        except Exception as error:  # Whatever a policy does, the robot must not fall.
            message = f"{type(error).__name__}: {error}"
            found = [Fault("policy_error", self.cfg.safety.policy_error, message)]
            action = self._action
        faults += found
        if worst(found) >= Reaction.DAMP:
            self._enter(next_phase(self.phase, Request.NONE, worst(found), True), state)
            return self._damping
        if not found:
            self._action = action
        return self._track(joints.targets(self._action))

    def _track(self, target: np.ndarray) -> JointCommand:
        joints, zeros = self.contract.joints, np.zeros(self._num_joints)
        return JointCommand(target, zeros, joints.kp, joints.kd, zeros)

    def _read(self, faults: list[Fault]) -> RobotState | None:
        try:
            return self.robot.read()
        except Exception as error:
            faults.append(self._robot_error(f"{type(error).__name__}: {error}"))
            return None

    def _write(self, target: JointCommand) -> bool:
        try:
            self.robot.write(target)
        except Exception as error:
            self._note = f"{type(error).__name__}: {error}"
            return False
        return True

    def _robot_error(self, message: str) -> Fault:
        return Fault("robot_error", self.cfg.safety.robot_error, message)

    def _watch(
        self,
        now: float,
        state: RobotState | None,
        image: DepthImage | None,
        target: JointCommand | None,
        wish: OperatorInput | None = None,
        ages_s: tuple[float, float, float] = (np.inf, np.inf, np.inf),
    ) -> Snapshot:
        view = getattr(self.policy, "view", None)
        return Snapshot(
            now, self.phase, self.faults, state, image, self._filter.value,
            self._action, target, self.loop.stats, self._note,
            wish.velocity if wish is not None else (0.0, 0.0, 0.0), ages_s,
            view if self.phase == Phase.WALKING else None,
        )  # fmt: skip
