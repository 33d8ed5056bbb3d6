# pyright: reportInvalidTypeForm=false
# ruff: noqa: UP018 (Warp: a call declares a variable that a loop may change)
"""The height grid on a device, and rays through it, on CPU and CUDA.

The ground is a lattice of squares, half a cell wide (`HeightGrid.surface_vertices`). A
square without a riser is the two triangles that physics sees. In a square that a riser
crosses, heights are those of the nearest vertices across the riser, so the riser is a
vertical wall at the boundary of the two cells, where physics has a ramp of 2.5 cm. The
two differ by at most 1.25 cm horizontally.

A ray skips empty space with a pyramid of blocks that know the highest and the lowest
vertex in them: it passes over a block that it stays above, else it goes down to the
height of the block's highest vertex at once and looks at the smaller blocks there. A
block whose vertices are all equal ends the ray without looking further.

In the kernels lengths along x and y are in squares from a corner close to the camera,
so that a large grid costs no precision. Heights are in quanta, sixteenths of the grid's
unit, in which all vertices are integers. A ray's parameter ``t`` is the depth along the
optical axis in metres.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import warp

from solo.terrains.grid import HeightGrid

wp: Any = warp  # The stubs do not describe what is allowed inside kernels.
wp.set_module_options({"enable_backward": False})

NUM_LEVELS = 3
"""Levels of the pyramid; each has blocks four times as wide as the one below.

Measured over all terrain variants: with blocks of 4, 16 and 64 squares a ray visits 5.7
blocks and squares. Blocks of 2, 8, 32 and 128 (6.0), of 8 and 64 (6.0) and of all
powers of two up to 64 (7.0) are slower. Without a pyramid a ray takes 7.5 times as
long.
"""

_QUANTA_PER_UNIT = 16  # See `HeightGrid.surface_vertices`: 0.75 and 0.25, twice.

_FAR = wp.constant(1e9)
_MISS = wp.constant(2.0)


@wp.struct
class Surface:
    """The height grid as the kernels read it."""

    vertices: wp.array[wp.int16]  # [X * Y], in quanta.
    blocks: wp.array[wp.int32]  # All levels: highest << 16 | lowest, in quanta.
    levels: wp.array[wp.vec3i]  # First block, number of blocks along x and along y.
    num_x: wp.int32
    num_y: wp.int32
    corner_x_m: wp.float64
    corner_y_m: wp.float64
    square_m: wp.float64
    quantum_m: wp.float64
    steep: wp.float32  # Neighbouring vertices that differ by more have a riser between.
    top: wp.int32  # Index of the coarsest level.
    reach: wp.int32  # Squares a ray can travel; a multiple of the coarsest block.


@wp.struct
class Viewpoint:
    """What all rays of one image share: where they begin, in the grid."""

    x: wp.float32  # Camera position, squares from the corner and quanta.
    y: wp.float32
    z: wp.float32
    corner_i: wp.int32  # The corner, in squares of the grid.
    corner_j: wp.int32
    num_capsules: wp.int32  # That can be in view; -1 if the camera is inside one.


@wp.func
def _height(
    h00: wp.float32, h10: wp.float32, h01: wp.float32, h11: wp.float32,
    u: wp.float32, v: wp.float32,
) -> wp.float32:  # fmt: skip
    """Height in a square; it is split from its lowest (x, y) corner to its highest."""
    if u >= v:
        return h00 + u * (h10 - h00) + v * (h11 - h10)
    return h00 + v * (h01 - h00) + u * (h11 - h01)


@wp.func
def _hit_square(
    h00: wp.float32, h10: wp.float32, h01: wp.float32, h11: wp.float32,
    steep: wp.float32,
    u0: wp.float32, v0: wp.float32, z0: wp.float32,
    u1: wp.float32, v1: wp.float32, z1: wp.float32,
) -> wp.float32:  # fmt: skip
    """Where the way from (u0, v0, z0) to (u1, v1, z1) in a square meets the ground.

    Returns the fraction of the way, or `_MISS`. The way is cut where the ground has a
    fold; a piece that begins below ground has met a wall at its begin.
    """
    steep_x = wp.max(wp.abs(h10 - h00), wp.abs(h11 - h01)) > steep
    steep_y = wp.max(wp.abs(h01 - h00), wp.abs(h11 - h10)) > steep
    cut_a = float(1.0)
    cut_b = float(1.0)
    if steep_x or steep_y:
        if steep_x and (u0 - 0.5) * (u1 - 0.5) < 0.0:
            cut_a = (0.5 - u0) / (u1 - u0)
        if steep_y and (v0 - 0.5) * (v1 - 0.5) < 0.0:
            cut_b = (0.5 - v0) / (v1 - v0)
    elif (u0 - v0) * (u1 - v1) < 0.0:
        cut_a = (u0 - v0) / (u0 - v0 - u1 + v1)
    begin = float(0.0)
    for piece in range(3):
        end = float(1.0)
        if piece == 0:
            end = wp.min(cut_a, cut_b)
        elif piece == 1:
            end = wp.max(cut_a, cut_b)
        if end > begin:
            ua = u0 + begin * (u1 - u0)
            va = v0 + begin * (v1 - v0)
            ub = u0 + end * (u1 - u0)
            vb = v0 + end * (v1 - v0)
            if steep_x:
                ua = wp.where(ua + ub < 1.0, 0.0, 1.0)
                ub = ua
            if steep_y:
                va = wp.where(va + vb < 1.0, 0.0, 1.0)
                vb = va
            above_a = z0 + begin * (z1 - z0) - _height(h00, h10, h01, h11, ua, va)
            above_b = z0 + end * (z1 - z0) - _height(h00, h10, h01, h11, ub, vb)
            if above_a <= 0.0:
                return begin
            if above_b < 0.0:
                return begin + (end - begin) * above_a / (above_a - above_b)
            begin = end
    return _MISS


@wp.func
def march(
    s: Surface, view: Viewpoint, dx: wp.float32, dy: wp.float32, dz: wp.float32,
    t_max: wp.float32,
) -> wp.float32:  # fmt: skip
    """Depth at which a ray meets the ground, or `t_max`."""
    inv_x = wp.where(wp.abs(dx) > 1e-9, 1.0 / dx, _FAR)
    inv_y = wp.where(wp.abs(dy) > 1e-9, 1.0 / dy, _FAR)
    inv_z = wp.where(wp.abs(dz) > 1e-9, 1.0 / dz, _FAR)
    ahead_x = wp.where(inv_x > 0.0, 1, 0)
    ahead_y = wp.where(inv_y > 0.0, 1, 0)
    i = int(view.x)
    j = int(view.y)
    k = int(s.top)
    t = float(0.0)
    while t < t_max:
        shift = 2 * k
        block_i = i >> shift
        block_j = j >> shift
        border_x = (block_i + ahead_x) << shift
        border_y = (block_j + ahead_y) << shift
        t_x = (float(border_x) - view.x) * inv_x
        t_y = (float(border_y) - view.y) * inv_y
        t_out = wp.min(wp.min(t_x, t_y), t_max)
        z_in = view.z + t * dz
        z_out = view.z + t_out * dz
        lowest_z = wp.min(z_in, z_out)
        passed = bool(True)
        if k > 0:
            level = s.levels[k]
            at_i = wp.clamp(block_i + (view.corner_i >> shift), 0, level[1] - 1)
            at_j = wp.clamp(block_j + (view.corner_j >> shift), 0, level[2] - 1)
            block = s.blocks[level[0] + at_i * level[2] + at_j]
            top = float(block >> 16)
            if lowest_z <= top:
                passed = False
                if z_in > top:
                    t = wp.clamp((top - view.z) * inv_z, t, t_out)
                if block >> 16 == (block << 16) >> 16:
                    return t
                i = wp.clamp(
                    int(view.x + t * dx), block_i << shift, ((block_i + 1) << shift) - 1
                )
                j = wp.clamp(
                    int(view.y + t * dy), block_j << shift, ((block_j + 1) << shift) - 1
                )
                k -= 1
        else:
            i0 = wp.clamp(i + view.corner_i, 0, s.num_x - 1)
            j0 = wp.clamp(j + view.corner_j, 0, s.num_y - 1)
            i1 = wp.clamp(i + view.corner_i + 1, 0, s.num_x - 1)
            j1 = wp.clamp(j + view.corner_j + 1, 0, s.num_y - 1)
            h00 = float(s.vertices[i0 * s.num_y + j0])
            h01 = float(s.vertices[i0 * s.num_y + j1])
            h10 = float(s.vertices[i1 * s.num_y + j0])
            h11 = float(s.vertices[i1 * s.num_y + j1])
            if lowest_z <= wp.max(wp.max(h00, h01), wp.max(h10, h11)):
                x = view.x - float(i)
                y = view.y - float(j)
                part = _hit_square(
                    h00, h10, h01, h11, s.steep,
                    x + t * dx, y + t * dy, z_in,
                    x + t_out * dx, y + t_out * dy, z_out,
                )  # fmt: skip
                if part <= 1.0:
                    return t + part * (t_out - t)
        if passed:
            # Indices move by whole blocks, so that rounding cannot stop the ray.
            t = wp.max(t, t_out)
            last_i = i
            last_j = j
            if t_x <= t_y:
                i = border_x + ahead_x - 1
                j = wp.clamp(
                    int(view.y + t * dy), block_j << shift, ((block_j + 1) << shift) - 1
                )
            else:
                j = border_y + ahead_y - 1
                i = wp.clamp(
                    int(view.x + t * dx), block_i << shift, ((block_i + 1) << shift) - 1
                )
            if k < s.top:
                up = shift + 2
                if (i >> up) != (last_i >> up) or (j >> up) != (last_j >> up):
                    k += 1
    return t_max


def build_surface(
    grid: HeightGrid,
    reach_m: float,
    device: str,
    walls: bool = True,
    num_levels: int = NUM_LEVELS,
) -> Surface:
    """Put the grid and its pyramid on a device, for rays of a length up to ``reach_m``.

    Without walls risers are the ramps of physics; with 0 levels rays visit every
    square.
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
