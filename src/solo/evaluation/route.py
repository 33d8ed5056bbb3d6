"""The outdoor route as data: a seeded sequence of legs, in stages that fit in memory.

The paper walks 1.5 km over "natural stairs, slopes, grass transitions, and uneven
ground" and says no more, so everything else here is ours. A leg is a straight strip of
four such elements with level ground around; between legs the way bends. A stage is a
few legs, about 100 m, and a job of its own: it begins at rest. Leg k depends on the
seed and k alone, so a longer route begins like a shorter one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from solo.evaluation.protocols import Cell, Protocol, Range, StartCfg
from solo.evaluation.strip_env import Track
from solo.evaluation.strips import time_limit
from solo.terrains.patch import CELL_M
from solo.terrains.strip import Element, Strip, StripSceneCfg, make_strip
from solo.terrains.strip_random import Rough
from solo.terrains.strip_segments import Flat, Segment, Slope, Stairs

SIGHT_M = 4.5
"""How far a robot sees at most: the longest ray of the camera, and the camera's place
on the robot."""
ASIDE_M = 1.5
"""How far from the line a robot may be at a bend and still see level ground alone."""
PAD_M = SIGHT_M + ASIDE_M
"""Level ground around a start line and behind a finish line, in every direction."""
RUN_OUT_M = 1.0
"""Level ground before a finish line, more than the height map reaches back."""
LANDING_M = 1.0
"""Level ground between two elements."""
ELEMENTS_PER_LEG = 4
"""All different. They are 60 % of the way, the rest is level ground."""
MAX_TURN_DEG = 60.0
HALF_WIDTH_M = 3.0
"""A robot that is farther from the line has left the way."""


def _between(rng: np.random.Generator, low_m: float, high_m: float) -> float:
    """A length in whole cells."""
    cells = rng.integers(round(low_m / CELL_M), round(high_m / CELL_M), endpoint=True)
    return round(int(cells) * CELL_M, 6)


def _stairs(sign: int) -> Callable[[np.random.Generator], Segment]:
    def draw(rng: np.random.Generator) -> Segment:
        rise_m = round(0.01 * int(rng.integers(10, 16, endpoint=True)), 6)
        run_m, count = (
            _between(rng, 0.30, 0.40),
            int(rng.integers(5, 10, endpoint=True)),
        )
        return Stairs(sign * rise_m, run_m, count, _name("stairs", sign))

    return draw


def _slope(sign: int) -> Callable[[np.random.Generator], Segment]:
    def draw(rng: np.random.Generator) -> Segment:
        degrees = float(rng.integers(5, 15, endpoint=True))
        return Slope(sign * degrees, _between(rng, 3.0, 5.0), _name("slope", sign))

    return draw


def _name(kind: str, sign: int) -> str:
    return f"{kind}_{'up' if sign > 0 else 'down'}"


KINDS: dict[str, Callable[[np.random.Generator], Segment]] = {
    "stairs_up": _stairs(1),
    "stairs_down": _stairs(-1),
    "slope_up": _slope(1),
    "slope_down": _slope(-1),
    "grass": lambda rng: Rough(_between(rng, 4.0, 7.0), 0.03, 0.15, "grass"),
    "uneven": lambda rng: Rough(_between(rng, 3.0, 6.0), 0.08, 0.50, "uneven"),
}
"""What a leg is made of, all with the same chance. Sizes are those of parks and
streets: steps of 10 to 16 cm, slopes of 5 to 15 degrees, tufts of 3 cm, bumps of 8."""


@dataclass(frozen=True)
class Leg:
    """A straight piece of the route."""

    strip: Strip
    turn_deg: float
    """Bend behind it, positive to the left."""


def draw_leg(seed: int, index: int, scale: float = 1.0) -> Leg:
    """Leg number `index` of the route of a seed.

    Args:
        seed: Of the route.
        index: Number of the leg.
        scale: Heights are this share of those drawn.
    """
    rng = np.random.default_rng((seed, index))
    elements: list[Segment] = []
    for kind in rng.choice(list(KINDS), size=ELEMENTS_PER_LEG, replace=False):
        elements += [Flat(LANDING_M), KINDS[str(kind)](rng)]
    turn_deg = float(rng.uniform(-MAX_TURN_DEG, MAX_TURN_DEG))
    strip = make_strip(
        tuple(elements[1:]),
        approach_m=PAD_M,
        run_out_m=RUN_OUT_M,
        before_m=PAD_M,
        after_m=PAD_M,
        seed=(seed, index, 1),
    )
    return Leg(strip.scaled(scale), turn_deg)


@dataclass(frozen=True)
class StageLeg:
    """A leg as it stands in result files; places are along the stage."""

    begin_m: float
    length_m: float
    turn_deg: float
    elements: tuple[Element, ...]
    """Places are from the start line of the leg."""


@dataclass(frozen=True)
class Stage(Cell):
    """One job: some legs in a row."""

    begin_m: float
    """Place of the first start line along the route."""
    length_m: float
    """Distance to walk; the last stage ends where the route does."""
    time_s: float
    """A robot that has not come so far after this time is stuck."""
    first_leg: int
    """Number of the first leg along the route."""
    legs: tuple[StageLeg, ...]

    @property
    def name(self) -> str:
        """Name of the job, also of its file."""
        return f"stage-{self.level:03d}"

    def leg_at(self, x_m: float) -> int:
        """Number of the leg, within the stage, that a place along it belongs to."""
        begins = [leg.begin_m for leg in self.legs]
        return max(int(np.searchsorted(begins, x_m, side="right")) - 1, 0)

    @property
    def track(self) -> Track:
        """How the legs follow each other."""
        return Track(
            np.array([leg.length_m for leg in self.legs]),
            np.radians([leg.turn_deg for leg in self.legs]),
        )


@dataclass(frozen=True)
class RouteProtocol(Protocol):
    """A walk along the route; its rollouts are robots, each of which walks all of it.

    The one difficulty is the scale of all heights.
    """

    name: str = "route"
    terrains: tuple[str, ...] = ("route",)
    difficulties: tuple[float, ...] = (1.0,)
    # A batch has as many slots in any case.
    rollouts: int = 32
    patches_m: tuple[float, ...] = (2 * PAD_M,)
    """Width of a leg with its level surroundings."""
    forward_m_s: Range = (0.6, 1.0)
    """Of each robot, drawn once per stage."""
    start: StartCfg = field(default_factory=lambda: StartCfg(offset_m=0.2))
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
    def cells(self) -> tuple[Stage, ...]:
        """The stages in their order; no terrain is generated for it."""
        stages: list[Stage] = []
        begin_m, index = 0.0, 0
        while begin_m < self.length_m - 1e-9:
            stage = self._draw_stage(len(stages), begin_m, index)
            stages.append(stage)
            begin_m = round(begin_m + stage.length_m, 6)
            index += len(stage.legs)
        return tuple(stages)

    def scene(self, stage: Stage) -> StripSceneCfg:
        """The legs of one stage side by side."""
        numbers = range(stage.first_leg, stage.first_leg + len(stage.legs))
        strips = tuple(
            draw_leg(self.terrain_seed, n, stage.difficulty).strip for n in numbers
        )
        return StripSceneCfg(strips=strips, patch_m=stage.patch_m)

    def _draw_stage(self, number: int, begin_m: float, first: int) -> Stage:
        (scale,), (width_m,) = self.difficulties, self.patches_m
        wanted_m = min(self.stage_m, self.length_m - begin_m)
        legs: list[StageLeg] = []
        reached_m = 0.0
        while reached_m < wanted_m - 1e-9:
            leg = draw_leg(self.terrain_seed, first + len(legs), scale)
            strip = leg.strip
            legs.append(
                StageLeg(reached_m, strip.finish_m, leg.turn_deg, strip.elements)
            )
            reached_m = round(reached_m + strip.finish_m, 6)
        length_m = round(min(reached_m, self.length_m - begin_m), 6)
        return Stage(
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


ROUTE = RouteProtocol()
"""The outdoor route."""
