"""Shaded oblique views of a height grid, drawn with NumPy alone.

Matplotlib's 3-D surfaces take seconds per patch and sort overlapping risers wrongly. A
height grid needs no general renderer: walking away from the viewer, a surface point is
visible exactly if it lies above everything in front of it on the screen.
"""

from __future__ import annotations

import math

import numpy as np

from solo.terrains.grid import HeightGrid

_AZIMUTH_RAD = math.radians(32.0)
_ELEVATION_RAD = math.radians(38.0)
_LIGHT = np.array([-0.55, -0.35, 0.76])
_SKIRT_M = 0.35
"""Thickness of the slab shown under the lowest point."""


def draw_relief(
    grid: HeightGrid, rgb: tuple[float, float, float], width_px: int = 560
) -> np.ndarray:
    """An orthographic view of a whole grid, seen from -y and turned to the side.

    Args:
        grid: What to draw; one patch is a good size.
        rgb: Colour of the ground, each channel in [0, 1].
        width_px: Width of the image; the height follows from the terrain.

    Returns:
        Image float32 [H, W, 4] with a transparent background, first row on top.
    """
    half_x, half_y = (extent / 2 for extent in grid.size_m)
    centre_x, centre_y = grid.corner_xy_m[0] + half_x, grid.corner_xy_m[1] + half_y
    cos_a, sin_a = math.cos(_AZIMUTH_RAD), math.sin(_AZIMUTH_RAD)
    sin_e, cos_e = math.sin(_ELEVATION_RAD), math.cos(_ELEVATION_RAD)
    half_right = half_x * cos_a + half_y * sin_a
    half_depth = half_x * sin_a + half_y * cos_a

    # Ground points behind each screen column, from near to far.
    right = np.linspace(-half_right, half_right, width_px)
    depth = np.linspace(-half_depth, half_depth, 2 * width_px)
    x = right[None, :] * cos_a - depth[:, None] * sin_a  # [D, W]
    y = right[None, :] * sin_a + depth[:, None] * cos_a
    is_inside = (np.abs(x) <= half_x) & (np.abs(y) <= half_y)
    z = grid.surface_at(centre_x + x, centre_y + y)
    colours = _shade(grid, centre_x + x, centre_y + y, z, rgb)  # [D, W, 3]

    base_m = float(z.min()) - _SKIRT_M
    up = np.where(is_inside, depth[:, None] * sin_e + z * cos_e, -np.inf)
    horizon = np.maximum.accumulate(up, axis=0)
    nearest = np.argmax(is_inside, axis=0)  # [W]
    skirt_foot = depth[nearest] * sin_e + base_m * cos_e
    skirt_top = up[nearest, np.arange(width_px)]

    pixel_m = right[1] - right[0]
    lines = np.arange(horizon.max(), skirt_foot.min() - pixel_m, -pixel_m)  # [H]
    image = np.zeros((len(lines), width_px, 4), dtype=np.float32)
    for column in range(width_px):
        visible = np.searchsorted(horizon[:, column], lines)
        is_drawn = (visible < len(depth)) & (lines >= skirt_foot[column])
        image[is_drawn, column, :3] = colours[visible[is_drawn], column]
        image[is_drawn, column, 3] = 1.0
        is_skirt = is_drawn & (lines < skirt_top[column])
        image[is_skirt, column, :3] = 0.45 * np.array(rgb)
    return image


def _shade(
    grid: HeightGrid,
    x: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
    rgb: tuple[float, float, float],
) -> np.ndarray:
    """Diffuse light plus a tint by height, which tells pits from boxes."""
    reach = grid.cell_m / 4
    slope_x = (grid.surface_at(x + reach, y) - grid.surface_at(x - reach, y)) / reach
    slope_y = (grid.surface_at(x, y + reach) - grid.surface_at(x, y - reach)) / reach
    slope_x, slope_y = slope_x / 2, slope_y / 2
    norm = np.sqrt(1 + slope_x**2 + slope_y**2)
    diffuse = (_LIGHT[2] - _LIGHT[0] * slope_x - _LIGHT[1] * slope_y) / norm
    tint = 1.02 + 0.3 * np.tanh(1.3 * z)
    brightness = (0.42 + 0.72 * np.clip(diffuse, 0.0, None)) * tint
    return np.clip(brightness[..., None] * np.array(rgb), 0.0, 1.0)
