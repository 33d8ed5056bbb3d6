"""Side profiles of strips with the names of their elements."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from solo.terrains.patch import CELL_M
from solo.terrains.strips.strip import Strip, StripSceneCfg
from solo.terrains.variants import FAMILY_RGB

_INCH_PER_M = 0.55
_MIN_WIDTH, _PANEL_HEIGHT = 7.0, 2.3
_AROUND_M = 1.5
"""Ground that is drawn before the start and behind the finish."""
_MIN_SPAN_M = 1.0


def draw_strips(
    strips: Mapping[str, Strip],
    output: Path,
    obstacle_m: tuple[float, float] | None = None,
) -> None:
    """Draw one panel per strip into a PNG file; lengths and heights differ in scale.

    Args:
        strips: Title to strip.
        output: File to write; an existing one is replaced.
        obstacle_m: Length and height of the movable obstacle, to be drawn on strips
            that have one.
    """
    longest = max(strip.finish_m for strip in strips.values()) + 2 * _AROUND_M
    size = (max(_MIN_WIDTH, _INCH_PER_M * longest), _PANEL_HEIGHT * len(strips))
    figure = Figure(figsize=size, facecolor="white", layout="constrained")
    panels = figure.subplots(len(strips), 1, squeeze=False)[:, 0]
    for axes, (title, strip) in zip(panels, strips.items(), strict=True):
        _draw_profile(axes, strip, obstacle_m)
        axes.set_title(title, loc="left", fontsize=10, weight="bold")
        axes.set_xlim(-_AROUND_M, longest - _AROUND_M)
    panels[-1].set_xlabel("distance from the start line, m")
    figure.savefig(output, dpi=110, format="png")


def _draw_profile(
    axes: Axes, strip: Strip, obstacle_m: tuple[float, float] | None
) -> None:
    """Draw the surface along the centre line, each segment in its colour."""
    scene = StripSceneCfg(strips=(strip,), border_m=1.0).build()
    x0, y0, _ = scene.origins_m[0, 0]
    x = np.arange(-_AROUND_M, strip.finish_m + _AROUND_M, CELL_M / 10)
    z = scene.grid.surface_at(x0 + x, np.full_like(x, y0 + CELL_M / 2))
    low, high = float(z.min()), float(z.max())
    spare = max(_MIN_SPAN_M - (high - low), 0.3 * (high - low))
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
    at_m = strip.obstacle_at_m
    if obstacle_m is not None and at_m is not None:
        length_m, height_m = obstacle_m
        ground = float(np.interp(at_m, x, z))
        corner = (at_m - length_m / 2, ground)
        axes.add_patch(Rectangle(corner, length_m, height_m, fc="#c98a4b", ec="0.2"))
    for line_m, colour in ((0.0, "tab:green"), (strip.finish_m, "tab:red")):
        axes.axvline(line_m, color=colour, lw=1.5)
    axes.set_ylim(floor, high + 0.9 * spare)
    axes.set_ylabel("height, m", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
