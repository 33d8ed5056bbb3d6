"""The arms of an ablation side by side, with their seeds and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from solo.results import Mean

_WIDTH = 0.7
"""Share of a column that its arms take."""


def draw_ablation(
    table: Mapping[str, Mapping[str, Sequence[float]]], output: Path
) -> None:
    """Draw a dot per seed, and mean and 95 % interval (Student) of each arm.

    Args:
        table: Arm and column to a value per seed. Columns of single terrains, which
            begin with ``top/``, are left out; success is in percent.
        output: PNG file to write.
    """
    columns = [c for c in next(iter(table.values())) if not c.startswith("top/")]
    others = [c for c in columns if c == "curriculum level"]
    rates = [c for c in columns if c not in others]
    figure = Figure(
        figsize=(2.0 + 1.4 * len(columns), 3.8), facecolor="white", layout="constrained"
    )
    ratios = [len(part) for part in (rates, others) if part]
    panels = figure.subplots(1, len(ratios), width_ratios=ratios, squeeze=False)[0]
    _draw_columns(panels[0], table, rates)
    panels[0].set_ylabel("success, %")
    panels[0].set_ylim(-3, 103)
    if others:
        _draw_columns(panels[1], table, others)
        panels[1].set_ylim(bottom=0.0)
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        frameon=False,
        loc="outside upper center",
        ncols=len(table),
    )
    figure.savefig(output, dpi=150, format="png")


def _draw_columns(
    axes: Axes,
    table: Mapping[str, Mapping[str, Sequence[float]]],
    columns: Sequence[str],
) -> None:
    places = np.linspace(-0.5, 0.5, len(table) + 2)[1:-1] * _WIDTH
    for index, (place, (arm, row)) in enumerate(
        zip(places, table.items(), strict=True)
    ):
        for x, column in enumerate(columns):
            values = np.asarray(row[column], dtype=np.float64)
            count = len(values)
            mean = float(values.mean())
            std = float(values.std(ddof=1)) if count > 1 else None
            interval = Mean(mean, std, count).interval or (mean, mean)
            axes.errorbar(
                x + place,
                mean,
                [[mean - interval[0]], [interval[1] - mean]],
                fmt="s",
                color=f"C{index}",
                markersize=5,
                capsize=3,
                label=arm if x == 0 else None,
            )
            axes.plot(
                np.full(count, x + place), values, "o", color="0.3", markersize=2.5
            )
    axes.set_xticks(range(len(columns)), columns)
    axes.set_xlim(-0.6, len(columns) - 0.4)
    axes.grid(axis="y", alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
