"""Strips: straight ground along +x made of segments, side by side in one grid.

A strip has a start line and a finish line across its centre line. Rollouts measure x
from the start line, and so do `Strip.elements` and `Strip.obstacle_at_m`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np

from solo.terrains.grid import HeightGrid
from solo.terrains.patch import CELL_M, UNIT_M, count_cells
from solo.terrains.scene import TerrainScene, TerrainSceneCfg
from solo.terrains.strips.segments import Flat, ObstacleGround, Segment, to_cells
from solo.terrains.variants import FAMILY_RGB, get_variant

_TEXEL_CELLS = 2
"""Cells per texel of the picture on the ground, along and across."""


@dataclass(frozen=True)
class Element:
    """A named piece of a strip; places are measured from the start line."""

    name: str
    begin_m: float
    end_m: float


@dataclass(frozen=True)
class Strip:
    """Segments in a row; see `make_strip`."""

    segments: tuple[Segment, ...]
    start_m: float
    """Start line, from the beginning of the first segment."""
    finish_m: float
    """Finish line, from the start line."""
    seed: tuple[int, ...] = (0,)
    """Seed of the random segments."""

    @property
    def cells(self) -> int:
        """Length along x."""
        return sum(segment.cells for segment in self.segments)

    @property
    def elements(self) -> tuple[Element, ...]:
        """The named segments in their order."""
        places = np.cumsum([0, *(s.cells for s in self.segments)])
        return tuple(
            Element(
                segment.name,
                round(float(begin * CELL_M - self.start_m), 6),
                round(float((begin + segment.cells) * CELL_M - self.start_m), 6),
            )
            for segment, begin in zip(self.segments, places[:-1], strict=True)
            if segment.name
        )

    @property
    def obstacle_at_m(self) -> float | None:
        """Where the movable obstacle stands, from the start line; None without one."""
        kinds = [s for s in self.segments if s.name]
        for segment, element in zip(kinds, self.elements, strict=True):
            if isinstance(segment, ObstacleGround):
                return (element.begin_m + element.end_m) / 2
        return None

    def scaled(self, scale: float) -> Strip:
        """The same with easier segments; the finish line stays as far behind them."""
        segments = tuple(segment.scaled(scale) for segment in self.segments)
        shorter = replace(self, segments=segments)
        moved_m = (self.cells - shorter.cells) * CELL_M
        return replace(shorter, finish_m=round(self.finish_m - moved_m, 6))

    def build(self, num_y: int) -> np.ndarray:
        """Cells in units, int16 [cells, num_y]; the lowest of the levels is 0."""
        rng = np.random.default_rng(self.seed)
        levels = np.cumsum([0, *(s.rise_units for s in self.segments)])
        levels -= levels.min()
        parts = [
            segment.heights(rng, num_y) + np.int16(level)
            for segment, level in zip(self.segments, levels[:-1], strict=True)
        ]
        return np.concatenate(parts)


def make_strip(
    elements: tuple[Segment, ...],
    *,
    approach_m: float,
    run_out_m: float,
    before_m: float,
    after_m: float,
    seed: tuple[int, ...] = (0,),
) -> Strip:
    """Put level ground around elements.

    It goes from ``before_m`` ahead of the start line to ``after_m`` behind the finish
    line; ``approach_m`` and ``run_out_m`` are between the lines and the elements.
    """
    first, last = Flat(before_m + approach_m), Flat(run_out_m + after_m)
    between_m = sum(segment.cells for segment in elements) * CELL_M
    finish_m = round(approach_m + between_m + run_out_m, 6)
    return Strip((first, *elements, last), before_m, finish_m, seed)


@dataclass(frozen=True)
class StripSceneCfg(TerrainSceneCfg):
    """Strips in place of patches: level k is strip k, and they lie along +y.

    All begin at the same x. The level ground at the end of short ones goes on to the
    end of the longest.
    """

    strips: tuple[Strip, ...] = ()
    """At least one."""
    patch_m: float = 4.0
    """Width of a strip."""
    border_m: float = 5.0
    """Width of the flat ground around all strips."""
    variants: tuple[str, ...] = field(default=("flat",), init=False)
    """The one column; strips have no variants."""
    num_levels: int = field(default=1, init=False)
    """Number of strips."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "num_levels", len(self.strips))
        super().__post_init__()

    def build(self) -> StripScene:
        """Generate all strips and put them into one grid."""
        num_y = count_cells(self.patch_m)
        length = max(strip.cells for strip in self.strips)
        parts = [strip.build(num_y) for strip in self.strips]
        parts = [
            np.pad(part, ((0, length - len(part)), (0, 0)), mode="edge")
            for part in parts
        ]
        units = np.pad(np.concatenate(parts, axis=1), round(self.border_m / CELL_M))
        corner_xy_m = (-units.shape[0] * CELL_M / 2, -units.shape[1] * CELL_M / 2)

        origins_m = np.empty((len(parts), 1, 3))
        first_y_m = corner_xy_m[1] + self.border_m + self.patch_m / 2
        for index, (strip, part) in enumerate(zip(self.strips, parts, strict=True)):
            origins_m[index, 0] = (
                corner_xy_m[0] + self.border_m + strip.start_m,
                first_y_m + index * self.patch_m,
                part[to_cells(strip.start_m), num_y // 2] * UNIT_M,
            )
        return StripScene(
            self, HeightGrid(units, corner_xy_m), origins_m, np.ones(len(parts))
        )


@dataclass(frozen=True, eq=False)
class StripScene(TerrainScene):
    """A generated scene of strips; origins are on the start lines."""

    cfg: StripSceneCfg

    def patch_cells(self, level: int, column: int) -> tuple[slice, slice]:
        """Index of one strip in `grid.units`; the column is always 0."""
        del column
        border = round(self.cfg.border_m / CELL_M)
        width = count_cells(self.cfg.patch_m)
        length = self.grid.units.shape[0] - 2 * border
        first = border + level * width
        return slice(border, border + length), slice(first, first + width)

    def colours(self) -> np.ndarray:
        """Each segment in the colour of its family, every other strip darker."""
        length = self.patch_cells(0, 0)[0]
        width = -(-count_cells(self.cfg.patch_m) // _TEXEL_CELLS)
        rows = np.empty((len(self.cfg.strips), length.stop - length.start, 3))
        for index, strip in enumerate(self.cfg.strips):
            rows[index] = FAMILY_RGB["flat"]
            begin = 0
            for segment in strip.segments:
                rows[index, begin : begin + segment.cells] = FAMILY_RGB[segment.family]
                begin += segment.cells
        rows[1::2] *= 0.88
        return rows[:, ::_TEXEL_CELLS].repeat(width, axis=0)


_RIM_CELLS = 2
"""Cells around the ground of a scene, which meshes read but do not cover."""


@dataclass(frozen=True, eq=False)
class Cutout:
    """A rectangle of a scene's ground as plain numbers, enough to draw it again.

    It does not depend on how the scene was generated: patches and strips are cut alike,
    and a later change of a generator changes no picture of what happened before.
    """

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
    """Cut out the ground around places [N, 2]; what is outside of the grid is left out.

    The scene has one column, as in evaluations; colours are those of one of its levels.
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
