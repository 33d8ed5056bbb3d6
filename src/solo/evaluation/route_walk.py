"""Walk one stage of the route with several robots.

All robots start at rest on the first pad. Who falls or leaves the way starts again at
rest at the beginning of the next leg, in a second wave of rollouts, and so on until
nobody has a leg left. Who is stuck waits for the next stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from solo.evaluation.protocols import LimitsCfg
from solo.evaluation.rollout import (
    Outcome,
    Policy,
    Rollout,
    RolloutEnv,
    StepReport,
    run_rollouts,
)
from solo.evaluation.route import RouteProtocol, Stage
from solo.evaluation.starts import Start

MAP_ERROR = "height_map_l1_m"


@dataclass(frozen=True)
class Walk:
    """One robot from a start at rest to whatever ended it; places along the route."""

    robot: int
    stage: int
    leg: int
    """Where it started, within the stage."""
    begin_m: float
    end_m: float
    outcome: str
    steps: int

    @property
    def distance_m(self) -> float:
        """What was walked; never negative."""
        return max(self.end_m - self.begin_m, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class StageWalks:
    """All of a stage."""

    walks: list[Walk]
    """By wave, then by robot."""
    waves: list[list[Rollout]]
    """The same as rollouts; the first wave has one per robot."""
    map_errors: dict[int, tuple[float, int]]
    """Number of a piece of the route to sum and count of the map's error there."""


def draw_walk_start(
    protocol: RouteProtocol, stage: Stage, robot: int, leg: int, num_joints: int
) -> Start:
    """How a robot begins a leg at rest; depends on seed, leg and robot alone.

    Its speed is that of the whole stage.
    """
    seed = (protocol.seed, 3, stage.first_leg + leg, robot)
    rng = np.random.default_rng(seed)
    of_stage = np.random.default_rng((protocol.seed, 4, stage.level, robot))
    limit = protocol.start.offset_m
    return Start(
        index=robot,
        patch=leg,
        offset_m=rng.uniform(-limit, limit, size=2),
        joint_scale=rng.uniform(*protocol.start.joint_scale, size=num_joints),
        forward_m_s=float(of_stage.uniform(*protocol.forward_m_s)),
        seed=seed,
    )


def walk_stage(
    env: RolloutEnv,
    policy: Policy,
    protocol: RouteProtocol,
    stage: Stage,
    num_joints: int,
    on_walk: Callable[[Rollout], None] = lambda rollout: None,
) -> StageWalks:
    """Let all robots walk a stage.

    Args:
        env: Positions are along the stage; the patch of a start is a leg.
        policy: What acts.
        protocol: The route.
        stage: The stage.
        num_joints: Of the robot.
        on_walk: Called with each rollout that has ended.
    """
    watched = _WatchedEnv(env, stage)
    mapped = _MappedPolicy(policy, watched, protocol.bin_m)
    limits = LimitsCfg(pass_m=stage.length_m, time_s=stage.time_s)
    walks: list[Walk] = []
    waves: list[list[Rollout]] = []
    legs = dict.fromkeys(range(protocol.rollouts), 0)

    def on_end(rollout: Rollout) -> None:
        watched.stop(rollout.index)
        on_walk(rollout)

    while legs:
        starts = [
            draw_walk_start(protocol, stage, robot, leg, num_joints)
            for robot, leg in legs.items()
        ]
        waves.append(run_rollouts(watched, mapped, starts, limits, on_end))
        legs = {}
        for start, rollout in zip(starts, waves[-1], strict=True):
            walks.append(describe_walk(stage, start, rollout))
            leg = next_leg(stage, start, rollout)
            if leg is not None:
                legs[rollout.index] = leg
    return StageWalks(walks, waves, mapped.merged())


def describe_walk(stage: Stage, start: Start, rollout: Rollout) -> Walk:
    """A rollout as part of the route; beyond the end of the stage nothing counts."""
    begin_m = stage.legs[start.patch].begin_m + float(start.offset_m[0])
    end_m = min(rollout.distance_m, stage.length_m)
    return Walk(
        robot=rollout.index,
        stage=stage.level,
        leg=start.patch,
        begin_m=stage.begin_m + begin_m,
        end_m=stage.begin_m + end_m,
        outcome=rollout.outcome.value,
        steps=rollout.steps,
    )


def next_leg(stage: Stage, start: Start, rollout: Rollout) -> int | None:
    """Where a robot goes on in this stage after a rollout; None if it does not."""
    if rollout.outcome in (Outcome.SUCCESS, Outcome.TIME_OUT):
        return None
    # At a bend a robot may be a little before the start line of its leg.
    leg = max(stage.leg_at(rollout.distance_m), start.patch) + 1
    if leg >= len(stage.legs) or stage.legs[leg].begin_m >= stage.length_m:
        return None
    return leg


class _WatchedEnv:
    """An environment that remembers which robot is where along the route."""

    def __init__(self, inner: RolloutEnv, stage: Stage) -> None:
        self._inner, self._stage = inner, stage
        self.num_slots, self.lanes = inner.num_slots, inner.lanes
        self.step_s, self.half_patch_m = inner.step_s, inner.half_patch_m
        self.places_m = np.zeros(self.num_slots)
        self.robots: dict[int, int] = {}
        """Slot to robot, where one is walking."""

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        self._inner.begin(slots, starts)
        for slot, start in zip(slots, starts, strict=True):
            self.robots[slot] = start.index
            place_m = self._stage.legs[start.patch].begin_m + start.offset_m[0]
            self.places_m[slot] = self._stage.begin_m + place_m

    def observations(self) -> Any:
        return self._inner.observations()

    def step(self, actions: torch.Tensor) -> StepReport:
        report = self._inner.step(actions)
        self.places_m = self._stage.begin_m + report.position_m[:, 0]
        return report

    def stop(self, robot: int) -> None:
        self.robots = {slot: r for slot, r in self.robots.items() if r != robot}


class _MappedPolicy:
    """A policy whose error of the height map is summed up along the route."""

    def __init__(self, inner: Policy, env: _WatchedEnv, bin_m: float) -> None:
        self._inner, self._env, self._bin_m = inner, env, bin_m
        self._of_robots: dict[tuple[int, int], tuple[float, int]] = {}

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        self._inner.begin(slots, starts)

    def end(self, slots: Sequence[int]) -> None:
        self._inner.end(slots)

    def act(self, observations: Any) -> tuple[torch.Tensor, Mapping[str, np.ndarray]]:
        actions, seen = self._inner.act(observations)
        if MAP_ERROR in seen:
            for slot, robot in self._env.robots.items():
                piece = int(max(self._env.places_m[slot], 0.0) // self._bin_m)
                total, count = self._of_robots.get((piece, robot), (0.0, 0))
                total += float(seen[MAP_ERROR][slot])
                self._of_robots[piece, robot] = total, count + 1
        return actions, seen

    def merged(self) -> dict[int, tuple[float, int]]:
        """Over the robots in their order, so that the batch does not matter."""
        merged: dict[int, tuple[float, int]] = {}
        for (piece, _), (total, count) in sorted(self._of_robots.items()):
            so_far, counted = merged.get(piece, (0.0, 0))
            merged[piece] = so_far + total, counted + count
        return merged
