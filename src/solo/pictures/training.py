"""Figures of trainings: curves of runs and seeds, and the arms of an ablation.

A curve is one line per run, or the mean of several seeds with a band.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from solo.results import LEVEL_TAG, LevelCurve, Mean

Line = tuple[np.ndarray, np.ndarray]
"""Iterations or samples [T], increasing, and values [T]."""

_SMOOTH_SHARE = 0.02
"""Share of a curve that its bold line averages over."""
_BAND_POINTS = 400
"""Places along the horizontal axis at which seeds are compared."""
_WIDTH = 0.7
"""Share of a column of an ablation that its arms take."""


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


PANELS = (
    Panel("Train/mean_episode_length", "episode length, steps of 1000", 1.0, 800.0),
    Panel("Episode_Metrics/velocity_error", "velocity error, m/s", 1.0, 0.3),
    Panel("Episode_Metrics/single_stance", "single stance, share", 1.0, 0.5),
    Panel("Episode_Metrics/foot_lift", "mean foot lift, cm", 100.0, 3.0),
    Panel(LEVEL_TAG, "terrain level"),
    Panel("Curriculum/assist", "upright torque, share"),
    Panel("Train/mean_reward", "return"),
    Panel("Policy/mean_std", "action std"),
    Panel("Loss/amp_style_reward", "style reward"),
    Panel("Loss/teacher_disagreement", "distance to the teacher, squared"),
    Panel("Loss/recon_height_cm", "map error, cm"),
    Panel("Perf/total_fps", "samples per second"),
)
"""What `solo train curves` draws; goals are those of a teacher on flat ground."""


def draw_training(
    panels: Sequence[Panel],
    groups: Mapping[str, Sequence[Mapping[str, Line]]],
    output: Path,
    title: str,
) -> None:
    """Draw panels in rows of three, each with the curves of all groups.

    Panels that no run has a curve for are left out. A group is the seeds of one
    setting; each run has curves over millions of samples.
    """
    shown = [
        panel
        for panel in panels
        if any(panel.tag in run for runs in groups.values() for run in runs)
    ]
    rows = -(-len(shown) // 3)
    figure = Figure(figsize=(9.6, 2.3 * rows + 0.4), facecolor="white")
    figure.set_layout_engine("constrained")
    figure.suptitle(title, fontsize=11)
    for index, panel in enumerate(shown):
        axes = figure.add_subplot(rows, 3, index + 1)
        for number, (label, runs) in enumerate(groups.items()):
            lines = [run[panel.tag] for run in runs if panel.tag in run]
            lines = [(x, panel.factor * values) for x, values in lines]
            draw_lines(axes, lines, f"C{number}", label)
        if panel.goal is not None:
            axes.axhline(panel.goal, color="0.4", linestyle="--", linewidth=1.0)
        axes.set_title(panel.title, fontsize=9)
        if index >= len(shown) - 3:
            axes.set_xlabel("million samples", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.set_ylim(bottom=min(0.0, axes.dataLim.y0))
        _tidy(axes)
    if len(groups) > 1 and shown:
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower center", ncols=3, frameon=False,
            fontsize=9,
        )  # fmt: skip
    figure.savefig(output, dpi=130, format="png")


def draw_curriculum(
    groups: Mapping[str, Sequence[LevelCurve]], ceiling: float, output: Path
) -> None:
    """Draw the curriculum levels of several trainings in one figure.

    A group is the seeds of one setting; the mean saturates at the ceiling, a dashed
    line.
    """
    figure = Figure(figsize=(6.4, 4.0), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    for number, (label, curves) in enumerate(groups.items()):
        lines = [(np.array(c.iterations), np.array(c.levels)) for c in curves]
        draw_lines(axes, lines, f"C{number}", label)
    axes.axhline(ceiling, color="0.5", linestyle="--", linewidth=1.0)
    axes.set_xlabel("iteration")
    axes.set_ylabel("mean curriculum level")
    axes.set_ylim(bottom=0.0)
    _tidy(axes)
    axes.legend(frameon=False)
    figure.savefig(output, dpi=150, format="png")


def draw_lines(axes: Axes, lines: Sequence[Line], colour: str, label: str) -> None:
    """One run: all values, faint, under a smoothed line. Several: mean and range."""
    if not lines:
        axes.plot([], [], color=colour, label=label)
    elif len(lines) == 1:
        x, values = lines[0]
        axes.plot(x, values, color=colour, alpha=0.25, linewidth=0.7)
        axes.plot(x, smoothed(values), color=colour, linewidth=1.6, label=label)
    else:
        x, low, mean, high = band(lines)
        axes.fill_between(x, low, high, color=colour, alpha=0.25, linewidth=0.0)
        axes.plot(x, mean, color=colour, linewidth=1.6, label=label)


def band(
    lines: Sequence[Line],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Smallest, mean and largest smoothed value of several runs, where all have one.

    Returns:
        Places [N], and the three at each of them [N].
    """
    first = max(float(x[0]) for x, _ in lines)
    last = max(first, min(float(x[-1]) for x, _ in lines))
    places = np.linspace(first, last, _BAND_POINTS)
    values = np.array([np.interp(places, x, smoothed(v)) for x, v in lines])
    return places, values.min(axis=0), values.mean(axis=0), values.max(axis=0)


def smooth(values: Sequence[float] | np.ndarray, width: int) -> np.ndarray:
    """Mean over the last `width` values, fewer at the start."""
    sums = np.cumsum(np.concatenate([[0.0], values]))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - width, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)


def smoothed(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """`smooth` over a share of the curve; as docs/metrics.md says."""
    return smooth(values, max(1, round(_SMOOTH_SHARE * len(values))))


def _tidy(axes: Axes, grid: Literal["both", "y"] = "both") -> None:
    axes.grid(axis=grid, alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def draw_ablation(
    table: Mapping[str, Mapping[str, Sequence[float]]], output: Path
) -> None:
    """Draw a dot per seed, and mean and 95 % interval (Student) of each arm.

    Columns of single terrains, which begin with ``top/``, are left out; success is in
    percent.
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
            found = Mean.of(row[column])
            mean = found.mean
            assert mean is not None
            low, high = found.interval or (mean, mean)
            axes.errorbar(
                x + place,
                mean,
                [[mean - low], [high - mean]],
                fmt="s",
                color=f"C{index}",
                markersize=5,
                capsize=3,
                label=arm if x == 0 else None,
            )
            for value in row[column]:
                axes.plot(x + place, value, "o", color="0.3", markersize=2.5)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_xlim(-0.6, len(columns) - 0.4)
    _tidy(axes, "y")
