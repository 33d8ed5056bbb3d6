"""The paper's real-world terrains as strips: seven alone, the course and the route.

The paper gives 20 degrees, a platform of 40 cm, gaps of 50 and 45 cm, stairs of 15 cm
and stones of 20 and 30 cm. It states neither numbers of steps and stones nor treads,
distances of stones, lengths and the size of the movable obstacle; what is chosen here
is what a robot of this size meets in a building. The legs of the outdoor route have
four elements each, drawn from a seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from solo.errors import unknown_name
from solo.terrains.patch import CELL_M
from solo.terrains.strips.segments import (
    Flat,
    Gap,
    ObstacleGround,
    Platform,
    Rough,
    Segment,
    Slope,
    Stairs,
    Stones,
)
from solo.terrains.strips.strip import Strip, make_strip

RISE_M = 0.15
"""Stairs of the course (paper); of the isolated stairs it is not stated."""
RUN_M = 0.30
LANDING = Flat(1.0)
"""Between two elements of the course."""
STONE_SPACING_M = 0.20
STONE_JITTER_M = 0.02
"""Stones that people put down are not level; they differ from trial to trial."""


def _stones(side_m: float, count: int) -> Stones:
    return Stones(
        stone_m=side_m,
        spacing_m=STONE_SPACING_M,
        count=count,
        jitter_m=STONE_JITTER_M,
        name=f"stones_{round(100 * side_m)}",
    )


ISOLATED: dict[str, tuple[Segment, ...]] = {
    "stairs_up": (Stairs(RISE_M, RUN_M, 8, "stairs_up"),),
    "stairs_down": (Stairs(-RISE_M, RUN_M, 8, "stairs_down"),),
    "slope": (
        Slope(20.0, 3.0, "slope_up"),
        Flat(1.0),
        Slope(-20.0, 3.0, "slope_down"),
    ),
    "platform": (Platform(0.40, 1.5, "platform"),),
    "gap": (Gap(0.50, name="gap"),),
    "movable_obstacle": (ObstacleGround(2.0),),
    "stones": (_stones(0.20, 8),),
}
"""The rows of the paper's table of real-world success, in its order."""

COURSE: tuple[Segment, ...] = (
    Stairs(RISE_M, RUN_M, 4, "stairs_up"),
    LANDING,
    _stones(0.20, 5),
    LANDING,
    _stones(0.30, 5),
    LANDING,
    Gap(0.45, name="gap"),
    LANDING,
    Stairs(-RISE_M, RUN_M, 4, "stairs_down"),
    LANDING,
    ObstacleGround(2.0),
)
"""The indoor course from its beginning to its end."""

STRIPS: dict[str, tuple[Segment, ...]] = {**ISOLATED, "course": COURSE}
"""All by name."""

_APPROACH_M, _RUN_OUT_M = 1.5, 1.0
_BEFORE_M, _AFTER_M = 1.5, 5.0
"""Behind the finish the ground goes on as far as the camera sees."""


def get_strip(name: str, scale: float = 1.0, seed: tuple[int, ...] = (0,)) -> Strip:
    """A strip of `STRIPS`, scaled as `Strip.scaled` has it.

    Raises:
        SoloError: There is no such strip.
    """
    if name not in STRIPS:
        raise unknown_name("strip", name, STRIPS, "Choose from these.")
    strip = make_strip(
        STRIPS[name],
        approach_m=_APPROACH_M,
        run_out_m=_RUN_OUT_M,
        before_m=_BEFORE_M,
        after_m=_AFTER_M,
        seed=seed,
    )
    return strip.scaled(scale)


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
    """Leg number `index` of the route of a seed, scaled as `Strip.scaled` has it."""
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
