"""Pieces of a strip: ground of one kind along +x, all across the strip.

A segment is data. `heights` makes cells of it, in units relative to the ground where it
begins; `rise_units` is where it ends, which is where the next one begins. Lengths are
rounded to cells and heights to units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from solo.terrains.families import GAP_DEPTH, HOLE_DEPTH
from solo.terrains.patch import CELL_M, UNIT_M, interpolate, round_half_up


class Segment:
    """What a strip needs of its pieces; the end is as high as the beginning."""

    name: str
    """Name of the element; empty for ground that only joins others."""
    family: ClassVar[str]
    """Terrain family, which has a colour; see `solo.terrains.variants`."""
    length_m: float
    """Along x; some count it otherwise, see `cells`."""

    @property
    def cells(self) -> int:
        """Length along x."""
        return to_cells(self.length_m)

    @property
    def rise_units(self) -> int:
        """Height of the end over the beginning."""
        return 0

    def heights(self, rng: np.random.Generator, num_y: int) -> np.ndarray:
        """Cells in units over the beginning, int16 [cells, num_y]."""
        return np.zeros((self.cells, num_y), dtype=np.int16)

    def scaled(self, scale: float) -> Segment:
        """The same with heights, gaps and distances of stones times `scale`."""
        return self


@dataclass(frozen=True)
class Flat(Segment):
    """Level ground."""

    length_m: float
    name: str = ""
    family = "flat"


@dataclass(frozen=True)
class ObstacleGround(Flat):
    """Level ground with a movable obstacle in the middle of it."""

    name: str = "movable_obstacle"
    family = "boxes"


@dataclass(frozen=True)
class Stairs(Segment):
    """Equal steps; the first riser is where it begins, the last tread its end."""

    rise_m: float
    """Of a step; negative to go down."""
    run_m: float
    """Depth of a tread."""
    count: int
    """Number of steps."""
    name: str = "stairs"
    family = "stairs"

    @property
    def cells(self) -> int:
        return self.count * to_cells(self.run_m)

    @property
    def rise_units(self) -> int:
        return self.count * to_units(self.rise_m)

    def heights(self, rng: np.random.Generator, num_y: int) -> np.ndarray:
        patch = super().heights(rng, num_y)
        steps = 1 + np.arange(self.cells) // to_cells(self.run_m)
        patch[:] = to_units(self.rise_m) * steps[:, None]
        return patch

    def scaled(self, scale: float) -> Stairs:
        return replace(self, rise_m=scale * self.rise_m)


@dataclass(frozen=True)
class Slope(Segment):
    """A plane; each cell has the height of the plane at its centre."""

    degrees: float
    """Negative to go down."""
    length_m: float
    """Along x, not along the slope."""
    name: str = "slope"
    family = "slopes"

    @property
    def rise_units(self) -> int:
        return int(round_half_up(self._units(self.cells)))

    def heights(self, rng: np.random.Generator, num_y: int) -> np.ndarray:
        patch = super().heights(rng, num_y)
        patch[:] = round_half_up(self._units(np.arange(self.cells) + 0.5))[:, None]
        return patch

    def scaled(self, scale: float) -> Slope:
        rise = scale * math.tan(math.radians(self.degrees))
        return replace(self, degrees=math.degrees(math.atan(rise)))

    def _units(self, cells: np.ndarray | int) -> np.ndarray:
        rise = math.tan(math.radians(self.degrees))
        return rise * np.asarray(cells) * (CELL_M / UNIT_M)


@dataclass(frozen=True)
class Platform(Segment):
    """One step up, and at its end one down."""

    height_m: float
    length_m: float
    name: str = "platform"
    family = "boxes"

    def heights(self, rng: np.random.Generator, num_y: int) -> np.ndarray:
        return super().heights(rng, num_y) + np.int16(to_units(self.height_m))

    def scaled(self, scale: float) -> Platform:
        return replace(self, height_m=scale * self.height_m)


@dataclass(frozen=True)
class Gap(Segment):
    """A ditch all across the strip."""

    length_m: float
    depth_m: float = GAP_DEPTH.hardest
    """Not stated in the paper for its hardware; that of training's hardest gap."""
    name: str = "gap"
    family = "gap"

    def heights(self, rng: np.random.Generator, num_y: int) -> np.ndarray:
        return super().heights(rng, num_y) - np.int16(to_units(self.depth_m))

    def scaled(self, scale: float) -> Gap:
        return replace(
            self, length_m=scale * self.length_m, depth_m=scale * self.depth_m
        )


@dataclass(frozen=True)
class Stones(Segment):
    """Square tops in a lattice with holes between; begins and ends with a gap.

    One row of stones is centred on the strip's centre line.
    """

    stone_m: float
    """Side of a stone."""
    spacing_m: float
    """Gap between two stones, along and across."""
    count: int
    """Stones one behind the other."""
    jitter_m: float = 0.0
    """Tops lie this much above or below the ground, at most."""
    depth_m: float = HOLE_DEPTH.hardest
    """Not stated in the paper for its hardware; that of training's hardest stones."""
    name: str = "stones"
    family = "stones"

    @property
    def cells(self) -> int:
        stone, spacing = to_cells(self.stone_m), to_cells(self.spacing_m)
        return self.count * (stone + spacing) + spacing

    def heights(self, rng: np.random.Generator, num_y: int) -> np.ndarray:
        stone, spacing = to_cells(self.stone_m), to_cells(self.spacing_m)
        pitch = stone + spacing
        from_row = np.arange(num_y) - (num_y - stone) // 2  # From the middle row.
        column = from_row // pitch - (from_row // pitch).min()
        from_gap = np.arange(self.cells) - spacing
        row = np.clip(from_gap // pitch, 0, self.count - 1)
        is_stone_x = (from_gap >= 0) & (from_gap % pitch < stone)
        is_stone = is_stone_x[:, None] & (from_row % pitch < stone)[None, :]
        jitter = to_units(self.jitter_m)
        tops = rng.integers(
            -jitter, jitter, size=(self.count, column.max() + 1), endpoint=True
        )
        hole = -to_units(self.depth_m)
        patch = super().heights(rng, num_y)
        patch[:] = np.where(is_stone, tops[row[:, None], column[None, :]], hole)
        return patch

    def scaled(self, scale: float) -> Stones:
        return replace(
            self,
            spacing_m=scale * self.spacing_m,
            jitter_m=scale * self.jitter_m,
            depth_m=scale * self.depth_m,
        )


@dataclass(frozen=True)
class Rough(Segment):
    """Random heights on a lattice, joined linearly; both ends are level ground."""

    length_m: float
    amplitude_m: float
    """Heights are drawn from minus to plus this."""
    spacing_m: float
    """Distance of the lattice points."""
    name: str = "rough"
    family = "rough"

    def heights(self, rng: np.random.Generator, num_y: int) -> np.ndarray:
        spacing = to_cells(self.spacing_m)
        x = np.arange(self.cells) / spacing  # Fractional lattice index.
        x *= math.ceil(self.cells / spacing) / (self.cells / spacing)  # To the end.
        y = np.arange(num_y) / spacing
        shape = (math.ceil(self.cells / spacing) + 1, math.ceil(num_y / spacing) + 1)
        amplitude = to_units(self.amplitude_m)
        drawn = rng.integers(-amplitude, amplitude, size=shape, endpoint=True)
        drawn[[0, -1]] = 0
        patch = super().heights(rng, num_y)
        patch[:] = round_half_up(interpolate(drawn.astype(np.float64), x, y))
        return patch

    def scaled(self, scale: float) -> Rough:
        return replace(self, amplitude_m=scale * self.amplitude_m)


def to_cells(length_m: float) -> int:
    """A length in cells, halves rounded up."""
    return int(round_half_up(length_m / CELL_M))


def to_units(height_m: float) -> int:
    """A height in units; halves are rounded away from 0, so up and down are alike."""
    count = int(round_half_up(abs(height_m) / UNIT_M))
    return count if height_m >= 0 else -count
