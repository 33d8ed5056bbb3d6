"""The one rollout loop of all evaluations.

A job has N rollouts, each with its own start. They are run in slots of a batched
environment: when one ends, the next begins in its slot, and all N are run to their end,
so short rollouts are not over-counted. What counts of a rollout is each control step
from its start to the one that ended it, that one included; nothing afterwards.

A rollout must not depend on the batch it is run in. Starts are drawn per rollout
(`protocols`), and vectorised arithmetic is kept from telling slots apart: a library may
round the last rows of a batch differently from the others. So batches are multiples of
`LANES` and rollout i always runs in a slot whose number is i modulo `LANES`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.observations_cfg import Stage
from solo.evaluation.protocols import LimitsCfg, OnStep, Start
from solo.results import Landing, Outcome, Rollout
from solo.robots.robot_cfg import RobotCfg

LANES = 32
"""Two registers of 16 floats, the widest that CPUs have: torch's loops go in pairs."""


@dataclass(frozen=True, eq=False)
class StepReport:
    """What a control step led to, before anything was reset; B slots."""

    position_m: np.ndarray
    """Base relative to the origin of the rollout's patch, x and y, [B, 2]."""
    has_fallen: np.ndarray
    """bool [B]."""
    has_diverged: np.ndarray
    """bool [B]."""
    measures: Mapping[str, np.ndarray]
    """Name to values [B]."""
    landings: Sequence[tuple[int, Landing]] | None = None
    """Slots and touch-downs beside holes of this step; None on ground without holes."""


class RolloutEnv(Protocol):
    """What the loop needs of an environment."""

    num_slots: int
    lanes: int
    """Divides `num_slots`; see the head of this file."""
    step_s: float
    """Duration of a control step."""
    half_patch_m: float
    """Distance from an origin to the side of its patch."""

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        """Begin rollouts in some slots."""
        ...

    def observations(self) -> Any:
        """What a policy acts on, all slots."""
        ...

    def step(self, actions: torch.Tensor) -> StepReport:
        """One control step of all slots, busy or not."""
        ...


class Policy(Protocol):
    """What acts. Those that have nothing to end inherit from it."""

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        """Forget what was in some slots; rollouts begin there."""
        ...

    def end(self, slots: Sequence[int]) -> None:
        """Nobody looks at some slots any more, until rollouts begin there."""

    def act(self, observations: Any) -> tuple[torch.Tensor, Mapping[str, np.ndarray]]:
        """Actions [B, joints], and measures [B] of the states acted in.

        A policy that reconstructs the terrain measures ``height_map_l1_m`` here.
        """
        ...


@dataclass(frozen=True)
class PolicySource:
    """What is known of a policy before there is an environment to run it in.

    It decides which observations and which physics the environment needs.
    """

    name: str
    """E.g. ``stand`` or ``t3/model_100.pt``."""
    kind: str
    """"agent", "bundle", or the stage of training."""
    robot: RobotCfg
    stage: Stage
    """Whose observations the environment has."""
    groups: tuple[str, ...]
    """Observation groups that are needed."""
    make: Callable[[ManagerBasedRlEnv], Policy]
    physics: tuple[float, int] = (0.005, 4)
    """Physics step in seconds, and steps per control step.

    The paper's, also for what a profile trained with larger steps.
    """
    checkpoint: Path | None = None
    sha256: str | None = None
    """Of the checkpoint."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further entries of `describe`."""

    @property
    def slug(self) -> str:
        """Name for a folder, different for different checkpoints."""
        name = self.name.removesuffix(".pt").removesuffix(".onnx").replace("/", "-")
        return name if self.sha256 is None else f"{name}-{self.sha256[:8]}"

    def describe(self) -> dict[str, Any]:
        """For result files: what identifies the policy."""
        return {
            "name": self.name,
            "kind": self.kind,
            "robot": self.robot.name,
            "physics": list(self.physics),
            "sha256": self.sha256,
            **self.details,
        }


@torch.inference_mode()
def run_rollouts(
    env: RolloutEnv,
    policy: Policy,
    starts: Sequence[Start],
    limits: LimitsCfg,
    on_end: Callable[[Rollout], None] = lambda rollout: None,
    on_step: OnStep | None = None,
) -> list[Rollout]:
    """Run all rollouts of a job to their end; they come in the order of their starts.

    ``on_end`` is called with each rollout that has ended, ``on_step`` before each step.
    """
    queues = [deque(starts[lane :: env.lanes]) for lane in range(env.lanes)]
    running: list[Start | None] = [None] * env.num_slots
    steps = np.zeros(env.num_slots, dtype=np.int64)
    x_m = np.zeros(env.num_slots)
    sums: dict[str, np.ndarray] = {}
    landings: list[list[Landing]] = [[] for _ in range(env.num_slots)]
    max_steps = round(limits.time_s / env.step_s)
    finished: dict[int, Rollout] = {}

    def fill(slots: Sequence[int]) -> None:
        begun: dict[int, Start] = {}
        for slot in slots:
            queue = queues[slot % env.lanes]
            running[slot] = queue.popleft() if queue else None
            steps[slot] = 0
            landings[slot] = []
            for values in sums.values():
                values[slot] = 0.0
            if (start := running[slot]) is not None:
                begun[slot] = start
                x_m[slot] = start.x_m
        if idle := [slot for slot in slots if slot not in begun]:
            policy.end(idle)
        if begun:
            env.begin(list(begun), list(begun.values()))
            policy.begin(list(begun), list(begun.values()))

    fill(range(env.num_slots))
    while any(start is not None for start in running):
        actions, seen = policy.act(env.observations())
        if on_step is not None:
            on_step(running, x_m, seen)
        report = env.step(actions)
        x_m[:] = report.position_m[:, 0]
        steps += 1
        for name, values in {**report.measures, **seen}.items():
            # Slots that wait may hold anything; they are cleared when they begin.
            sums.setdefault(name, np.zeros(env.num_slots))[:] += values
        for slot, landing in report.landings or ():
            landings[slot].append(landing)
        outcomes = classify(
            report, steps, max_steps, limits.pass_m, env.half_patch_m, limits.survive
        )
        ended = []
        for slot, start in enumerate(running):
            outcome = outcomes[slot]
            if start is None or outcome is None:
                continue
            taken = int(steps[slot])
            measures = {name: float(sums[name][slot]) / taken for name in sums}
            if report.landings is not None:
                measures |= summarise_landings(landings[slot])
            finished[start.index] = Rollout(
                index=start.index,
                outcome=outcome,
                steps=taken,
                distance_m=float(report.position_m[slot, 0]),
                sideways_m=float(report.position_m[slot, 1]),
                forward_m_s=start.forward_m_s,
                patch=start.patch,
                measures=measures,
                landings=tuple(landings[slot]),
            )
            on_end(finished[start.index])
            ended.append(slot)
        if ended:
            fill(ended)
    return [finished[start.index] for start in starts]


def summarise_landings(landings: Sequence[Landing]) -> dict[str, float]:
    """Measures of a rollout's touch-downs beside holes: number, and means if any."""
    num = len(landings)
    found = {"landings_beside_holes": float(num)}
    if num:
        found["landing_over_holes"] = sum(f.over for f in landings) / num
        found["landing_shifted"] = sum(f.shifted for f in landings) / num
    return found


def classify(
    report: StepReport,
    steps: np.ndarray,
    max_steps: int,
    pass_m: float,
    half_patch_m: float,
    survive: bool = False,
) -> list[Outcome | None]:
    """How the rollout of each slot has ended with this step; None where it goes on.

    Whoever falls in the step that passes the line has failed; whoever passes it in the
    last step has not. With ``survive``, so has whoever is there in the last step.
    """
    x, y = report.position_m.T
    at_time = Outcome.SUCCESS if survive else Outcome.TIME_OUT
    # Later ones win.
    rules = (
        (at_time, steps >= max_steps),
        (Outcome.LEFT_PATCH, (np.abs(y) > half_patch_m) | (x < -half_patch_m)),
        (Outcome.SUCCESS, (x > pass_m) & (np.abs(y) <= half_patch_m)),
        (Outcome.FALL, report.has_fallen),
        (Outcome.DIVERGED, report.has_diverged),
    )
    outcomes: list[Outcome | None] = [None] * len(steps)
    for outcome, holds in rules:
        for slot in np.flatnonzero(holds):
            outcomes[slot] = outcome
    return outcomes
