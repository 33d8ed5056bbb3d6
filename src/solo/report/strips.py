"""The real-world terrains in simulation: seven alone, and the indoor course."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from solo.report import paper
from solo.report.check import is_number
from solo.report.jobs import causes_table, plain_success_table, success_figure
from solo.report.markup import Html
from solo.report.pictures import gallery
from solo.report.runs import Run, success_cell, summary_success, terrain_title
from solo.report.scale import run_notes, scale_notes
from solo.report.section import Headline, Section, settings
from solo.report.svg import Mark
from solo.report.tables import NONE, Cell, Column, Row, badges, table

_HARDWARE = "simulation (paper: hardware)"
_TITLES = {name: title for name, (title, _) in paper.ISOLATED.items()}


def isolated_section(runs: Sequence[Run], max_failures: int) -> Section:
    """The seven isolated terrains beside the paper's ten trials on hardware."""
    quoted = {
        name: Mark(0, successes / paper.ISOLATED_TRIALS, f"paper: {successes} of 10")
        for name, (_, successes) in paper.ISOLATED.items()
    }
    passed, trials = paper.ISOLATED_TOTAL
    quoted["mean"] = Mark(0, passed / trials, f"paper: {passed} of {trials}")
    parts = [
        badges([_HARDWARE, *scale_notes("isolated", runs)]),
        _isolated_table(runs),
        success_figure(runs, quoted, "paper, hardware", _TITLES),
        *_progress(runs),
        causes_table(runs, _TITLES),
        gallery(runs, max_failures),
        settings(runs),
    ]
    intro = (
        "The terrains of the paper's hardware trials, built in simulation; success is "
        "to cross the finish line behind the terrain without a fall."
    )
    heads = [
        Headline(
            "Isolated terrains, success",
            run.label,
            success_cell(summary_success(run)),
            Cell(f"{passed} of {trials}", "hardware", True),
            [_HARDWARE, *run_notes("isolated", run)],
        )
        for run in runs
    ]
    return Section("isolated", "Isolated real-world terrains", intro, parts, heads)


def course_section(runs: Sequence[Run], max_failures: int) -> Section:
    """The indoor course."""
    parts = [
        badges([_HARDWARE, *scale_notes("course", runs)]),
        plain_success_table(
            "Runs over the whole course, with the 95 % Wilson interval; the paper "
            "shows one run without a reset",
            runs,
        ),
        *_progress(runs),
        causes_table(runs),
        gallery(runs, max_failures),
        settings(runs),
    ]
    intro = (
        "One way over 15 cm stairs up, 20 cm and 30 cm stones, a 45 cm gap, stairs "
        "down and a movable obstacle."
    )
    heads = [
        Headline(
            "Indoor course, whole course",
            run.label,
            success_cell(summary_success(run)),
            Cell("1 run", "without a reset, hardware", True),
            [_HARDWARE, *run_notes("course", run)],
        )
        for run in runs
    ]
    return Section("course", "Indoor mixed course", intro, parts, heads)


def jobs_section(kind: str, runs: Sequence[Run], max_failures: int) -> Section:
    """An evaluation that the paper does not have."""
    parts = [
        badges(scale_notes(kind, runs)),
        plain_success_table("Success with the 95 % Wilson interval", runs),
        success_figure(runs, {}),
        *_progress(runs),
        causes_table(runs),
        gallery(runs, max_failures),
        settings(runs),
    ]
    heads = [
        Headline(
            f"{kind}, success",
            run.label,
            success_cell(summary_success(run)),
            Cell("–", None, True),
            run_notes(kind, run),
        )
        for run in runs
    ]
    intro = "The paper has no experiment of this name; ours stands alone."
    anchor = "".join(c if c.isalnum() and c.isascii() else "-" for c in kind)
    return Section(f"jobs-{anchor}", kind, intro, parts, heads)


def _isolated_table(runs: Sequence[Run]) -> Html:
    names = dict.fromkeys([*paper.ISOLATED, *(n for run in runs for n in run.by_row)])
    rows = []
    for name in names:
        title, successes = paper.ISOLATED.get(name, (terrain_title(name), None))
        found = [run.by_row.get(name) for run in runs]
        cells = [success_cell(c["success"]) if c else NONE for c in found]
        quote = "–" if successes is None else f"{successes}/{paper.ISOLATED_TRIALS}"
        rows.append(Row(title, [*cells, Cell(quote, None, True)]))
    overall = [success_cell(summary_success(run)) for run in runs]
    total = Cell("{}/{}".format(*paper.ISOLATED_TOTAL), None, True)
    rows.append(Row("overall", [*overall, total], total=True))
    columns = [
        Column("terrain"),
        *(run.column for run in runs),
        Column("SOLO", "paper, hardware", True),
    ]
    caption = "Success with the 95 % Wilson interval, percent, and trials"
    return table(caption, columns, rows, "tab:real-success")


def _progress(runs: Sequence[Run]) -> list[Html]:
    """How far trials came, for jobs that have several elements on their way."""
    tables = []
    for run in runs:
        rows = []
        for cell in run.cells:
            elements = _elements(cell)
            if len(elements) < 2:
                continue
            trials = round(cell["success"]["rollouts"])
            for number, element in enumerate(elements):
                head = Cell(
                    terrain_title(str(element.get("name", number + 1))),
                    terrain_title(cell.get("terrain", cell["name"])),
                )
                counts = (element["reached"], element["passed"])
                rows.append(Row(head, [f"{n:g} of {trials}" for n in counts]))
        if rows:
            caption = f"How many trials of {run.label} came to each element"
            tables.append(table(caption, ["element", "reached", "passed"], rows))
    return tables


def _elements(cell: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Elements of a job with counts; none if the file has none."""
    elements = cell.get("elements")
    if not isinstance(elements, list):
        return []
    keys = ("reached", "passed")
    return [
        element
        for element in elements
        if isinstance(element, dict) and all(is_number(element.get(k)) for k in keys)
    ]
