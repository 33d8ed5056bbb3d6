"""The walk as curves over the terrain: its profile, the map's error, the velocity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from solo.files import written_aside
from solo.pictures.terrains import draw_obstacle
from solo.terrains.patch import CELL_M
from solo.terrains.scene import TerrainScene
from solo.terrains.strips.strip import StripSceneCfg
from solo.viewer.ground import Ground
from solo.viewer.walk import END_WORDS, Moment

_AROUND_M = 1.0
"""Ground that is drawn before the start and behind the finish."""
_SMOOTH_S = 0.5
"""Actual velocities are averaged over about a step of the gait."""
_MIN_SPAN = 0.6
"""Least range of a velocity's axis, lest noise fills the panel."""
_WALKED, _ERROR, _COMMAND = "#1f6f8b", "#b5482f", "0.45"


def draw_plots(
    moments: Sequence[Moment],
    ground: Ground,
    scene: TerrainScene,
    leg_begins_m: np.ndarray,
    summary: Mapping[str, Any],
    path: Path,
) -> None:
    """Draw four panels over the place along the line into a PNG file.

    The scene has the ground as heights; legs of the way begin at ``leg_begins_m``.
    """
    figure = Figure(figsize=(11, 8.5), facecolor="white", layout="constrained")
    ratios = (1.5, 1.0, 1.0, 1.0)
    panels = figure.subplots(4, 1, sharex=True, height_ratios=ratios)
    figure.suptitle(_title(summary, moments[-1].end), fontsize=12)
    x = np.array([m.position_m[0] for m in moments])
    _draw_profile(panels[0], moments, ground, scene, leg_begins_m)
    _draw_error(panels[1], moments, x)
    command = np.array([m.command for m in moments])
    velocity = np.array([m.velocity for m in moments])
    rows = ((panels[2], 0, "forward, m/s"), (panels[3], 2, "turn, rad/s"))
    for axes, column, label in rows:
        smooth = _smooth(velocity[:, column], _period_s(moments))
        axes.plot(x, smooth, color=_WALKED, lw=1.6, label="actual")
        asked = command[:, column]
        axes.plot(x, asked, color=_COMMAND, lw=1.2, ls="--", label="commanded")
        axes.set_ylabel(label)
        _widen(axes, _MIN_SPAN)
    panels[2].legend(loc="upper right", ncols=2, frameon=False, fontsize=9)
    panels[-1].set_xlabel("distance from the start, m")
    for axes in panels:
        for element in ground.elements:
            axes.axvspan(element.begin_m, element.end_m, color="0.94", lw=0, zorder=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(-_AROUND_M, ground.finish_m + _AROUND_M)
    figure.align_ylabels(panels)
    with written_aside(path) as unfinished:
        figure.savefig(unfinished, dpi=100, format="png")


def _draw_profile(
    axes: Axes,
    moments: Sequence[Moment],
    ground: Ground,
    scene: TerrainScene,
    leg_begins_m: np.ndarray,
) -> None:
    """The ground along the line, and the way of the base above it."""
    x = np.arange(-_AROUND_M, ground.finish_m + _AROUND_M, CELL_M / 5)
    z = _heights(scene, leg_begins_m, x)
    floor = float(z.min()) - 0.15
    axes.fill_between(x, z, floor, color="#c9ced4", lw=0)
    axes.plot(x, z, color="0.3", lw=1.0)
    if isinstance(ground.scene, StripSceneCfg):
        draw_obstacle(axes, ground.scene.strips[0], x, z)
    base = np.array([moment.position_m[0] for moment in moments])
    height = np.array([moment.qpos[2] for moment in moments])
    height = height - _origins(scene, leg_begins_m, base)[:, 2]
    axes.plot(base, height, color=_WALKED, lw=1.8, label="base of the robot")
    top = max(float(z.max()), float(height.max())) + 0.1
    last = moments[-1]
    end = "out of time" if last.end is None else END_WORDS[last.end]
    axes.plot(base[-1], height[-1], "o", color=_WALKED, ms=6)
    axes.annotate(end, (base[-1], height[-1]), (8, 0), textcoords="offset points",
                  va="center", fontsize=9, color=_WALKED)  # fmt: skip
    for index, element in enumerate(ground.elements):
        middle = (element.begin_m + element.end_m) / 2
        name = element.name.replace("_", " ")
        level = top + (0.30 if index % 2 else 0.08)
        axes.text(middle, level, name, ha="center", fontsize=9)
    for line_m, colour in ((0.0, "tab:green"), (ground.finish_m, "tab:red")):
        axes.axvline(line_m, color=colour, lw=1.3)
    axes.set_ylim(floor, top + 0.55)
    axes.set_ylabel("height, m")
    axes.legend(loc="lower left", frameon=False, fontsize=9)


def _draw_error(axes: Axes, moments: Sequence[Moment], x: np.ndarray) -> None:
    error_cm = 100.0 * np.array([moment.map_error_m for moment in moments])
    axes.plot(x, error_cm, color=_ERROR, lw=1.4)
    axes.set_ylabel("map error, cm")
    axes.set_ylim(bottom=0.0)
    known = error_cm[np.isfinite(error_cm)]
    if len(known):
        mean = float(known.mean())
        axes.axhline(mean, color=_ERROR, lw=0.8, ls=":")
        axes.text(0.995, 0.94, f"mean {mean:.1f} cm", ha="right", va="top",
                  transform=axes.transAxes, fontsize=9, color=_ERROR)  # fmt: skip


def _widen(axes: Axes, span: float) -> None:
    """Let the vertical axis show a range at least."""
    low, high = axes.get_ylim()
    more = max(0.0, span - (high - low)) / 2
    axes.set_ylim(low - more, high + more)


def _period_s(moments: Sequence[Moment]) -> float:
    return moments[1].seconds - moments[0].seconds if len(moments) > 1 else _SMOOTH_S


def _title(summary: Mapping[str, Any], end: str | None) -> str:
    words = "out of time" if end is None else END_WORDS[end]
    difficulty = summary["difficulty"]
    return (
        f"{summary['policy']} on {summary['terrain']}"
        f"{'' if difficulty is None else f', difficulty {difficulty:g}'}: {words} "
        f"after {summary['distance_m']:.1f} m and {summary['simulated_s']:.1f} s"
    )


def _origins(
    scene: TerrainScene, leg_begins_m: np.ndarray, x_m: np.ndarray
) -> np.ndarray:
    """Start lines in the world of the legs that places along the way are on, [N, 3]."""
    legs = np.searchsorted(leg_begins_m, x_m, side="right") - 1
    return scene.origins_m[np.maximum(legs, 0), 0]


def _heights(
    scene: TerrainScene, leg_begins_m: np.ndarray, x_m: np.ndarray
) -> np.ndarray:
    """Ground along the way, from the start line of its leg, [N]."""
    origins = _origins(scene, leg_begins_m, x_m)
    legs = np.maximum(np.searchsorted(leg_begins_m, x_m, side="right") - 1, 0)
    x = origins[:, 0] + x_m - leg_begins_m[legs]
    return scene.grid.surface_at(x, origins[:, 1] + CELL_M / 2) - origins[:, 2]


def _smooth(values: np.ndarray, period_s: float) -> np.ndarray:
    """Centred moving mean over `_SMOOTH_S`, over what there is at both ends."""
    window = np.ones(max(1, round(_SMOOTH_S / period_s)))
    counts = np.convolve(np.ones_like(values), window, "same")
    return np.convolve(values, window, "same") / counts
