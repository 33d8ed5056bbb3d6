"""How a training went: the values that tell walking from shuffling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from solo.viewer.curriculum_picture import smooth

_SMOOTH_SHARE = 0.02
"""Share of a curve that its bold line averages over."""


@dataclass(frozen=True)
class Panel:
    """One small diagram."""

    tag: str
    """Name in the log."""
    title: str
    factor: float = 1.0
    """What values are multiplied with."""
    goal: float | None = None
    """Level of a dashed line."""


def draw_training(
    panels: Sequence[Panel],
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]],
    output: Path,
    title: str,
) -> None:
    """Draw the panels of a run in rows of three.

    Args:
        panels: What to draw; panels without a curve are left out.
        curves: Tag to samples in millions [T] and values [T].
        output: PNG file to write.
        title: Over the figure.
    """
    shown = [panel for panel in panels if panel.tag in curves]
    rows = -(-len(shown) // 3)
    figure = Figure(figsize=(9.6, 2.3 * rows + 0.4), facecolor="white")
    figure.set_layout_engine("constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=11)
    for index, panel in enumerate(shown):
        axes = figure.add_subplot(rows, 3, index + 1)
        samples, values = curves[panel.tag]
        values = values * panel.factor
        axes.plot(samples, values, color="C0", alpha=0.25, linewidth=0.7)
        width = max(1, round(_SMOOTH_SHARE * len(values)))
        axes.plot(samples, smooth(values, width), color="C0", linewidth=1.6)
        if panel.goal is not None:
            axes.axhline(panel.goal, color="0.4", linestyle="--", linewidth=1.0)
        axes.set_title(panel.title, fontsize=9)
        if index >= len(shown) - 3:
            axes.set_xlabel("million samples", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.set_ylim(bottom=min(0.0, float(values.min())))
        axes.grid(alpha=0.25, linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(output, dpi=130, format="png")
