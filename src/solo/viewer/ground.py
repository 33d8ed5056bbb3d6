"""Where to walk: the indoor course, an isolated terrain, the outdoor route, a terrain
of training, or the whole curriculum.

Light to import, so that a wrong name is answered at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from solo.errors import unknown_name
from solo.evaluation.protocols import STRESS, EvalCell, Protocol, Start
from solo.evaluation.route import ROUTE, RouteStage
from solo.evaluation.strips import COURSE as COURSE_PROTOCOL
from solo.evaluation.strips import StripCell, time_limit
from solo.terrains.scene import TerrainSceneCfg
from solo.terrains.strips.catalogue import STRIPS
from solo.terrains.strips.strip import Element
from solo.terrains.variants import VARIANTS

FORWARD_M_S = 0.7
"""Speed that is commanded on the straight, the middle of the evaluation's range."""

COURSE, ROUTE_NAME, TRAINING = "course", "route", "training"
"""The indoor course of the paper; the first stage of the outdoor route, about 100 m;
all terrains of training at all levels, side by side."""

TERRAINS = (
    COURSE,
    ROUTE_NAME,
    TRAINING,
    *(name for name in STRIPS if name != COURSE),
    *(name for name in VARIANTS if name not in STRIPS),
)
"""All names. Of one that is both, the isolated terrain is meant, not that of training.
"""

MAX_LANES = 10
"""Strips or patches of one terrain that robots share."""


@dataclass(frozen=True)
class Ground:
    """A terrain with a start and a finish on a line along +x."""

    name: str
    difficulty: float | None
    """None: the levels of training."""
    protocol: Protocol
    """How the evaluation begins there."""
    cell: Any
    """Which of its jobs this is."""
    scene: TerrainSceneCfg
    finish_m: float
    """Place of the finish, from the start."""
    time_s: float
    """How long it may take."""
    elements: tuple[Element, ...]
    """What lies on the way."""


@dataclass(frozen=True)
class CurriculumProtocol(Protocol):
    """Starts all over the terrain of training: one after the other on each variant,
    then on further levels."""

    def scene(self, cell: EvalCell) -> TerrainSceneCfg:
        """Levels along +x and variants along +y, as in training."""
        difficulty = cell.difficulty if self.levels else None
        return TerrainSceneCfg(seed=self.seed, difficulty=difficulty)

    def draw_start(self, cell: EvalCell, index: int, num_joints: int) -> Start:
        """Where the robot of this number begins; the same again and again."""
        start = super().draw_start(cell, index, num_joints)
        level, column = spread(self.rollouts, 10, len(VARIANTS))
        robot = index % self.rollouts
        return replace(start, patch=int(level[robot]), column=int(column[robot]))


def check_terrain(name: str) -> None:
    """Refuse an unknown name."""
    if name not in TERRAINS:
        raise unknown_name("terrain", name, TERRAINS, "Choose one of these.")


def make_ground(
    name: str, difficulty: float | None = 1.0, seed: int = 0, num_robots: int = 1
) -> Ground:
    """Find a terrain and how it is walked: as in the evaluation, at one speed.

    A difficulty of 1 is the paper's course or route, or the hardest of training. None
    is 1, or on ``training`` the curriculum's levels. Robots get strips or patches of
    their own.

    Raises:
        SoloError: There is no such terrain.
    """
    check_terrain(name)
    lanes = min(num_robots, MAX_LANES)
    common: dict[str, Any] = {
        "seed": seed,
        "forward_m_s": (FORWARD_M_S, FORWARD_M_S),
        "difficulties": (1.0 if difficulty is None else difficulty,),
    }
    if name == TRAINING:
        levels = () if difficulty is None else (0,)
        protocol: Protocol = CurriculumProtocol(
            "play", (next(iter(VARIANTS)),), rollouts=num_robots, levels=levels,
            **common,
        )  # fmt: skip
    elif name == ROUTE_NAME:
        protocol = replace(ROUTE, length_m=2 * ROUTE.stage_m, **common)
    elif name in STRIPS:
        protocol = replace(
            COURSE_PROTOCOL, terrains=(name,), num_patches=lanes, **common
        )
    else:
        protocol = replace(STRESS, terrains=(name,), num_patches=lanes, **common)
    cell: Any = protocol.cells[0]
    finish_m = protocol.limits_of(cell).pass_m
    return Ground(
        name=name,
        difficulty=difficulty if name == TRAINING else common["difficulties"][0],
        protocol=protocol,
        cell=cell,
        scene=protocol.scene(cell),
        finish_m=finish_m,
        time_s=time_limit(finish_m, protocol.forward_m_s),
        elements=_elements(cell),
    )


def spread(
    num_robots: int, num_levels: int, num_columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """Level and column of each robot: all columns first, then further levels."""
    robots = np.arange(num_robots)
    if num_robots < num_columns:
        columns = robots * num_columns // num_robots
    else:
        columns = robots % num_columns
    rounds = -(-num_robots // num_columns)
    # Three is coprime to the ten levels, so that neighbours differ and all occur.
    levels = (3 * columns + robots // num_columns * num_levels // rounds) % num_levels
    return levels, columns


def _elements(cell: Any) -> tuple[Element, ...]:
    """What lies on the way, with places along all of it."""
    if isinstance(cell, RouteStage):
        return tuple(
            replace(
                element,
                begin_m=leg.begin_m + element.begin_m,
                end_m=leg.begin_m + element.end_m,
            )
            for leg in cell.legs
            for element in leg.elements
        )
    return cell.elements if isinstance(cell, StripCell) else ()
