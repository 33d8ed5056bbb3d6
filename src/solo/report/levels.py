"""Ten levels of every terrain, and the seed-paired comparison of two sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from solo.report import paper
from solo.report.charts import shaded_grid
from solo.report.markup import Html
from solo.report.numbers import signed, spread
from solo.report.pictures import gallery
from solo.report.read import Result
from solo.report.runs import Run, success_cell, terrain_title
from solo.report.scale import run_notes, scale_notes
from solo.report.section import Headline, Section, figure, panels, settings
from solo.report.tables import (
    NONE,
    PAPER_SILENT,
    Cell,
    Column,
    Row,
    badges,
    table,
)

_SOURCE = "tab:reduced-compute-tamse"
_GROUPS = {
    "easy": "Easy, levels 0–3",
    "medium": "Medium, levels 4–6",
    "hard": "Hard, levels 7–9",
}
_MAX_GRIDS = 6


def levels_section(
    results: Sequence[Result], runs: Sequence[Run], max_failures: int
) -> Section:
    """Everything of one or more evaluations of levels."""
    notes = scale_notes("levels", runs)
    pairs = [result for result in results if result.data.get("paired")]
    scale = paper.SCALES["levels"]
    for result in pairs:
        count = len(result.data["first"])
        if count != scale.num_seeds:
            notes.append(f"pairs of policies: {count} (paper: {scale.num_seeds} seeds)")
    parts: list[Html | None] = [badges(notes)]
    parts += [_paired_table(result, runs) for result in pairs]
    parts.append(_policy_table(runs))
    parts.append(_grids(runs))
    parts += [gallery(runs, max_failures), settings(runs)]
    intro = (
        "Ten levels of every training terrain. Easy, medium and hard pool all "
        "terrains; level 9 is shown by terrain."
    )
    alone = [run for run in runs if run.result not in pairs]
    heads = [head for run in alone for head in _headlines(run)]
    for result in pairs:
        heads += _paired_headlines(result, notes)
    return Section("levels", "Ten levels of every terrain", intro, parts, heads)


def quote_of(column: str, method: str) -> paper.Spread | None:
    """The paper's number for a column of ours."""
    name = column.removeprefix("top/")
    name = paper.ABLATION_TERRAINS.get(name, name) if name != column else column
    return paper.ABLATION[method].get(name)


def column_title(column: str) -> Cell:
    """Name of a column of the ablation, with what the paper's number covers."""
    if column in _GROUPS:
        return Cell(_GROUPS[column])
    terrain = column.removeprefix("top/")
    small = None
    if terrain.startswith("stones_"):
        small = "the paper's is both stone variants"
    elif terrain.startswith("rough_"):
        small = "the paper does not say which"
    return Cell(f"{terrain_title(terrain)}, level 9", small)


def _ordered(columns: Iterable[str]) -> list[str]:
    """What the paper has comes first."""
    found = list(columns)
    quoted = [name for name in found if quote_of(name, "TA-MSE") is not None]
    return [*quoted, *(name for name in found if name not in quoted)]


def _headlines(run: Run) -> list[Headline]:
    rate = run.data["aggregates"].get("hard")
    if rate is None:
        return []
    quote = quote_of("hard", "TA-MSE")
    assert quote is not None
    shown = Cell(f"{spread(quote.mean, quote.std, 2)} %", "TA-MSE, 3 seeds", True)
    ours = success_cell(rate)
    notes = run_notes("levels", run)
    return [Headline("Hard levels, success", run.label, ours, shown, notes)]


def _paired_headlines(result: Result, notes: Sequence[str]) -> list[Headline]:
    side = result.data["paired"].get("hard")
    if side is None:
        return []
    quote = quote_of("hard", "difference")
    assert quote is not None
    shown = f"{signed(quote.mean, quote.std, 2)} pp"
    found = side["difference"]
    ours = Cell(f"{signed(found['mean'], found.get('std'), 2)} pp", "second − first")
    return [
        Headline(
            "Hard levels, paired difference",
            f"pairs: {len(result.data['first'])}",
            ours,
            Cell(shown, "TA-MSE − MSE+PPO", True),
            notes,
        )
    ]


def _paired_table(result: Result, runs: Sequence[Run]) -> Html:
    """The paper's ablation: both sets and their difference, beside the paper's."""
    here = [run for run in runs if run.result is result]
    names = {
        side: ", ".join(run.label for run in here if run.side == side)
        for side in ("first", "second")
    }
    rows = []
    for column in _ordered(result.data["paired"]):
        sides = result.data["paired"][column]
        cells = [_mean_cell(sides["first"]), _mean_cell(sides["second"])]
        cells.append(Cell(_signed_of(sides["difference"])))
        for method in paper.ABLATION:
            quote = quote_of(column, method)
            if quote is None:
                cells.append(PAPER_SILENT)
                continue
            form = signed if method == "difference" else spread
            cells.append(Cell(form(quote.mean, quote.std, 2), None, True))
        rows.append(Row(column_title(column), cells))
    columns = [
        Column("levels"),
        Column("first", names["first"]),
        Column("second", names["second"]),
        Column("second − first", "points"),
        Column("MSE+PPO", "paper", True),
        Column("TA-MSE", "paper", True),
        Column("difference", "paper, points", True),
    ]
    caption = (
        "Success, percent: mean ± standard deviation over policies; differences are "
        "taken pair by pair"
    )
    return table(caption, columns, rows, _SOURCE)


def _mean_cell(value: Mapping[str, Any]) -> Cell:
    return Cell(spread(value["mean"], value.get("std"), 2))


def _signed_of(value: Mapping[str, Any]) -> str:
    return signed(value["mean"], value.get("std"), 2)


def _policy_table(runs: Sequence[Run]) -> Html:
    """Each policy by itself, with intervals."""
    names = dict.fromkeys(name for run in runs for name in run.data["aggregates"])
    rows = []
    for name in _ordered(names):
        found = [run.data["aggregates"].get(name) for run in runs]
        cells = [NONE if rate is None else success_cell(rate) for rate in found]
        for method in ("MSE+PPO", "TA-MSE"):
            quote = quote_of(name, method)
            cell = PAPER_SILENT
            if quote is not None:
                cell = Cell(spread(quote.mean, quote.std, 2), None, True)
            cells.append(cell)
        rows.append(Row(column_title(name), cells))
    columns = [
        Column("levels"),
        *(run.column for run in runs),
        Column("MSE+PPO", "paper, 3 seeds", True),
        Column("TA-MSE", "paper, 3 seeds", True),
    ]
    caption = "Success of each policy with the 95 % Wilson interval, percent"
    return table(caption, columns, rows, _SOURCE)


def _grids(runs: Sequence[Run]) -> Html:
    """Success of every job: terrain by level, one drawing per policy."""
    drawn = []
    for run in runs[:_MAX_GRIDS]:
        levels = sorted({round(cell.get("level") or 0) for cell in run.cells})
        rows: dict[str, list[float | None]] = {}
        for cell in run.cells:
            name = terrain_title(cell.get("terrain", cell["name"]))
            row = rows.setdefault(name, [None] * len(levels))
            row[levels.index(round(cell.get("level") or 0))] = cell["success"]["rate"]
        drawn.append(shaded_grid(run.label, [str(k) for k in levels], rows, "level"))
    note = None
    if len(runs) > _MAX_GRIDS:
        note = f"The first {_MAX_GRIDS} of {len(runs)} policies."
    return figure("Success by terrain and level, percent", panels(drawn), note=note)
