"""Curriculum levels of several trainings over their iterations, in one figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

_SMOOTH_SHARE = 0.02
"""Share of a curve that its bold line averages over."""


class Curve(Protocol):
    """What is drawn of a run."""

    @property
    def name(self) -> str: ...
    @property
    def iterations(self) -> np.ndarray: ...
    @property
    def levels(self) -> np.ndarray: ...


def draw_curriculum(curves: Sequence[Curve], ceiling: float, output: Path) -> None:
    """Draw each run as a faint line of all values under a smoothed one.

    Args:
        curves: One per run.
        ceiling: Level of the dashed line: where the mean saturates.
        output: PNG file to write.
    """
    figure = Figure(figsize=(6.4, 4.0), facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for index, curve in enumerate(curves):
        width = max(1, round(_SMOOTH_SHARE * len(curve.levels)))
        axes.plot(
            curve.iterations, curve.levels, color=f"C{index}", alpha=0.25, linewidth=0.8
        )
        axes.plot(
            curve.iterations,
            smooth(curve.levels, width),
            color=f"C{index}",
            linewidth=1.8,
            label=curve.name,
        )
    axes.axhline(ceiling, color="0.5", linestyle="--", linewidth=1.0)
    axes.set_xlabel("iteration")
    axes.set_ylabel("mean curriculum level")
    axes.set_ylim(bottom=0.0)
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(output, dpi=150, format="png")


def smooth(values: np.ndarray, width: int) -> np.ndarray:
    """Mean over the last `width` values, fewer at the start."""
    sums = np.cumsum(np.concatenate([[0.0], values]))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - width, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)
