"""One labelled picture of many terrain variants: a relief and a profile of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from solo.terrains.grid import HeightGrid
from solo.terrains.relief import draw_relief
from solo.terrains.scene import generate_patch
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


def draw_contact_sheet(
    variants: Sequence[str],
    difficulty: float,
    output: Path,
    seed: int = 0,
    patch_m: float = 8.0,
) -> None:
    """Draw one panel per variant into a PNG file.

    Args:
        variants: Names to draw, in this order.
        difficulty: Difficulty of all patches, in [0, 1].
        output: File to write; an existing one is replaced.
        seed: Seed of the random families; level 0 of a scene with this seed.
        patch_m: Side of the patches.
    """
    num_columns = min(_MAX_COLUMNS, len(variants))
    num_rows = math.ceil(len(variants) / num_columns)
    width = max(num_columns, 2) * _PANEL_WIDTH
    height = _HEADER + num_rows * _PANEL_HEIGHT
    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    title = f"Terrains at difficulty {difficulty:g}, patches of {patch_m:g} m"
    subtitle = "Above: the surface. Below: its height (m) along +x from the centre (m)."
    _write(figure, 0.5, 1 - 0.27 / height, title, fontsize=15, weight="bold")
    _write(figure, 0.5, 1 - 0.53 / height, subtitle, fontsize=9, color="0.35")

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
        _write(figure, middle, name_y, name, fontsize=12, weight="bold")
        _write(figure, middle, parameters_y, parameters, fontsize=8, va="top")

        bottom = (top - _RELIEF_TOP - _RELIEF_HEIGHT) / height
        box = (left, bottom, 0.82 / num_columns, _RELIEF_HEIGHT / height)
        relief = figure.add_axes(box)
        relief.imshow(draw_relief(grid, rgb), aspect="equal")
        relief.set_axis_off()

        bottom = (top - _PROFILE_TOP - _PROFILE_HEIGHT) / height
        box = (left, bottom, 0.82 / num_columns, _PROFILE_HEIGHT / height)
        _draw_profile(figure.add_axes(box), grid, rgb)
    figure.savefig(output, dpi=110, format="png")


def _write(
    figure: Figure,
    x: float,
    y: float,
    text: str,
    *,
    fontsize: float,
    weight: str = "normal",
    color: str = "0.1",
    va: str = "center",
) -> None:
    """Write text centred on x, in shares of the figure."""
    figure.text(x, y, text, ha="center", va=va, size=fontsize, weight=weight, c=color)


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
