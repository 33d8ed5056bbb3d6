"""The outdoor route as data: a seeded sequence of legs, in stages that fit in memory.

The paper walks 1.5 km over "natural stairs, slopes, grass transitions, and uneven
ground" and says no more, so everything else here is ours. A leg is a straight strip of
four such elements with level ground around; between legs the way bends. A stage is a
few legs, about 100 m, and a job of its own: it begins at rest. Leg k depends on the
seed and k alone, so a longer route begins like a shorter one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from solo.evaluation.metrics import summarise_route
from solo.evaluation.protocols import (
    EvalCell,
    LimitsCfg,
    OnStep,
    Protocol,
    Range,
    Start,
    StartRangeCfg,
    Wave,
)
from solo.evaluation.strips import time_limit
from solo.results import (
    MAP_ERROR,
    Evaluation,
    Job,
    MapErrors,
    Outcome,
    Rollout,
    RouteWalk,
)
from solo.terrains.strips.catalogue import PAD_M, draw_leg
from solo.terrains.strips.strip import Element, StripSceneCfg

HALF_WIDTH_M = 3.0
"""A robot that is farther from the line has left the way."""


@dataclass(frozen=True)
class RouteLeg:
    """A leg as it stands in result files; places are along the stage."""

    begin_m: float
    length_m: float
    turn_deg: float
    elements: tuple[Element, ...]
    """Places are from the start line of the leg."""


@dataclass(frozen=True)
class RouteStage(EvalCell):
    """One job: some legs in a row."""

    begin_m: float
    """Place of the first start line along the route."""
    length_m: float
    """Distance to walk; the last stage ends where the route does."""
    time_s: float
    """A robot that has not come so far after this time is stuck."""
    first_leg: int
    """Number of the first leg along the route."""
    legs: tuple[RouteLeg, ...]

    @property
    def name(self) -> str:
        """Name of the job, also of its file."""
        return f"stage-{self.level:03d}"

    def leg_at(self, x_m: float) -> int:
        """Number of the leg, within the stage, that a place along it belongs to."""
        begins = [leg.begin_m for leg in self.legs]
        return max(int(np.searchsorted(begins, x_m, side="right")) - 1, 0)


@dataclass(frozen=True)
class RouteProtocol(Protocol):
    """A walk along the route; its rollouts are robots, each of which walks all of it.

    The one difficulty is the scale of all heights. In each stage all robots start at
    rest on the first pad. Who falls or leaves the way starts again at rest at the
    beginning of the next leg, in a second wave of rollouts, and so on until nobody has
    a leg left. Who is stuck waits for the next stage.
    """

    follows_line: ClassVar[bool] = True

    name: str = "route"
    terrains: tuple[str, ...] = ("route",)
    difficulties: tuple[float, ...] = (1.0,)
    # A batch has as many slots in any case.
    rollouts: int = 32
    patches_m: tuple[float, ...] = (2 * PAD_M,)
    """Width of a leg with its level surroundings."""
    forward_m_s: Range = (0.6, 1.0)
    """Of each robot, drawn once per stage."""
    start: StartRangeCfg = field(default_factory=lambda: StartRangeCfg(offset_m=0.2))
    length_m: float = 1500.0
    """Length of the route (paper)."""
    stage_m: float = 100.0
    """Least length of a stage."""
    bin_m: float = 10.0
    """The error of the height map is averaged over pieces of this length."""

    def _check_terrain(self, name: str) -> None:
        if name != "route":
            raise ValueError(f"A route has no terrain {name!r}.")

    def __post_init__(self) -> None:
        if not (math.isfinite(self.length_m) and self.length_m >= 1.0):
            raise ValueError(f"A route of {self.length_m} m; at least 1 m is needed.")
        super().__post_init__()

    @cached_property
    def cells(self) -> tuple[RouteStage, ...]:
        """The stages in their order; no terrain is generated for it."""
        stages: list[RouteStage] = []
        begin_m, index = 0.0, 0
        while begin_m < self.length_m - 1e-9:
            stage = self._draw_stage(len(stages), begin_m, index)
            stages.append(stage)
            begin_m = round(begin_m + stage.length_m, 6)
            index += len(stage.legs)
        return tuple(stages)

    def scene(self, cell: RouteStage) -> StripSceneCfg:
        """The legs of one stage side by side."""
        numbers = range(cell.first_leg, cell.first_leg + len(cell.legs))
        strips = tuple(
            draw_leg(self.terrain_seed, n, cell.difficulty).strip for n in numbers
        )
        return StripSceneCfg(strips=strips, patch_m=cell.patch_m)

    def limits_of(self, cell: RouteStage) -> LimitsCfg:
        """The end of the stage, in time."""
        return LimitsCfg(pass_m=cell.length_m, time_s=cell.time_s)

    def half_width_m(self, cell: RouteStage) -> float:
        """Narrower than the level ground around."""
        return HALF_WIDTH_M

    def turns(self, cell: RouteStage) -> list[tuple[float, float]]:
        """How the legs follow each other."""
        return [(leg.length_m, math.radians(leg.turn_deg)) for leg in cell.legs]

    def draw_start(
        self, cell: RouteStage, index: int, num_joints: int, leg: int = 0
    ) -> Start:
        """How a robot begins a leg at rest; depends on seed, leg and robot alone.

        Its speed is that of the whole stage.
        """
        seed = (self.seed, 3, cell.first_leg + leg, index)
        rng = np.random.default_rng(seed)
        of_stage = np.random.default_rng((self.seed, 4, cell.level, index))
        limit = self.start.offset_m
        return Start(
            index=index,
            patch=leg,
            offset_m=rng.uniform(-limit, limit, size=2),
            joint_scale=rng.uniform(*self.start.joint_scale, size=num_joints),
            forward_m_s=float(of_stage.uniform(*self.forward_m_s)),
            seed=seed,
            patch_at_m=cell.legs[leg].begin_m,
        )

    def start_again(
        self, cell: RouteStage, start: Start, rollout: Rollout, num_joints: int
    ) -> Start | None:
        """At the next leg after an incident, unless the robot is stuck."""
        leg = next_leg(cell, start, rollout)
        if leg is None:
            return None
        return self.draw_start(cell, start.index, num_joints, leg)

    def watch(self, cell: RouteStage) -> ErrorsAlong:
        """The error of the map along the route."""
        return ErrorsAlong(cell.begin_m, self.bin_m)

    def describe_job(
        self, job: Job, cell: RouteStage, waves: Sequence[Wave], watch: OnStep | None
    ) -> Job:
        """Add the walks; success is to come through the stage without an incident."""
        assert isinstance(watch, ErrorsAlong)
        return replace(
            job,
            steps=sum(rollout.steps for wave in waves for _, rollout in wave),
            walks=tuple(
                describe_walk(cell, start, rollout)
                for wave in waves
                for start, rollout in wave
            ),
            map_errors=tuple(
                MapErrors(piece, total, count)
                for piece, (total, count) in sorted(watch.merged().items())
            ),
        )

    def describe_all(self, found: Evaluation) -> Evaluation:
        """Add the numbers of the route."""
        walks = [walk for job in found.cells for walk in job.walks]
        errors: dict[int, tuple[float, int]] = {}
        for entry in (entry for job in found.cells for entry in job.map_errors):
            total, count = errors.get(entry.piece, (0.0, 0))
            errors[entry.piece] = total + entry.sum_m, count + entry.steps
        route = summarise_route(walks, self.rollouts, self.length_m, errors, self.bin_m)
        return replace(found, route=route)

    def _draw_stage(self, number: int, begin_m: float, first: int) -> RouteStage:
        (scale,), (width_m,) = self.difficulties, self.patches_m
        wanted_m = min(self.stage_m, self.length_m - begin_m)
        legs: list[RouteLeg] = []
        reached_m = 0.0
        while reached_m < wanted_m - 1e-9:
            leg = draw_leg(self.terrain_seed, first + len(legs), scale)
            strip = leg.strip
            legs.append(
                RouteLeg(reached_m, strip.finish_m, leg.turn_deg, strip.elements)
            )
            reached_m = round(reached_m + strip.finish_m, 6)
        length_m = round(min(reached_m, self.length_m - begin_m), 6)
        return RouteStage(
            terrain="route",
            difficulty=scale,
            level=number,
            patch_m=width_m,
            begin_m=begin_m,
            length_m=length_m,
            time_s=time_limit(length_m, self.forward_m_s),
            first_leg=first,
            legs=tuple(legs),
        )


def describe_walk(stage: RouteStage, start: Start, rollout: Rollout) -> RouteWalk:
    """A rollout as part of the route; beyond the end of the stage nothing counts."""
    end_m = min(rollout.distance_m or 0.0, stage.length_m)
    return RouteWalk(
        robot=rollout.index,
        stage=stage.level,
        leg=start.patch,
        begin_m=stage.begin_m + start.x_m,
        end_m=stage.begin_m + end_m,
        outcome=rollout.outcome,
        steps=rollout.steps,
    )


def next_leg(stage: RouteStage, start: Start, rollout: Rollout) -> int | None:
    """Where a robot goes on in this stage after a rollout; None if it does not."""
    if rollout.outcome in (Outcome.SUCCESS, Outcome.TIME_OUT):
        return None
    # At a bend a robot may be a little before the start line of its leg.
    leg = max(stage.leg_at(rollout.distance_m or 0.0), start.patch) + 1
    if leg >= len(stage.legs) or stage.legs[leg].begin_m >= stage.length_m:
        return None
    return leg


class ErrorsAlong:
    """Sums up the error of the height map along the route; see `OnStep`."""

    def __init__(self, begin_m: float, bin_m: float) -> None:
        self._begin_m, self._bin_m = begin_m, bin_m
        self._of_robots: dict[tuple[int, int], tuple[float, int]] = {}

    def __call__(
        self,
        running: Sequence[Start | None],
        x_m: np.ndarray,
        seen: Mapping[str, np.ndarray],
    ) -> None:
        """Count one step of all robots that walk."""
        if MAP_ERROR not in seen:
            return
        for slot, start in enumerate(running):
            if start is not None:
                place_m = max(self._begin_m + x_m[slot], 0.0)
                key = int(place_m // self._bin_m), start.index
                total, count = self._of_robots.get(key, (0.0, 0))
                self._of_robots[key] = total + float(seen[MAP_ERROR][slot]), count + 1

    def merged(self) -> dict[int, tuple[float, int]]:
        """Piece to sum and count; robots in their order, whatever the batch was."""
        merged: dict[int, tuple[float, int]] = {}
        for (piece, _), (total, count) in sorted(self._of_robots.items()):
            so_far, counted = merged.get(piece, (0.0, 0))
            merged[piece] = so_far + total, counted + count
        return merged


ROUTE = RouteProtocol()
"""The outdoor route."""
