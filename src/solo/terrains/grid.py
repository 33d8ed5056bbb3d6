"""The one height grid that physics, height maps and depth images all read.

What differs from the paper: its simulator turns the grid into a triangle mesh and moves
mesh vertices to make risers vertical. MuJoCo's height fields have fixed vertices, so
here a riser is a ramp of half a cell (2.5 cm), centred on the boundary of two cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from solo.terrains.patch import CELL_M, UNIT_M

SLOPE_THRESHOLD = 0.75
"""Rise over run above which two cells are joined by a riser (paper, appendix)."""


@dataclass(frozen=True, eq=False)
class HeightGrid:
    """Heights of square cells: cell (i, j) covers [x0 + i * cell, x0 + (i + 1) * cell).

    The same holds for y with j. The array is copied and made read-only.
    """

    units: np.ndarray
    """Heights in multiples of `unit_m`, int16 [X, Y]."""

    corner_xy_m: tuple[float, float]
    """World coordinates of the outer corner (x0, y0) of cell (0, 0)."""

    cell_m: float = CELL_M
    """Side of a cell."""

    unit_m: float = UNIT_M
    """Height of one unit."""

    slope_threshold: float = SLOPE_THRESHOLD
    """Neighbours with a steeper rise over run than this are joined by a riser."""

    def __post_init__(self) -> None:
        units = np.array(self.units, dtype=np.int16, order="C")
        if units.ndim != 2 or units.size == 0:
            raise ValueError(f"Height grid has shape {units.shape}; expected (X, Y).")
        if not np.array_equal(units, self.units):
            raise ValueError("Height grid has values that are not int16 units.")
        units.setflags(write=False)
        object.__setattr__(self, "units", units)

    @property
    def heights_m(self) -> np.ndarray:
        """Height of every cell, float32 [X, Y]."""
        return self.units.astype(np.float32) * np.float32(self.unit_m)

    @property
    def size_m(self) -> tuple[float, float]:
        """Extent of the grid along x and y."""
        num_x, num_y = self.units.shape
        return num_x * self.cell_m, num_y * self.cell_m

    def crop(self, cells_x: slice, cells_y: slice) -> HeightGrid:
        """The grid of a contiguous block of cells, at the same place in the world."""
        start_x, _, stride_x = cells_x.indices(self.units.shape[0])
        start_y, _, stride_y = cells_y.indices(self.units.shape[1])
        if stride_x != 1 or stride_y != 1:
            raise ValueError("A height grid can only be cropped with a stride of 1.")
        x0, y0 = self.corner_xy_m
        return HeightGrid(
            self.units[cells_x, cells_y],
            (x0 + start_x * self.cell_m, y0 + start_y * self.cell_m),
            self.cell_m,
            self.unit_m,
            self.slope_threshold,
        )

    def height_at(self, x: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Height of the cell that contains each world point, without interpolation.

        Points outside the grid read the nearest border cell.
        """
        x0, y0 = self.corner_xy_m
        i = np.floor((np.asarray(x, dtype=np.float64) - x0) / self.cell_m)
        j = np.floor((np.asarray(y, dtype=np.float64) - y0) / self.cell_m)
        i = np.clip(i, 0, self.units.shape[0] - 1).astype(np.int64)
        j = np.clip(j, 0, self.units.shape[1] - 1).astype(np.int64)
        return self.units[i, j] * self.unit_m

    def surface_vertices(self) -> np.ndarray:
        """The physical surface as a lattice of heights, float32 [2X, 2Y], read-only.

        There are two vertices per cell and axis, a quarter of a cell to either side of
        its centre, so vertices are half a cell (0.025 m) apart. Between neighbouring
        cells whose heights differ by at most `slope_threshold * cell_m` (0.0375 m) the
        surface is the straight line through both centres, so a vertex is 0.75 of its
        own cell plus 0.25 of the neighbour. Above the threshold both vertices keep the
        height of their cell, and the 0.025 m between them are the riser. The rule is
        applied along x and then, to the result, along y. Border cells have no outer
        neighbour and keep their height.
        """
        return self._surface_vertices

    def surface_at(self, x: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Height of the physical surface at world points, clamped outside the grid.

        Interpolates `surface_vertices` bilinearly; MuJoCo splits each square into two
        triangles instead, which differs by under 2 mm away from risers.
        """
        vertices = self._surface_vertices
        x0, y0 = self.corner_xy_m
        i, s = _split_index(x, x0, self.cell_m / 2, vertices.shape[0])
        j, t = _split_index(y, y0, self.cell_m / 2, vertices.shape[1])
        low = (1 - s) * vertices[i, j] + s * vertices[i + 1, j]
        high = (1 - s) * vertices[i, j + 1] + s * vertices[i + 1, j + 1]
        return (1 - t) * low + t * high

    @cached_property
    def _surface_vertices(self) -> np.ndarray:
        # In units all intermediate values are multiples of 1/16, exact in float32.
        threshold = self.slope_threshold * self.cell_m / self.unit_m + 1e-6
        vertices = self.units.astype(np.float32)
        for axis in (0, 1):
            vertices = _refine(vertices, axis, threshold)
        vertices *= np.float32(self.unit_m)
        vertices.setflags(write=False)
        return vertices


def _refine(heights: np.ndarray, axis: int, threshold: float) -> np.ndarray:
    """Put two vertices in place of each value along one axis."""
    rise = np.diff(heights, axis=axis)
    rise[np.abs(rise) > threshold] = 0.0
    rise *= 0.25
    vertices = np.repeat(heights, 2, axis=axis)
    rows = np.moveaxis(vertices, axis, 0)  # A view, so that the sums land in vertices.
    rows[2::2] -= np.moveaxis(rise, axis, 0)
    rows[1:-1:2] += np.moveaxis(rise, axis, 0)
    return vertices


def _split_index(
    world: ArrayLike, corner_m: float, spacing_m: float, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Lower vertex index and fraction of the way to the next one."""
    index = (np.asarray(world, dtype=np.float64) - corner_m) / spacing_m - 0.5
    index = np.clip(index, 0, count - 1)
    low = np.minimum(index.astype(np.int64), count - 2)
    return low, index - low
