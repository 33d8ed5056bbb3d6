"""What every terrain family shares: resolution, curriculum ranges, platform rings.

A patch is a square int16 array [n, n], indexed (x, y), in units of `UNIT_M` relative
to the scene ground at 0. The robot starts at its centre.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

CELL_M = 0.05
"""Horizontal resolution of every grid (paper, appendix "Terrain Curriculum")."""

UNIT_M = 0.005
"""Vertical resolution of every grid (same appendix)."""

PLATFORM_M = 2.5
"""Width of the flat square in the middle of most families (paper's table)."""

PLATFORM_CELLS = round(PLATFORM_M / CELL_M)


@dataclass(frozen=True)
class Parameter:
    """One row entry of the paper's curriculum table, linear in the difficulty."""

    label: str
    """What the number means, as shown in listings."""

    easiest: float
    """Value at difficulty 0, in `suffix`."""

    hardest: float
    """Value at difficulty 1, in `suffix`."""

    resolution: float | None = UNIT_M
    """The grid can only show multiples of this; None means the value is not rounded."""

    suffix: str = " m"
    """Unit shown after the number."""

    def count(self, difficulty: float) -> int:
        """The value in whole multiples of the resolution, halves rounded up.

        The step of stairs at difficulty 0.99 is 0.2475 m: 49.5 units, so 50.
        """
        if self.resolution is None:
            raise ValueError(f"{self.label!r} has no resolution to count in.")
        return int(round_half_up(self._exact(difficulty) / self.resolution))

    def at(self, difficulty: float) -> float:
        """The value as the grid shows it."""
        if self.resolution is None:
            return self._exact(difficulty)
        return self.count(difficulty) * self.resolution

    def describe(self) -> str:
        """The label with its range, for example `step height 0.00 -> 0.25 m`."""
        if self.easiest == self.hardest:
            return f"{self.label} {self.easiest:.2f}{self.suffix}"
        ends = f"{self.easiest:.2f} -> {self.hardest:.2f}"
        return f"{self.label} {ends}{self.suffix}"

    def describe_at(self, difficulty: float) -> str:
        """The label with its value, for example `step height 0.250 m`."""
        return f"{self.label} {self.at(difficulty):.3g}{self.suffix}"

    def _exact(self, difficulty: float) -> float:
        return self.easiest + difficulty * (self.hardest - self.easiest)


PLATFORM = Parameter("platform", PLATFORM_M, PLATFORM_M, CELL_M)


def round_half_up(values: np.ndarray | float) -> np.ndarray:
    """Round to integers with halves towards +infinity.

    NumPy's rounding to even would make the steps of a slope alternate. The small shift
    keeps 49.5, which arrives as 49.4999..., a half.
    """
    return np.floor(np.asarray(values) + 0.5 + 1e-9).astype(np.int64)


def blank_patch(difficulty: float, size_m: float) -> np.ndarray:
    """A patch at height 0; the one place where both arguments are checked.

    Raises:
        ValueError: If the difficulty is outside [0, 1] or the size does not leave a
            platform of exactly `PLATFORM_M` in the middle.
    """
    if not 0.0 <= difficulty <= 1.0:  # Also false for nan.
        raise ValueError(
            f"Terrain difficulty is {difficulty}; allowed are numbers from 0 to 1."
        )
    return np.zeros((count_cells(size_m),) * 2, dtype=np.int16)


def count_cells(size_m: float) -> int:
    """Number of cells along a patch, which must be even and exceed the platform."""
    if not math.isfinite(size_m):
        raise ValueError(f"Terrain patch size is {size_m}; it must be finite.")
    num_cells = round(size_m / CELL_M)
    fits = abs(num_cells * CELL_M - size_m) < 1e-6 and num_cells % 2 == 0
    if not fits or num_cells <= PLATFORM_CELLS:
        raise ValueError(
            f"Terrain patch size is {size_m} m; it must be larger than the "
            f"{PLATFORM_M} m platform and a multiple of {2 * CELL_M:.2f} m, so that "
            "the platform is centred on whole cells. Use for example 8.0."
        )
    return num_cells


def centre_square(num_cells: int, width_cells: int) -> tuple[slice, slice]:
    """Index of a square of `width_cells` in the middle of a patch."""
    first = (num_cells - width_cells) // 2
    span = slice(first, first + width_cells)
    return span, span


def rings_around_platform(num_cells: int) -> np.ndarray:
    """Chebyshev distance to the platform in cells: 0 on it, 1 for the first ring."""
    first = (num_cells - PLATFORM_CELLS) // 2
    index = np.arange(num_cells)
    beyond = np.maximum(first - index, index - (first + PLATFORM_CELLS - 1))
    outside = np.maximum(beyond, 0)  # [n]
    return np.maximum(outside[:, None], outside[None, :])  # [n, n]


def interpolate(values: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Bilinear interpolation of a lattice at fractional indices, [len(x), len(y)]."""
    i = np.minimum(x.astype(np.int64), len(values) - 2)
    j = np.minimum(y.astype(np.int64), values.shape[1] - 2)
    s, t = (x - i)[:, None], (y - j)[None, :]
    low = values[i][:, j] * (1 - s) + values[i + 1][:, j] * s
    high = values[i][:, j + 1] * (1 - s) + values[i + 1][:, j + 1] * s
    return low * (1 - t) + high * t
