"""Random pieces of a strip: stepping stones and rough ground."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from solo.terrains.patch import round_half_up
from solo.terrains.stones import HOLE_DEPTH
from solo.terrains.strip_segments import blank, to_cells, to_units


@dataclass(frozen=True)
class Stones:
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
    rise_units = 0

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
        patch = blank(self, num_y)
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
class Rough:
    """Random heights on a lattice, joined linearly; both ends are level ground."""

    length_m: float
    amplitude_m: float
    """Heights are drawn from minus to plus this."""
    spacing_m: float
    """Distance of the lattice points."""
    name: str = "rough"
    family = "rough"
    rise_units = 0

    @property
    def cells(self) -> int:
        return to_cells(self.length_m)

    def heights(self, rng: np.random.Generator, num_y: int) -> np.ndarray:
        spacing = to_cells(self.spacing_m)
        x = np.arange(self.cells) / spacing  # Fractional lattice index.
        x *= math.ceil(self.cells / spacing) / (self.cells / spacing)  # To the end.
        y = np.arange(num_y) / spacing
        shape = (math.ceil(self.cells / spacing) + 1, math.ceil(num_y / spacing) + 1)
        amplitude = to_units(self.amplitude_m)
        drawn = rng.integers(-amplitude, amplitude, size=shape, endpoint=True)
        drawn[[0, -1]] = 0
        patch = blank(self, num_y)
        patch[:] = round_half_up(_interpolate(drawn.astype(np.float64), x, y))
        return patch

    def scaled(self, scale: float) -> Rough:
        return replace(self, amplitude_m=scale * self.amplitude_m)


def _interpolate(values: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Bilinear interpolation at fractional indices, [len(x), len(y)]."""
    i = np.minimum(x.astype(np.int64), len(values) - 2)
    j = np.minimum(y.astype(np.int64), values.shape[1] - 2)
    s, t = (x - i)[:, None], (y - j)[None, :]
    low = values[i][:, j] * (1 - s) + values[i + 1][:, j] * s
    high = values[i][:, j + 1] * (1 - s) + values[i + 1][:, j + 1] * s
    return low * (1 - t) + high * t
