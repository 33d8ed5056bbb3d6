"""Curriculum levels of trainings over their iterations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from solo.report import paper
from solo.report.charts import Axes, curve_chart
from solo.report.markup import Html
from solo.report.numbers import quantity
from solo.report.read import Result
from solo.report.section import (
    Headline,
    Section,
    figure,
    folded,
    panels,
    settings_table,
)
from solo.report.svg import Curve
from solo.report.tables import Cell, Column, Row, badges, table

_SOURCE = "fig:distill-curve"
_SMOOTH_SHARE = 0.02
"""Share of a run that a point of its line averages over; as docs/metrics.md says."""
_MAX_POINTS = 240


def curriculum_section(results: Sequence[Result]) -> Section:
    """All runs of all files in one figure."""
    runs = [run for result in results for run in result.data["runs"]]
    parts: list[Html | None] = [
        badges(_notes(runs)),
        _table(runs),
        _figure(runs),
        folded(
            "Settings of these numbers",
            [settings_table(r.path.name, r.data, r) for r in results],
        ),
    ]
    intro = (
        "Mean curriculum level of all robots during training. Robots that solve the "
        f"top level start again at a random one, so the mean saturates at about "
        f"{paper.CURRICULUM_CEILING}."
    )
    heads = [
        Headline(
            "Curriculum, final level",
            run["name"],
            Cell(f"{run['final_level']:.2f}", "mean of the last tenth"),
            Cell(*_quote(run["name"]), paper=True),
            _notes([run]),
        )
        for run in runs
    ]
    return Section("curriculum", "Curriculum progress", intro, parts, heads)


def method_of(name: str) -> str | None:
    """The paper's objective that a run is named after, if its name tells."""
    plain = name.lower().replace("_", "-").replace("+", "-").replace(" ", "-")
    for words, method in (
        (("ta-mse", "tamse"), "TA-MSE"),
        (("mse-ppo", "d-ppo"), "MSE+PPO"),
        (("ppo",), "PPO"),
    ):
        if any(word in plain for word in words):
            return method
    return None


def _quote(name: str) -> tuple[str, str | None]:
    method = method_of(name)
    if method is None:
        return "–", None
    return paper.CURRICULUM[method], method


def _notes(runs: Sequence[dict[str, Any]]) -> list[str]:
    counts = {round(run["iterations"][-1]) + 1 for run in runs}
    if counts == {paper.CURRICULUM_ITERATIONS}:
        return []
    shown = " to ".join(f"{c:,}" for c in sorted({min(counts), max(counts)}))
    return [f"{shown} iterations (paper: {paper.CURRICULUM_ITERATIONS:,})"]


def _table(runs: Sequence[dict[str, Any]]) -> Html:
    rows = [
        Row(
            run["name"],
            [
                f"{run['final_level']:.2f}",
                f"{run['highest_level']:.2f}",
                quantity(round(run["iterations"][-1]) + 1),
                Cell(*_quote(run["name"]), paper=True),
            ],
        )
        for run in runs
    ]
    named = {method_of(run["name"]) for run in runs}
    for method, quote in paper.CURRICULUM.items():
        if method not in named:
            rows.append(Row(method, ["–", "–", "–", Cell(quote, None, True)]))
    columns = [
        Column("run"),
        Column("final level", "last tenth"),
        Column("highest"),
        Column("iterations"),
        Column("plateau", "paper", True),
    ]
    return table("Mean curriculum level", columns, rows, _SOURCE)


def _figure(runs: Sequence[dict[str, Any]]) -> Html:
    curves = []
    for number, run in enumerate(runs):
        xs, ys = smooth(run["iterations"], run["levels"])
        curves.append(Curve(number, run["name"], xs, ys, has_markers=False))
    axes = Axes(
        "Curriculum level over iterations",
        "iteration",
        "mean level",
        level=(paper.CURRICULUM_CEILING, f"ceiling {paper.CURRICULUM_CEILING}"),
    )
    return figure(
        "Mean curriculum level over iterations",
        panels([curve_chart(axes, curves)]),
        note="Each point is the mean over the last 2 % of the run up to it.",
    )


def smooth(
    xs: Sequence[float], levels: Sequence[float]
) -> tuple[list[float], list[float]]:
    """The running mean of a curve, at so few places that the page stays small."""
    width = max(1, round(_SMOOTH_SHARE * len(levels)))
    sums = [0.0]
    for level in levels:
        sums.append(sums[-1] + level)
    step = max(1, -(-len(levels) // _MAX_POINTS))
    ends = list(range(step, len(levels) + 1, step))
    if ends[-1:] != [len(levels)]:
        ends.append(len(levels))
    starts = [max(end - width, 0) for end in ends]
    means = [(sums[e] - sums[s]) / (e - s) for s, e in zip(starts, ends, strict=True)]
    return [xs[end - 1] for end in ends], means
