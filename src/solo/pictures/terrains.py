"""Pictures of terrain: a sheet of many variants, and strips from the side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from solo.terrains.grid import HeightGrid
from solo.terrains.patch import CELL_M
from solo.terrains.scene import generate_patch
from solo.terrains.strips.strip import Strip, StripSceneCfg
from solo.terrains.variants import FAMILY_RGB, TerrainVariant, get_variant

_MAX_COLUMNS = 6
_MAX_LINE_CHARACTERS = 42
_MIN_PROFILE_SPAN_M = 0.5
"""Least height axis of a profile, so that flat ground is drawn flat."""

# Layout of a panel in inches, measured downwards from its top edge.
_HEADER = 0.8
_PANEL_WIDTH = 3.2
_PANEL_HEIGHT = 4.25
_NAME_Y = 0.12
_PARAMETERS_Y = 0.25
_RELIEF_TOP, _RELIEF_HEIGHT = 0.6, 2.2
_PROFILE_TOP, _PROFILE_HEIGHT = 2.85, 0.95

_AZIMUTH_RAD = math.radians(32.0)
_ELEVATION_RAD = math.radians(38.0)
_LIGHT = np.array([-0.55, -0.35, 0.76])
_SKIRT_M = 0.35
"""Thickness of the slab shown under the lowest point."""


def draw_contact_sheet(
    variants: Sequence[str],
    difficulty: float,
    output: Path,
    seed: int = 0,
    patch_m: float = 8.0,
) -> None:
    """Draw one panel per variant into a PNG file.

    Random families are those at level 0 of a scene with this seed.
    """
    num_columns = min(_MAX_COLUMNS, len(variants))
    num_rows = math.ceil(len(variants) / num_columns)
    width = max(num_columns, 2) * _PANEL_WIDTH
    height = _HEADER + num_rows * _PANEL_HEIGHT
    figure = Figure(figsize=(width, height), facecolor="white")
    title = f"Terrains at difficulty {difficulty:g}, patches of {patch_m:g} m"
    subtitle = "Above: the surface. Below: its height (m) along +x from the centre (m)."
    write = partial(figure.text, ha="center", va="center", color="0.1")
    write(0.5, 1 - 0.27 / height, title, size=15, weight="bold")
    write(0.5, 1 - 0.53 / height, subtitle, size=9, color="0.35")

    for index, name in enumerate(variants):
        row, column = divmod(index, num_columns)
        left = (column + 0.13) / num_columns
        middle = (column + 0.54) / num_columns
        top = height - _HEADER - row * _PANEL_HEIGHT

        variant = get_variant(name)
        units = generate_patch(name, difficulty, seed, 0, patch_m)
        grid = HeightGrid(units, (-patch_m / 2, -patch_m / 2))
        rgb = FAMILY_RGB[variant.family]
        parameters = _wrap_parameters(variant, difficulty)
        name_y, parameters_y = (top - _NAME_Y) / height, (top - _PARAMETERS_Y) / height
        write(middle, name_y, name, size=12, weight="bold")
        write(middle, parameters_y, parameters, size=8, va="top")

        bottom = (top - _RELIEF_TOP - _RELIEF_HEIGHT) / height
        box = (left, bottom, 0.82 / num_columns, _RELIEF_HEIGHT / height)
        relief = figure.add_axes(box)
        relief.imshow(draw_relief(grid, rgb), aspect="equal")
        relief.set_axis_off()

        bottom = (top - _PROFILE_TOP - _PROFILE_HEIGHT) / height
        box = (left, bottom, 0.82 / num_columns, _PROFILE_HEIGHT / height)
        _draw_profile(figure.add_axes(box), grid, rgb)
    figure.savefig(output, dpi=110, format="png")


def _wrap_parameters(variant: TerrainVariant, difficulty: float) -> str:
    """The parameters at a difficulty, broken between two of them where too long."""
    lines = [""]
    for part in variant.describe_at(difficulty).split(", "):
        longer = f"{lines[-1]}, {part}" if lines[-1] else part
        if len(longer) <= _MAX_LINE_CHARACTERS:
            lines[-1] = longer
        else:
            lines.append(part)
    return "\n".join(lines)


def _draw_profile(
    axes: Axes, grid: HeightGrid, rgb: tuple[float, float, float]
) -> None:
    """Draw the surface along +x, through the cells just above y = 0."""
    half_m = grid.size_m[0] / 2
    x = np.linspace(0.0, half_m, 2001)
    z = grid.surface_at(x, np.full_like(x, grid.cell_m / 2))
    low, high = float(z.min()), float(z.max())
    pad = max(_MIN_PROFILE_SPAN_M - (high - low), 0.2 * (high - low)) / 2
    floor = low - 1.4 * pad
    axes.fill_between(x, z, floor, color=rgb, alpha=0.55, linewidth=0)
    axes.plot(x, z, color=tuple(0.55 * c for c in rgb), linewidth=1.2)
    axes.set_xlim(0.0, half_m)
    axes.set_ylim(floor, high + pad)
    axes.locator_params(axis="y", nbins=4)
    axes.tick_params(labelsize=7, length=2, pad=2)
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def draw_relief(
    grid: HeightGrid, rgb: tuple[float, float, float], width_px: int = 560
) -> np.ndarray:
    """An orthographic view of a whole grid, seen from -y and turned to the side.

    Matplotlib's 3-D surfaces take seconds per patch and sort overlapping risers
    wrongly. A height grid needs no general renderer: walking away from the viewer, a
    surface point is visible exactly if it lies above everything in front of it on the
    screen.

    Returns float32 [H, W, 4] with a transparent background; the height follows from the
    terrain.
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


_INCH_PER_M = 0.55
_MIN_STRIP_WIDTH, _STRIP_HEIGHT = 7.0, 2.3
_AROUND_M = 1.5
"""Ground that is drawn before the start and behind the finish."""
_MIN_STRIP_SPAN_M = 1.0


def draw_strips(strips: Mapping[str, Strip], output: Path) -> None:
    """Draw one panel per strip into a PNG file; lengths and heights differ in scale.

    Args:
        strips: Title to strip.
        output: File to write; an existing one is replaced.
        obstacle_m: Length and height of the movable obstacle, to be drawn on strips
            that have one.
    """
    longest = max(strip.finish_m for strip in strips.values()) + 2 * _AROUND_M
    size = (max(_MIN_STRIP_WIDTH, _INCH_PER_M * longest), _STRIP_HEIGHT * len(strips))
    figure = Figure(figsize=size, facecolor="white", layout="constrained")
    panels = figure.subplots(len(strips), 1, squeeze=False)[:, 0]
    for axes, (title, strip) in zip(panels, strips.items(), strict=True):
        _draw_strip(axes, strip)
        axes.set_title(title, loc="left", fontsize=10, weight="bold")
        axes.set_xlim(-_AROUND_M, longest - _AROUND_M)
    panels[-1].set_xlabel("distance from the start line, m")
    figure.savefig(output, dpi=110, format="png")


def _draw_strip(axes: Axes, strip: Strip) -> None:
    """Draw the surface along the centre line, each segment in its colour."""
    scene = StripSceneCfg(strips=(strip,), border_m=1.0).build()
    x0, y0, _ = scene.origins_m[0, 0]
    x = np.arange(-_AROUND_M, strip.finish_m + _AROUND_M, CELL_M / 10)
    z = scene.grid.surface_at(x0 + x, np.full_like(x, y0 + CELL_M / 2))
    low, high = float(z.min()), float(z.max())
    spare = max(_MIN_STRIP_SPAN_M - (high - low), 0.3 * (high - low))
    floor = low - 0.2 * spare
    begin = -strip.start_m
    for segment in strip.segments:
        end = begin + segment.cells * CELL_M
        inside = (x >= begin - CELL_M / 2) & (x <= end + CELL_M / 2)
        rgb = FAMILY_RGB[segment.family]
        axes.fill_between(x[inside], z[inside], floor, color=rgb, lw=0, alpha=0.7)
        if segment.name:
            axes.text(
                (begin + end) / 2,
                high + 0.5 * spare,
                segment.name.replace("_", " "),
                ha="center",
                fontsize=8,
            )
            axes.axvline(begin, color="0.6", lw=0.5, ls=":")
            axes.axvline(end, color="0.6", lw=0.5, ls=":")
        begin = end
    axes.plot(x, z, color="0.2", lw=1.0)
    draw_obstacle(axes, strip, x, z)
    for line_m, colour in ((0.0, "tab:green"), (strip.finish_m, "tab:red")):
        axes.axvline(line_m, color=colour, lw=1.5)
    axes.set_ylim(floor, high + 0.9 * spare)
    axes.set_ylabel("height, m", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def draw_obstacle(axes: Axes, strip: Strip, x: np.ndarray, z: np.ndarray) -> None:
    """Draw the movable obstacle where it stands at the start, if the strip has one."""
    if strip.obstacle_at_m is None:
        return
    from solo.envs.obstacle import ObstacleCfg  # Loads mjlab.

    obstacle, at_m = ObstacleCfg(), strip.obstacle_at_m
    length_m, _, height_m = obstacle.size_m
    corner = (at_m - length_m / 2, float(np.interp(at_m, x, z)))
    box = Rectangle(corner, length_m, height_m, fc=obstacle.rgba, ec="0.3", lw=0.8)
    axes.add_patch(box)
