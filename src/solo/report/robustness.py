"""What disturbances cost: the stress test under one condition after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from solo.report.check import is_number
from solo.report.markup import Html
from solo.report.numbers import interval, percent, percent_interval
from solo.report.pictures import gallery
from solo.report.read import Result
from solo.report.runs import Run, success_cell
from solo.report.section import (
    Headline,
    Section,
    figure,
    folded,
    panels,
    paragraph,
    settings_table,
)
from solo.report.spans import Span, span_chart
from solo.report.tables import NONE, Cell, Column, Entry, Row, badges, table

_MAP = "height_map_l1_m"
_WORDS = {
    "nominal": "nothing",
    "zeroed": "depth images black",
    "frozen": "depth frozen at the start",
    "shuffled": "depth of another robot",
    "pushed": "pushes",
}


def robustness_section(
    results: Sequence[Result], colors: Mapping[str, int], max_failures: int
) -> Section:
    """The conditions of all policies.

    Args:
        results: One per policy.
        colors: Label of a policy elsewhere on the page to its colour.
        max_failures: Strips of failures to show.
    """
    labels = _labels(results)
    colors = dict(colors)
    numbers = [colors.setdefault(label, len(colors)) for label in labels]
    names = dict.fromkeys(row["name"] for r in results for row in r.data["conditions"])
    conditions = [n for n in names if any(_row(r, n) is not None for r in results)]
    spared = [condition_title(name) for name in names if name not in conditions]
    notes = ["not in the paper"]
    if all(r.data["policy"].get("kind") == "agent" for r in results):
        notes.append("baseline agent, not trained")
    runs = [
        Run(f"{label}, {row['name']}", number, {**result.data, **row}, result,
            result.folder)
        for number, label, result in zip(numbers, labels, results, strict=True)
        for row in result.data["conditions"]
        if row.get("cells")
    ]  # fmt: skip
    parts: list[Html | None] = [
        badges(notes),
        _table(labels, numbers, results, conditions),
        paragraph(f"Left out, for lack of a camera: {', '.join(spared)}.")
        if spared
        else None,
        _figure(labels, numbers, results, conditions),
        gallery(runs, max_failures),
        folded(
            "Settings of these numbers",
            [
                settings_table(n, r.data, r)
                for n, r in zip(labels, results, strict=True)
            ],
        ),
    ]
    intro = (
        "The terrains and starts of the stress test with something wrong: depth that "
        "is missing, late or someone else's, a camera that is not where it should be, "
        "pushes. The cost is the success lost against the same policy undisturbed."
    )
    heads = []
    for label, result in zip(labels, results, strict=True):
        found = _row(result, "nominal")
        costs = [
            (row["cost"]["success_points"], row["name"])
            for row in result.data["conditions"]
            if row["name"] != "nominal"
            and is_number((row.get("cost") or {}).get("success_points"))
        ]
        if found is None or not costs:
            continue
        points, worst = max(costs)
        lost = f"{-points:+.1f}".replace("-", "−") if abs(points) >= 0.05 else "0.0"
        ours = Cell(f"{lost} points", condition_title(worst))
        what = "Robustness, costliest disturbance"
        quote = Cell("–", None, True)
        heads.append(Headline(what, label, ours, quote, notes))
    return Section("robustness", "Robustness", intro, parts, heads)


def condition_title(name: str) -> str:
    """A condition in words."""
    if name in _WORDS:
        return _WORDS[name]
    kind, _, amount = name.rpartition("_")
    if kind == "delayed" and amount.isdecimal():
        return f"depth {20 * int(amount)} ms late"
    if kind == "tilted" and amount.isdecimal():
        return f"camera tilted by {amount}°"
    return name.replace("_", " ")


def _labels(results: Sequence[Result]) -> list[str]:
    names = [result.data["policy"]["name"] for result in results]
    return [
        name if names.count(name) == 1 else f"{name}, {result.folder.name}"
        for name, result in zip(names, results, strict=True)
    ]


def _row(result: Result, name: str) -> dict[str, Any] | None:
    for row in result.data["conditions"]:
        if row["name"] == name and row.get("is_applicable") is not False:
            return row
    return None


def _table(
    labels: Sequence[str],
    numbers: Sequence[int],
    results: Sequence[Result],
    conditions: Sequence[str],
) -> Html:
    has_map = any(
        _MAP in (row.get("measures") or {})
        for result in results
        for row in result.data["conditions"]
    )
    rows = []
    for name in conditions:
        cells: list[Entry] = []
        for result in results:
            row = _row(result, name)
            if row is None:
                cells += [Cell("–", "no camera"), NONE] + ([NONE] if has_map else [])
                continue
            cells += [success_cell(row["success"]), _cost(row.get("cost") or {})]
            if has_map:
                error = (row.get("measures") or {}).get(_MAP)
                cells.append(Cell(f"{100 * error:.2f}") if is_number(error) else NONE)
        rows.append(Row(condition_title(name), cells))
    columns = [Column("disturbance")]
    for number, label in zip(numbers, labels, strict=True):
        columns.append(Column(label, "success, %", series=number))
        columns.append(Column("cost", "points"))
        if has_map:
            columns.append(Column("map L1", "cm"))
    caption = "Success and its loss, with 95 % intervals (Wilson, Newcombe)"
    return table(caption, columns, rows)


def _cost(cost: Mapping[str, Any]) -> Cell:
    points, low, high = (cost.get(k) for k in ("success_points", "low", "high"))
    if not is_number(points):
        return NONE
    small = None
    if is_number(low) and is_number(high):
        small = interval(low, high, 1)
    return Cell(f"{points:.1f}", small)


def _figure(
    labels: Sequence[str],
    numbers: Sequence[int],
    results: Sequence[Result],
    conditions: Sequence[str],
) -> Html:
    drawn = []
    for number, label, result in zip(numbers, labels, results, strict=True):
        spans = []
        for name in conditions:
            row = _row(result, name)
            if row is not None:
                rate = row["success"]
                title = condition_title(name)
                tip = f"{label}, {title}: {percent(rate)} {percent_interval(rate)}"
                values = (rate["rate"], rate["low"], rate["high"])
                spans.append(Span(title, *values, tip))
        nominal = _row(result, "nominal")
        level = None if nominal is None else nominal["success"]["rate"]
        if spans:
            drawn.append(span_chart(label, number, spans, level))
    note = "Points with 95 % intervals; the dashed line is the undisturbed policy."
    return figure("Success under each disturbance, percent", panels(drawn), note=note)
