"""Pictures of reconstructed ground: example maps, error by place and difficulty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from solo.files import written_aside
from solo.pictures.depth import label_rows
from solo.results import METHOD_TITLES
from solo.robots import get_robot

if TYPE_CHECKING:
    from solo.reconstruction.comparison import Example

_COLORS = {
    "qr": "C0",
    "start": "C1",
    "dpl": "C2",
    "start_memory": "C5",
    "dpl_memory": "C6",
    "qr_evidence": "C3",
    "start_evidence": "C8",
    "flat": "0.6",
}


def write_pictures(
    result: Mapping[str, Any], examples: Sequence[Example], output: Path
) -> list[Path]:
    """Write the pictures of a comparison that there are data for; the files."""
    methods = result["methods"]
    per_cell = {name: row["l1_cm_per_cell"] for name, row in methods.items()}
    robot = get_robot(result["data"]["eval"]["config"]["sampler"]["robot"])
    x_range_m, y_range_m = robot.height_map.x_range_m, robot.height_map.y_range_m
    draw = {
        "error_per_cell.png": partial(
            draw_error_per_cell, per_cell, x_range_m, y_range_m
        )
    }
    if examples:
        draw["reconstructions.png"] = partial(
            draw_reconstructions, examples, list(methods)
        )
    if result["extent_shift"]:
        draw["extent_shift.png"] = partial(draw_extent_shift, result["extent_shift"])
    for name, write in draw.items():
        with written_aside(output / name) as unfinished:
            write(unfinished)
    return [output / name for name in draw]


def _title(method: str) -> str:
    return METHOD_TITLES.get(method, method)


def draw_reconstructions(
    rows: Sequence[Example], methods: Sequence[str], output: Path
) -> None:
    """Draw the latest depth, the true map and each method's, one row per terrain.

    Maps are seen from above with the robot's front to the right; each row has its own
    colour scale, set by the truth. Pixels without depth are red.
    """
    titles = ["latest depth", "ground truth", *(_title(m) for m in methods)]
    size = (2.05 * len(titles) + 1.6, 1.3 * len(rows) + 0.8)
    figure = Figure(figsize=size, facecolor="white", layout="constrained")
    title = "Ground around the robot, reconstructed from depth and proprioception"
    figure.suptitle(title, size=12, weight="bold")
    panels = figure.subplots(len(rows), len(titles), squeeze=False)
    gray = colormaps["gray"].with_extremes(bad="tab:red")
    for axes, name in zip(panels[0], titles, strict=True):
        axes.set_title(name, size=10)
    for line, row in zip(panels, rows, strict=True):
        depth = np.ma.masked_equal(row.depth, 0.0)
        line[0].imshow(depth, cmap=gray, vmin=0.1, vmax=1.0, aspect="auto")
        low, high = float(row.truth.min()), float(row.truth.max())
        if high - low < 0.1:
            low, high = low - 0.05, high + 0.05
        image = None
        maps = [row.truth, *(row.maps[m] for m in methods)]
        for axes, height in zip(line[1:], maps, strict=True):
            image = axes.imshow(
                height,
                cmap="viridis",
                vmin=low,
                vmax=high,
                origin="lower",
                aspect="auto",
                interpolation="nearest",
            )
        for axes, height in zip(line[2:], maps[1:], strict=True):
            error_cm = 100.0 * np.abs(height - row.truth).mean()
            axes.set_xlabel(f"L1 {error_cm:.1f} cm", size=7, labelpad=1)
        assert image is not None
        bar = figure.colorbar(image, ax=line, pad=0.01, aspect=10)
        bar.ax.tick_params(labelsize=7)
        bar.set_label("m", size=7, labelpad=1)
    label_rows(panels, [row.terrain for row in rows])
    figure.savefig(output, dpi=120, format="png")


def draw_error_per_cell(
    per_cell: Mapping[str, Sequence[Sequence[float]]],
    x_range_m: tuple[float, float],
    y_range_m: tuple[float, float],
    output: Path,
) -> None:
    """Draw the mean error of each cell [Y, X] around the robot, cm, for each method."""
    figure = Figure(figsize=(3.4 * len(per_cell) + 0.6, 2.4), layout="constrained")
    maps = {method: np.asarray(errors) for method, errors in per_cell.items()}
    high = max(float(errors.max()) for errors in maps.values())
    image, panels = None, figure.subplots(1, len(maps), squeeze=False, sharey=True)[0]
    for axes, (method, errors) in zip(panels, maps.items(), strict=True):
        image = axes.imshow(
            errors,
            extent=(*x_range_m, *y_range_m),
            cmap="magma",
            vmin=0.0,
            vmax=high,
            origin="lower",
        )
        axes.plot(0.0, 0.0, "w^", markersize=6)
        axes.set_title(f"{_title(method)}: {errors.mean():.1f} cm", size=10)
        axes.set_xlabel("ahead of the robot [m]", size=8)
    panels[0].set_ylabel("to its left [m]", size=8)
    assert image is not None
    bar = figure.colorbar(image, ax=list(panels), fraction=0.03)
    bar.set_label("mean L1 [cm]", size=8)
    figure.savefig(output, dpi=120, format="png")


def draw_extent_shift(
    shift: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]], output: Path
) -> None:
    """Draw error over difficulty: solid for the patch trained on, dashed for the other.

    ``shift`` has method to side of the patch to ``difficulty`` and ``l1_cm``.
    """
    figure = Figure(figsize=(6.0, 3.8), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    for method, curves in shift.items():
        for (side, curve), style in zip(curves.items(), ("o-", "s--"), strict=False):
            axes.plot(
                curve["difficulty"],
                curve["l1_cm"],
                style,
                color=_COLORS.get(method, "k"),
                label=f"{_title(method)}, {side} m",
                markersize=4,
            )
    axes.set_xlabel("difficulty of descending stairs")
    axes.set_ylabel("height-map L1 [cm]")
    axes.set_ylim(bottom=0.0)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
    figure.savefig(output, dpi=120, format="png")
