"""The height grid on a device, with the pyramid that lets rays skip empty space."""

from __future__ import annotations

import math

import numpy as np
import warp as wp

from solo.sensors.depth_rays import Surface
from solo.terrains.grid import HeightGrid

NUM_LEVELS = 3
"""Levels of the pyramid; each has blocks four times as wide as the one below.

Measured over all terrain variants: with blocks of 4, 16 and 64 squares a ray visits 5.7
blocks and squares. Blocks of 2, 8, 32 and 128 (6.0), of 8 and 64 (6.0) and of all
powers of two up to 64 (7.0) are slower. Without a pyramid a ray takes 7.5 times as
long.
"""

_QUANTA_PER_UNIT = 16  # See `HeightGrid.surface_vertices`: 0.75 and 0.25, twice.


def build_surface(
    grid: HeightGrid,
    reach_m: float,
    device: str,
    walls: bool = True,
    num_levels: int = NUM_LEVELS,
) -> Surface:
    """Put the grid and its pyramid on a device.

    Args:
        grid: The heights.
        reach_m: Length of the longest ray.
        device: Device of the arrays.
        walls: Make risers vertical walls; else they are the ramps of physics.
        num_levels: Levels of the pyramid; 0 visits every square along a ray.
    """
    quantum_m, square_m = grid.unit_m / _QUANTA_PER_UNIT, grid.cell_m / 2
    limit = np.iinfo(np.int16).max // _QUANTA_PER_UNIT
    highest = int(np.abs(grid.units.astype(np.int32)).max())
    if highest > limit:
        raise ValueError(
            f"Height grid reaches {highest * grid.unit_m:g} m from zero; the depth "
            f"camera allows {limit * grid.unit_m:g} m. Use a coarser unit_m."
        )
    vertices = np.rint(grid.surface_vertices() / np.float32(quantum_m)).astype(np.int16)
    blocks, levels = _build_pyramid(vertices, num_levels)
    surface = Surface()
    surface.vertices = wp.array(vertices.ravel(), dtype=wp.int16, device=device)
    surface.blocks = wp.array(blocks, dtype=wp.int32, device=device)
    surface.levels = wp.array(levels, dtype=wp.vec3i, device=device)
    surface.num_x, surface.num_y = vertices.shape
    surface.corner_x_m, surface.corner_y_m = grid.corner_xy_m
    surface.square_m, surface.quantum_m = square_m, quantum_m
    steep = grid.slope_threshold * square_m / quantum_m + 1e-3
    surface.steep = steep if walls else math.inf
    surface.top = num_levels
    block = 4**num_levels
    surface.reach = (math.ceil(reach_m / square_m / block) + 1) * block
    return surface


def _build_pyramid(
    vertices: np.ndarray, num_levels: int
) -> tuple[np.ndarray, list[tuple[int, int, int]]]:
    """Blocks of all levels in one array, and where each level is in it.

    A block holds the vertices at its far sides too, because its last squares end there.
    """
    blocks, levels, first = [np.zeros(1, np.int32)], [(0, 0, 0)], 1
    high = low = np.pad(vertices, (0, 1), mode="edge")
    for axis in (0, 1):
        high, low = _pairs(high, np.maximum, axis), _pairs(low, np.minimum, axis)
    for _ in range(num_levels):
        high, low = _shrink(high, np.maximum), _shrink(low, np.minimum)
        packed = (high.astype(np.int32) << 16) | (low.astype(np.int32) & 0xFFFF)
        blocks.append(packed.ravel())
        levels.append((first, *high.shape))
        first += packed.size
    return np.concatenate(blocks), levels


def _pairs(values: np.ndarray, choose: np.ufunc, axis: int) -> np.ndarray:
    """Choose between neighbours along one axis."""
    count = values.shape[axis]
    ahead = values.take(range(1, count), axis)
    return choose(values.take(range(count - 1), axis), ahead)


def _shrink(values: np.ndarray, choose: np.ufunc) -> np.ndarray:
    """Choose one of each 4 x 4 values."""
    values = np.pad(values, [(0, -n % 4) for n in values.shape], mode="edge")
    for axis in (0, 1):
        values = np.moveaxis(values, axis, 0)
        values = np.moveaxis(
            choose(
                choose(values[0::4], values[1::4]), choose(values[2::4], values[3::4])
            ),
            0,
            axis,
        )
    return values
