"""What disturbances cost: the stress test under one condition after the other."""

from __future__ import annotations

from collections.abc import Sequence

from solo.report import parts as ui
from solo.report.failures import gallery
from solo.report.figures import dots
from solo.report.read import ProtocolRun
from solo.report.stress import rate_point
from solo.results import MAP_ERROR, ConditionRow, Cost, Robustness

_WORDS = {
    "nominal": "nothing",
    "zeroed": "depth images black",
    "frozen": "depth frozen at the start",
    "shuffled": "depth of another robot",
    "pushed": "pushes",
}

Tested = tuple[ProtocolRun, Robustness]


def robustness_section(tested: Sequence[Tested], max_failures: int) -> ui.Section:
    """The conditions of all policies."""
    names = dict.fromkeys(row.name for _, r in tested for row in r.conditions)
    shown = [n for n in names if any(_row(r, n) is not None for _, r in tested)]
    spared = [condition_title(name) for name in names if name not in shown]
    notes = ["not in the paper"]
    if all(result.policy.get("kind") == "agent" for _, result in tested):
        notes.append("baseline agent, not trained")
    left_out = f"Left out, for lack of a camera: {', '.join(spared)}."
    parts = [
        ui.Badges(notes),
        _table(tested, shown),
        ui.Text(left_out) if spared else None,
        _figure(tested, shown),
        gallery([run for run, _ in tested], max_failures),
        ui.file_settings(run.file for run, _ in tested),
    ]
    intro = (
        "The terrains and starts of the stress test with something wrong: depth that "
        "is missing, late or someone else's, a camera that is not where it should be, "
        "pushes. The cost is the success lost against the same policy undisturbed."
    )
    heads = []
    for run, result in tested:
        costs = [
            (row.cost.success_points, row.name)
            for row in result.conditions
            if row.name != "nominal" and row.cost is not None
        ]
        if costs:
            points, worst = max(costs)
            lost = f"{-points:+.1f}".replace("-", "−") if abs(points) >= 0.05 else "0.0"
            ours = ui.Cell(f"{lost} points", condition_title(worst))
            what = "Robustness, costliest disturbance"
            heads.append(ui.Headline(what, run.label, ours, ui.quoted(None), notes))
    return ui.Section("robustness", "Robustness", intro, parts, heads)


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


def _row(result: Robustness, name: str) -> ConditionRow | None:
    for row in result.conditions:
        if row.name == name and row.is_applicable:
            return row
    return None


def _table(tested: Sequence[Tested], names: Sequence[str]) -> ui.Table:
    rows_of = [row for _, result in tested for row in result.conditions]
    has_map = any(row.measures.get(MAP_ERROR) is not None for row in rows_of)
    rows = []
    for name in names:
        cells: list[ui.Entry] = []
        for _, result in tested:
            row = _row(result, name)
            if row is None:
                cells += [ui.Cell("–", "no camera"), ui.NONE] + (
                    [ui.NONE] if has_map else []
                )
                continue
            cells += [ui.rate_cell(row.success), _cost(row.cost)]
            if has_map:
                error = row.measures.get(MAP_ERROR)
                cells.append(
                    ui.NONE if error is None else ui.Cell(f"{100 * error:.2f}")
                )
        rows.append(ui.Row(condition_title(name), cells))
    columns = [ui.Column("disturbance")]
    for run, _ in tested:
        columns.append(ui.Column(run.label, "success, %", series=run.series))
        columns.append(ui.Column("cost", "points"))
        columns += [ui.Column("map L1", "cm")] if has_map else []
    caption = "Success and its loss, with 95 % intervals (Wilson, Newcombe)"
    return ui.Table(caption, columns, rows)


def _cost(cost: Cost | None) -> ui.Cell:
    if cost is None:
        return ui.NONE
    small = None
    if cost.low is not None and cost.high is not None:
        small = ui.bounds(cost.low, cost.high, 1)
    return ui.Cell(f"{cost.success_points:.1f}", small)


def _figure(tested: Sequence[Tested], names: Sequence[str]) -> ui.Drawing:
    rows = {
        condition_title(name): [
            rate_point(run.series, row.success)
            for run, result in tested
            if (row := _row(result, name)) is not None and row.success is not None
        ]
        for name in names
    }
    title = "Success under each disturbance, percent"
    runs = [run for run, _ in tested]
    note = "Lines are 95 % intervals."
    level = None
    nominal = rows.get("nothing")
    if nominal and len(tested) == 1:
        level, note = nominal[0].value, f"{note} Dashed: the undisturbed policy."
    drawn = [dots(title, rows, {}, "success, %", level)]
    return ui.Drawing(title, drawn, note, ui.legend(runs))
