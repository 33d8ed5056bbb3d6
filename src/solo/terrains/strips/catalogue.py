"""The paper's real-world terrains as strips: seven alone, and the indoor course.

The paper gives 20 degrees, a platform of 40 cm, gaps of 50 and 45 cm, stairs of 15 cm
and stones of 20 and 30 cm. It states neither numbers of steps and stones nor treads,
distances of stones, lengths and the size of the movable obstacle; what is chosen here
is what a robot of this size meets in a building.
"""

from __future__ import annotations

from solo.errors import unknown_name
from solo.terrains.strips.segments import (
    Flat,
    Gap,
    ObstacleGround,
    Platform,
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
    """A strip of the catalogue.

    Args:
        name: See `STRIPS`.
        scale: Heights, gaps and distances of stones are this share of the paper's.
        seed: Seed of random segments.

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
