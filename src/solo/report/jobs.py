"""Parts that every evaluation of jobs has: success, causes, measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from solo.report import paper
from solo.report.charts import strip
from solo.report.markup import Html, el, join
from solo.report.numbers import percent, percent_interval
from solo.report.runs import (
    Run,
    legend,
    measure_cell,
    row_names,
    success_cell,
    summary_success,
    terrain_title,
)
from solo.report.section import figure, panels
from solo.report.svg import Bar, Mark, bar_panel
from solo.report.tables import NONE, Cell, Column, Entry, Row, table

OUTCOMES = {
    "success": "success",
    "fall": "fall",
    "time_out": "late",
    "left_patch": "left the patch",
    "diverged": "physics broke down",
}
"""Outcome of a rollout to what it is called on the page."""


def make_bar(run: Run, rate: Mapping[str, Any], where: str) -> Bar:
    """The bar of a success rate."""
    counts = f"{rate.get('successes', '?')} of {rate['rollouts']}"
    tip = f"{run.label}, {where}: {percent(rate)} {percent_interval(rate)}, {counts}"
    label = f"{100 * rate['rate']:.0f}"
    return Bar(run.series, rate["rate"], rate["low"], rate["high"], label, tip)


def success_figure(
    runs: Sequence[Run],
    quoted: Mapping[str, Mark],
    paper_name: str = "paper",
    titles: Mapping[str, str] = paper.TERRAINS,
) -> Html:
    """One panel of bars per terrain, and one for all.

    Args:
        runs: Whose bars.
        quoted: Row to the paper's number; ``mean`` for all terrains.
        paper_name: Of the paper's numbers in the legend.
        titles: Row to its name, in the order of the panels.
    """
    drawn = []
    for name in row_names(runs, titles):
        title = terrain_title(name, titles)
        cells = [(run, run.by_row.get(name)) for run in runs]
        bars = [make_bar(run, c["success"], title) for run, c in cells if c is not None]
        drawn.append(_panel(title, bars, quoted.get(name)))
    rates = [(run, summary_success(run)) for run in runs]
    bars = [make_bar(run, rate, "all terrains") for run, rate in rates if rate]
    if bars and len(drawn) > 1:
        drawn.append(_panel("All", bars, quoted.get("mean")))
    return figure(
        "Success by terrain, percent",
        legend(runs, paper_name if quoted else ""),
        panels(drawn),
        note="Whiskers are 95 % Wilson intervals.",
    )


def _panel(name: str, bars: Sequence[Bar], mark: Mark | None) -> Html:
    note = "; ".join(bar.tip for bar in bars)
    return bar_panel(name, bars, [mark] if mark else [], note)


def causes_table(
    runs: Sequence[Run], titles: Mapping[str, str] = paper.TERRAINS
) -> Html:
    """How the rollouts of each job ended, and how well the command was followed."""
    known = dict.fromkeys(o for run in runs for c in run.cells for o in c["outcomes"])
    outcomes = [o for o in (*OUTCOMES, *known) if o in known]
    outcomes = [o for o in dict.fromkeys(outcomes) if _occurs(runs, o)]
    rows = []
    for name in row_names(runs, titles):
        cells: list[Entry] = []
        for run in runs:
            cell = run.by_row.get(name)
            if cell is None:
                cells += [NONE, NONE]
                continue
            parts = [
                (_style(o), OUTCOMES.get(o, o), round(cell["outcomes"].get(o, 0)))
                for o in outcomes
            ]
            failed = [f"{n} {title}" for _, title, n in parts[1:] if n]
            small = ", ".join(failed) or "no failure"
            cells.append(Cell(strip(parts), small))
            cells.append(measure_cell(cell, "velocity_error", 1.0, 2))
        rows.append(Row(terrain_title(name, titles), cells))
    columns = [Column("terrain")]
    for run in runs:
        columns.append(run.column)
        columns.append(Column("velocity error", "m/s"))
    keys = [
        el("li", el("i", class_=f"swatch {_style(o)}"), OUTCOMES.get(o, o))
        for o in outcomes
    ]
    caption = "How rollouts ended, and velocity error with the interval of its mean"
    return join([table(caption, columns, rows), el("ul", *keys, class_="legend")])


def _style(outcome: str) -> str:
    return f"outcome-{outcome if outcome in OUTCOMES else 'other'}"


def _occurs(runs: Sequence[Run], outcome: str) -> bool:
    found = [cell["outcomes"].get(outcome) for run in runs for cell in run.cells]
    return outcome == "success" or any(found)


def plain_success_table(caption: str, runs: Sequence[Run]) -> Html:
    """Success of each job where the paper has nothing to compare with."""
    rows = []
    for name in row_names(runs):
        found = [run.by_row.get(name) for run in runs]
        cells = [success_cell(c["success"]) if c else NONE for c in found]
        rows.append(Row(terrain_title(name), cells))
    overall = [success_cell(summary_success(run)) for run in runs]
    rows.append(Row("all", overall, total=True))
    return table(caption, [Column("job"), *(run.column for run in runs)], rows)
