"""The page: a verdict, the numbers people look for, then every protocol."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from solo import __version__
from solo.files import written_aside
from solo.report import bench, levels, recon, robustness, stress, strips
from solo.report.extent import extent_section
from solo.report.failures import gallery
from solo.report.parts import NUM_COLOURS, Headline, Section, settings
from solo.report.read import ResultFile, Run, find_runs, robustness_runs
from solo.result_files import Bench
from solo.results import Curriculum, Reconstruction

MAX_FAILURES = 12
"""Failures of each protocol that are put into the page."""
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")


@dataclass(frozen=True)
class Page:
    """A page and what it was made of."""

    html: str
    files: Sequence[ResultFile]
    sections: Sequence[Section]
    unfinished: Sequence[Path] = ()
    """Folders of evaluations that were left out."""


def write_report(
    files: Sequence[ResultFile],
    output: Path,
    title: str = "SOLO evaluation report",
    max_failures: int = MAX_FAILURES,
    unfinished: Sequence[Path] = (),
) -> Page:
    """Draw results as one page.

    Args:
        files: From `solo.report.read.read_results`.
        output: File to write.
        title: Of the page.
        max_failures: Failures per protocol.
        unfinished: Folders of evaluations that were left out.

    Raises:
        SoloError: The page cannot be written.
    """
    page = make_page(files, title, max_failures, unfinished)
    with written_aside(output) as aside:
        aside.write_text(page.html, encoding="utf-8", errors="replace")
    return page


def make_page(
    files: Sequence[ResultFile],
    title: str,
    max_failures: int = MAX_FAILURES,
    unfinished: Sequence[Path] = (),
) -> Page:
    """The page of some results."""
    sections = make_sections(files, max_failures)
    groups: dict[tuple[str, str], list[Headline]] = {}
    for section in sections:
        for head in section.headlines:
            groups.setdefault((section.anchor, head.what), []).append(head)
    environment = Environment(
        loader=PackageLoader("solo.report"), autoescape=True, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["soft"] = _soften
    html = environment.get_template("page.html").render(
        title=title,
        version=__version__,
        made=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        verdict=verdict([head for heads in groups.values() for head in heads]),
        groups=[(anchor, heads) for (anchor, _), heads in groups.items()],
        sections=sections,
        files=files,
        unfinished=unfinished,
        num_colours=NUM_COLOURS,
    )
    html = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", html)
    return Page(html, files, sections, unfinished)


def _soften(name: str) -> Markup:
    """Let a long name break where its parts meet."""
    return Markup("<wbr>").join(escape(p) for p in re.split(r"(?<=[/_])", str(name)))


def make_sections(files: Sequence[ResultFile], max_failures: int) -> list[Section]:
    """One section per protocol, the paper's order first."""
    runs = find_runs(files)
    tested = robustness_runs(files, runs)
    known = {
        "stress": stress.stress_section,
        "extent": extent_section,
        "levels": levels.levels_section,
        "isolated": strips.isolated_section,
        "course": strips.course_section,
        "route": strips.route_section,
    }
    walked = {
        name: _with_failures(known[name](runs[name]), runs[name], max_failures)
        for name in known
        if name in runs
    }
    others = [
        _with_failures(strips.other_section(name, found), found, max_failures)
        for name, found in runs.items()
        if name not in known
    ]
    compared, curves, benches = (
        [file for file in files if isinstance(file.result, kind)]
        for kind in (Reconstruction, Curriculum, Bench)
    )
    sections = [
        walked.get("stress"),
        recon.recon_section(compared) if compared else None,
        walked.get("extent"),
        levels.curriculum_section(curves) if curves else None,
        *(walked.get(name) for name in ("levels", "isolated", "course", "route")),
        robustness.robustness_section(tested, max_failures) if tested else None,
        *others,
        bench.bench_section(benches) if benches else None,
    ]
    return [section for section in sections if section is not None]


def _with_failures(section: Section, runs: Sequence[Run], most: int) -> Section:
    """A section with what every protocol ends with: failures, and settings."""
    return replace(section, parts=[*section.parts, gallery(runs, most), settings(runs)])


def verdict(heads: Sequence[Headline]) -> str:
    """One sentence: in how many numbers ours are as good as the paper's.

    A number is worse if the paper's is outside our interval, or if there is none.
    """
    scored = [(head, head.score) for head in heads if head.score is not None]
    if not scored:
        return "No number here can be set against one of the paper."
    good, open_, worse = [], 0, []
    for head, score in scored:
        sign = 1.0 if score.more_is_better else -1.0
        if sign * (score.value - score.paper) >= 0.0:
            good.append(head)
        elif score.bound is not None and sign * (score.bound - score.paper) >= 0.0:
            open_ += 1
        else:
            top, bottom = max(score.value, score.paper), min(score.value, score.paper)
            worse.append((1.0 - bottom / top, head))
    words = [f"as good as the paper's in {len(good)} of {len(scored)} numbers"]
    words += [f"worse in {len(worse)}"] if worse else []
    words += [f"too few rollouts to tell in {open_}"] if open_ else []
    sentence = f"Ours is {', '.join(words)}"
    if worse:
        head = max(worse, key=lambda pair: pair[0])[1]
        ours, said = head.ours.main, head.paper.main
        sentence += f"; farthest behind: {head.what} of {head.whose}, {ours} "
        sentence += f"against {said}"
    reduced = sum(bool(head.notes) for head, _ in scored)
    if reduced:
        sentence += f" ({reduced} of {len(scored)} not at the paper's scale)"
    return f"{sentence}."
