"""The page: what was evaluated, the numbers people look for, then every protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from solo import __version__
from solo.files import written_aside
from solo.report.bench import bench_section
from solo.report.curriculum import curriculum_section
from solo.report.extent import extent_section
from solo.report.levels import levels_section
from solo.report.markup import Html, el, join
from solo.report.read import Result, read_results
from solo.report.recon import recon_section
from solo.report.robustness import robustness_section
from solo.report.route import route_section
from solo.report.runs import Run, find_runs
from solo.report.section import Headline, Section
from solo.report.stress import stress_section
from solo.report.strips import course_section, isolated_section, jobs_section
from solo.report.style import STYLE
from solo.report.tables import Cell, Column, Entry, Row, badge, soften, table

MAX_FAILURES = 12
"""Strips of failures of each protocol that are put into the page."""

_META = (
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark">'
    '<link rel="icon" href="data:,">'
)
"""For small screens; and an empty icon, which browsers ask for otherwise."""


@dataclass(frozen=True)
class Page:
    """A page and what it was made of."""

    html: str
    results: Sequence[Result]
    sections: Sequence[Section]


def write_report(
    paths: Sequence[Path],
    output: Path,
    title: str = "SOLO evaluation report",
    max_failures: int = MAX_FAILURES,
) -> Page:
    """Draw result files as one page.

    Args:
        paths: Files, or folders with a ``result.json``.
        output: File to write.
        title: Of the page.
        max_failures: Strips of failures per protocol.

    Raises:
        SoloError: A file is not a result, or the page cannot be written.
    """
    page = make_page(read_results(paths), title, max_failures)
    with written_aside(output) as unfinished:
        unfinished.write_text(page.html, encoding="utf-8")
    return page


def make_page(
    results: Sequence[Result], title: str, max_failures: int = MAX_FAILURES
) -> Page:
    """The page of some results."""
    runs = find_runs(results)
    sections = make_sections(results, runs, max_failures)
    body = [_header(title, results, sections), *map(_draw, sections), _footer(results)]
    head = el(
        "head",
        el("meta", charset="utf-8"),
        Html(_META),
        el("title", title),
        el("style", Html(STYLE)),
    )
    document = el("html", head, el("body", el("main", *body)), lang="en")
    return Page(f"<!doctype html>\n{document}\n", results, sections)


def make_sections(
    results: Sequence[Result], runs: dict[str, list[Run]], max_failures: int
) -> list[Section]:
    """One section per protocol, the paper's order first."""

    def of(kind: str) -> list[Result]:
        return [result for result in results if result.kind == kind]

    sections = []
    if "stress" in runs:
        sections.append(stress_section(runs["stress"], max_failures))
    if of("recon"):
        sections.append(recon_section(of("recon")))
    if "extent" in runs:
        sections.append(extent_section(runs["extent"], max_failures))
    if of("curriculum"):
        sections.append(curriculum_section(of("curriculum")))
    if "levels" in runs:
        sections.append(levels_section(of("levels"), runs["levels"], max_failures))
    if "isolated" in runs:
        sections.append(isolated_section(runs["isolated"], max_failures))
    if "course" in runs:
        sections.append(course_section(runs["course"], max_failures))
    if "route" in runs:
        sections.append(route_section(runs["route"], max_failures))
    disturbed = [r for r in of("robustness") if "conditions" in r.data]
    if disturbed:
        colors = {run.label: run.series for found in runs.values() for run in found}
        sections.append(robustness_section(disturbed, colors, max_failures))
    known = {"stress", "extent", "levels", "isolated", "course", "route"}
    for kind, found in runs.items():
        if kind not in known:
            sections.append(jobs_section(kind, found, max_failures))
    benches = [result for result in results if result.kind.startswith("bench ")]
    if benches:
        sections.append(bench_section(benches))
    return sections


def _header(title: str, results: Sequence[Result], sections: Sequence[Section]) -> Html:
    made = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    lead = el(
        "p",
        "Results of the open implementation beside the numbers of the paper ",
        el("cite", "SOLO: Stable Omni-terrain Long-Horizon Perceptive Humanoid "
           "Locomotion"),
        ". Ours is a Unitree G1 simulated with MuJoCo; the paper's is the Omni "
        "robot in Isaac Lab and on hardware. A dash is a number that does not exist.",
        class_="lead",
    )  # fmt: skip
    links = [el("a", s.title, href=f"#{s.anchor}") for s in sections]
    return el(
        "header",
        el("h1", title),
        lead,
        el("p", f"{len(results)} result files, drawn {made} by solo {__version__}.",
           class_="muted"),
        el("nav", *links, attributes={"aria-label": "sections"}),
        _headline_table(sections),
    )  # fmt: skip


def _headline_table(sections: Sequence[Section]) -> Html | None:
    """The one table that people look for: a number, whose, ours, the paper's."""
    rows: list[Row] = []
    for section in sections:
        groups: dict[str, list[Headline]] = {}
        for head in section.headlines:
            groups.setdefault(head.what, []).append(head)
        for heads in groups.values():
            rows += _headline_rows(section, heads)
    if not rows:
        return None
    columns = [
        Column("number"),
        Column("whose", style="whose"),
        Column("ours"),
        Column("paper", None, True),
        Column("scale of ours", style="scale"),
    ]
    caption = "At a glance: ours with 95 % intervals, or ± standard deviation"
    return el("div", table(caption, columns, rows), class_="glance")


def _headline_rows(section: Section, heads: Sequence[Headline]) -> list[Row]:
    """One row per policy; what they share stands once."""
    first, count = heads[0], len(heads)
    link = el("a", first.what, href=f"#{section.anchor}")
    rows = []
    for index, head in enumerate(heads):
        cells: list[Entry] = [
            Cell(soften(head.whose), style="whose"),
            replace(_unbroken(head.ours), style="ours"),
        ]
        if any(h.paper != first.paper for h in heads):
            cells.append(_unbroken(head.paper))
        elif index == 0:
            cells.append(replace(_unbroken(head.paper), rows=count))
        if any(h.notes != first.notes for h in heads):
            cells.append(_scale(head))
        elif index == 0:
            cells.append(replace(_scale(head), rows=count))
        rows.append(Row(Cell(link, rows=count) if index == 0 else None, cells))
    return rows


def _unbroken(cell: Cell) -> Cell:
    """The cell with its number and unit in one line."""
    main = cell.main
    if isinstance(main, str) and not isinstance(main, Html):
        main = main.replace(" ", "\N{NO-BREAK SPACE}")
    return replace(cell, main=main)


def _scale(head: Headline) -> Cell:
    if not head.notes:
        return Cell("the paper's", style="scale")
    return Cell(join([badge(note) for note in head.notes], " "), style="scale")


def _draw(section: Section) -> Html:
    return el(
        "section",
        el("h2", section.title),
        el("p", section.intro),
        *section.parts,
        id=section.anchor,
    )


def _footer(results: Sequence[Result]) -> Html:
    rows = [
        Row(el("code", str(result.path)), [result.kind, el("code", result.sha256)])
        for result in results
    ]
    inner = table("Files", ["file", "kind", "sha256"], rows, kind="text")
    return el("footer", el("h2", "What this page was drawn from"), inner)
