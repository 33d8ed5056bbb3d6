"""The 17 terrain variants of the paper's curriculum, one column each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from solo.errors import SoloError, unknown_name
from solo.terrains import families
from solo.terrains.patch import PLATFORM, Parameter

PatchFunction = Callable[[float, np.random.Generator, float], np.ndarray]
"""(difficulty in [0, 1], generator, patch size in metres) to units, int16 [n, n]."""

FAMILY_RGB: dict[str, tuple[float, float, float]] = {
    "flat": (0.63, 0.66, 0.68),
    "stairs": (0.42, 0.56, 0.72),
    "slopes": (0.50, 0.66, 0.50),
    "boxes": (0.78, 0.60, 0.42),
    "random grid": (0.62, 0.53, 0.72),
    "rough": (0.66, 0.60, 0.48),
    "gap": (0.76, 0.50, 0.48),
    "stones": (0.42, 0.64, 0.66),
}
"""Colour of each family in simulation renders and contact sheets."""


@dataclass(frozen=True)
class TerrainVariant:
    """One column of the curriculum: a family with its variant keywords bound."""

    name: str
    """Identifier used on the command line and in geom names."""

    family: str
    """Row of the paper's table, a key of `FAMILY_RGB`."""

    function: PatchFunction
    """Generates one patch; pure for a given generator state."""

    parameters: tuple[Parameter, ...] = ()
    """The curriculum ranges of the paper's table."""

    @property
    def description(self) -> str:
        """The curriculum ranges in one line."""
        if not self.parameters:
            return "planar patch"
        return ", ".join(parameter.describe() for parameter in self.parameters)

    def describe_at(self, difficulty: float) -> str:
        """The parameters in one line, as the grid shows them at a difficulty."""
        if not self.parameters:
            return "planar patch"
        return ", ".join(p.describe_at(difficulty) for p in self.parameters)


def _stairs(direction: families.Direction, tread_m: float) -> TerrainVariant:
    return TerrainVariant(
        name=f"stairs_{direction}_{round(100 * tread_m)}",
        family="stairs",
        function=partial(families.stairs, direction=direction, tread_m=tread_m),
        parameters=(families.STEP_HEIGHT, families.tread_width(tread_m), PLATFORM),
    )


def _slope(direction: families.Direction) -> TerrainVariant:
    return TerrainVariant(
        name=f"slope_{direction}",
        family="slopes",
        function=partial(families.slope, direction=direction),
        parameters=(families.SLOPE, PLATFORM),
    )


def _rough(name: str, step_m: float, spacing_m: float) -> TerrainVariant:
    return TerrainVariant(
        name=name,
        family="rough",
        function=partial(families.rough, step_m=step_m, spacing_m=spacing_m),
        parameters=(
            families.ROUGH_HEIGHT,
            families.quantisation_step(step_m),
            families.lattice_spacing(spacing_m),
        ),
    )


def _stones(layout: Literal["aligned", "staggered"]) -> TerrainVariant:
    return TerrainVariant(
        name=f"stones_{layout}",
        family="stones",
        function=partial(families.stones, layout=layout),
        parameters=(
            families.STONE_WIDTH,
            families.STONE_GAP,
            families.HOLE_DEPTH,
            PLATFORM,
        ),
    )


_ALL = (
    TerrainVariant("flat", "flat", families.flat),
    _stairs("up", 0.25),
    _stairs("up", 0.30),
    _stairs("up", 0.35),
    _stairs("down", 0.25),
    _stairs("down", 0.30),
    _stairs("down", 0.35),
    _slope("up"),
    _slope("down"),
    TerrainVariant(
        "boxes",
        "boxes",
        partial(families.boxes, direction="down"),
        (families.BOX_HEIGHT, PLATFORM),
    ),
    TerrainVariant(
        "pits",
        "boxes",
        partial(families.boxes, direction="up"),
        (families.PIT_DEPTH, PLATFORM),
    ),
    TerrainVariant(
        "random_grid",
        "random grid",
        families.random_grid,
        (families.BLOCK_HEIGHT, families.BLOCK_WIDTH, PLATFORM),
    ),
    _rough("rough_coarse", step_m=0.05, spacing_m=0.50),
    _rough("rough_fine", step_m=0.02, spacing_m=0.20),
    TerrainVariant(
        "gap", "gap", families.gap, (families.GAP_WIDTH, families.GAP_DEPTH, PLATFORM)
    ),
    _stones("aligned"),
    _stones("staggered"),
)

VARIANTS: dict[str, TerrainVariant] = {variant.name: variant for variant in _ALL}
"""All variants by name, in the order of the paper's table."""

EVALUATION_VARIANTS: dict[str, TerrainVariant] = {
    "high_plane": TerrainVariant(
        "high_plane",
        "boxes",
        families.high_plane,
        (families.PLANE_HEIGHT, families.PLANE_DEPTH, families.PLANE_SPACING),
    ),
}
"""Variants that evaluations have beside `VARIANTS`; a scene takes them by name."""


def get_variant(name: str) -> TerrainVariant:
    """Look a variant up by name."""
    known = VARIANTS | EVALUATION_VARIANTS
    if name not in known:
        raise unknown_name("terrain", name, known, "Run `solo terrains list`.")
    return known[name]


def check_weight(name: str, weight: float) -> None:
    """Refuse a weight of a terrain that gives no share of the robots."""
    if not 0.0 < weight < math.inf:
        raise SoloError(
            f"The weight of terrain {name!r} is {weight:g}; it must be finite and "
            "above 0. Leave it out for the same share as the others."
        )
