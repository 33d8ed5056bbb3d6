"""Where soles come down on stones and beside gaps, seen from above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from solo.results import Job, Landing
from solo.robots.robot_cfg import FootCfg
from solo.terrains.scene import TerrainScene, void_mask

_INCH_PER_M = 1.5
_PANEL_HEIGHT = 4.6
_HALF_WIDTH_M = 1.5
_BEHIND_M = 0.5
"""Ground that is drawn behind the first touch-down."""
_SHARES = LinearSegmentedColormap.from_list("soles", ["#2a9d5c", "#e0b020", "#c1272d"])
_WORST = 0.5
"""Share of a sole over holes from which on it is red."""


@dataclass(frozen=True, eq=False)
class FootholdPanel:
    """One terrain of the picture."""

    title: str
    caption: str
    scene: TerrainScene
    """Landings are relative to its first origin."""
    landings: Sequence[Landing]
    end_m: float
    """Where rollouts end."""


def draw_footholds(
    panels: Sequence[FootholdPanel], foot: FootCfg, output: Path
) -> None:
    """Draw one panel per terrain into a PNG file, each sole as an outline."""
    first_m = min((f.x_m for p in panels for f in p.landings), default=0.0) - _BEHIND_M
    last_m = max(panel.end_m for panel in panels) + _BEHIND_M
    size = (_INCH_PER_M * (last_m - first_m) + 1.5, _PANEL_HEIGHT * len(panels))
    figure = Figure(figsize=size, facecolor="white", layout="constrained")
    rows = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    for axes, panel in zip(rows, panels, strict=True):
        _draw_ground(axes, panel, first_m, last_m)
        _draw_soles(axes, panel.landings, foot)
        axes.axvline(panel.end_m, color="tab:green", lw=1.5)
        axes.set_xlim(first_m, last_m)
        axes.set_ylim(-_HALF_WIDTH_M, _HALF_WIDTH_M)
        axes.set_aspect("equal")
        axes.set_title(panel.title, loc="left", fontsize=11, weight="bold", pad=20)
        axes.text(0.0, 1.02, panel.caption, transform=axes.transAxes, fontsize=9)
        axes.set_ylabel("y, m")
        axes.tick_params(labelsize=8)
    rows[-1].set_xlabel("distance from the start along +x, m")
    scale = ScalarMappable(Normalize(0.0, _WORST), _SHARES)
    bar = figure.colorbar(scale, ax=list(rows), shrink=0.5, pad=0.01, extend="max")
    bar.set_label("share of the sole over holes")
    figure.savefig(output, dpi=110, format="png")


def _draw_ground(
    axes: Axes, panel: FootholdPanel, first_m: float, last_m: float
) -> None:
    """Draw holes dark and what carries light."""
    scene = panel.scene
    grid, origin = scene.grid, scene.origins_m[0, 0]
    corner = np.array(grid.corner_xy_m)
    low = np.array([first_m, -_HALF_WIDTH_M]) + origin[:2]
    high = np.array([last_m, _HALF_WIDTH_M]) + origin[:2]
    last = np.array(grid.units.shape)
    begin = np.floor((low - corner) / grid.cell_m).clip(0, last).astype(int)
    end = np.ceil((high - corner) / grid.cell_m).clip(0, last).astype(int)
    holes = void_mask(scene)[begin[0] : end[0], begin[1] : end[1]]
    left, bottom = corner + begin * grid.cell_m - origin[:2]
    right, top = corner + end * grid.cell_m - origin[:2]
    axes.imshow(
        np.where(holes.T, 0.45, 0.93),
        cmap="gray",
        vmin=0.0,
        vmax=1.0,
        origin="lower",
        extent=(left, right, bottom, top),
        interpolation="nearest",
    )


def _draw_soles(axes: Axes, landings: Sequence[Landing], foot: FootCfg) -> None:
    """Draw each sole where it came down, in the colour of its share over holes."""
    x, y = zip(*foot.points.values(), strict=True)
    back, front = min(x) - foot.radius, max(x) + foot.radius
    right, left = min(y) - foot.radius, max(y) + foot.radius
    corners = np.array([(back, right), (front, right), (front, left), (back, left)])
    soles = []
    for landing in landings:
        cos, sin = np.cos(landing.yaw_rad), np.sin(landing.yaw_rad)
        turned = corners @ np.array([[cos, sin], [-sin, cos]])
        soles.append(turned + np.array([landing.x_m, landing.y_m]))
    colours = _SHARES([landing.over / _WORST for landing in landings])
    axes.add_collection(
        PolyCollection(soles, facecolors="none", edgecolors=colours, lw=0.9, alpha=0.8)
    )


def landings_of(job: Job) -> list[Landing]:
    """All touch-downs of a job."""
    return [landing for rollout in job.rollouts for landing in rollout.landings]


def describe_landings(job: Job) -> str:
    """In words: how much of the soles was over holes, and of the same soles shifted."""
    found, success = landings_of(job), job.success
    crossed = f"{success.successes} of {success.rollouts} cross"
    if not found:
        return f"no touch-down beside holes; {crossed}"
    over, shifted = (
        100 * sum(values) / len(found)
        for values in ([f.over for f in found], [f.shifted for f in found])
    )
    return (
        f"{len(found)} touch-downs beside holes: {over:.0f} % of the sole over holes, "
        f"{shifted:.0f} % with the feet shifted by 5 to 25 cm; {crossed}"
    )
