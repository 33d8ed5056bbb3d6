"""A rectangle of a scene's ground as plain numbers, enough to draw it again.

It does not depend on how the scene was generated: patches and strips are cut alike, and
a later change of a generator changes no picture of what happened before.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import numpy as np

from solo.terrains.grid import HeightGrid
from solo.terrains.patch import CELL_M
from solo.terrains.scene import TerrainScene
from solo.terrains.strips.segments import Flat
from solo.terrains.strips.strip import Strip, StripScene, StripSceneCfg
from solo.terrains.variants import FAMILY_RGB, get_variant

_RIM_CELLS = 2
"""Cells around the ground of a scene, which meshes read but do not cover."""


@dataclass(frozen=True, eq=False)
class Cutout:
    """Ground around something that happened."""

    grid: HeightGrid
    """Its cells, at their place in the world."""
    families: tuple[str, ...]
    """Terrain family of each row of cells along x, which has a colour, [X]."""

    def __post_init__(self) -> None:
        num_x, num_y = self.grid.units.shape
        if min(num_x, num_y) <= 2 * _RIM_CELLS:
            raise ValueError(f"Cutout of {num_x} x {num_y} cells; 5 x 5 are needed.")
        if len(self.families) != num_x:
            raise ValueError(
                f"Cutout names {len(self.families)} families for {num_x} rows of cells."
            )
        unknown = sorted(set(self.families) - set(FAMILY_RGB))
        if unknown:
            raise ValueError(f"Cutout has the unknown family {unknown[0]!r}.")

    def scene(self) -> StripScene:
        """A scene of this ground alone, for drawing."""
        segments = tuple(
            _Painted(CELL_M * len(list(rows)), family=family)
            for family, rows in groupby(self.families)
        )
        cfg = StripSceneCfg(strips=(Strip(segments, start_m=0.0, finish_m=0.0),))
        x_m, y_m = self.grid.corner_xy_m
        origins_m = np.array([[[x_m, y_m, 0.0]]])
        return _CutoutScene(cfg, self.grid, origins_m, np.ones(1))


def cut_out(
    scene: TerrainScene, level: int, places_m: np.ndarray, reach_m: float
) -> Cutout:
    """Cut out the ground around places; what is outside of the grid is left out.

    Args:
        scene: Patches or strips, in one column as in evaluations.
        level: Patch or strip whose colours are taken.
        places_m: x and y in the world, [N, 2].
        reach_m: How far around them.
    """
    grid = scene.grid
    # Whoever left the grid is shown the ground at its edge.
    last = np.array(grid.units.shape) - 1
    cells = np.floor((places_m - grid.corner_xy_m) / grid.cell_m).clip(0, last)
    reach = round(reach_m / grid.cell_m)
    low = (cells.min(axis=0) - reach).clip(0, last).astype(int)
    high = (cells.max(axis=0) + reach).clip(0, last).astype(int) + 1
    cut = grid.crop(slice(low[0], high[0]), slice(low[1], high[1]))
    families = _families(scene, level)
    first = scene.patch_cells(level, 0)[0].start
    rows = (np.arange(low[0], high[0]) - first).clip(0, len(families) - 1)
    return Cutout(cut, tuple(families[row] for row in rows.tolist()))


def _families(scene: TerrainScene, level: int) -> list[str]:
    """Family of each row of cells from the beginning of a patch; the last goes on."""
    if isinstance(scene, StripScene):
        segments = scene.cfg.strips[level].segments
        return [s.family for s in segments for _ in range(s.cells)]
    return [get_variant(scene.cfg.variants[0]).family]


@dataclass(frozen=True)
class _Painted(Flat):
    """Rows of cells in one colour; their heights are those of the cutout."""

    family: str = "flat"


class _CutoutScene(StripScene):
    """One strip that covers the whole grid but its rim."""

    def patch_cells(self, level: int, column: int) -> tuple[slice, slice]:
        """Index of the strip in `grid.units`."""
        del level, column
        num_x, num_y = self.grid.units.shape
        rim = _RIM_CELLS
        return slice(rim, num_x - rim), slice(rim, num_y - rim)
