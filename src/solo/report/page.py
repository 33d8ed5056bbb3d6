"""The page: a verdict, the numbers people look for, then every protocol."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from solo import __version__
from solo.files import written_aside
from solo.report import levels, paper, recon, robustness, stress, strips
from solo.report import parts as ui
from solo.report.extent import extent_section
from solo.report.failures import gallery
from solo.report.read import ProtocolRun, ResultFile, find_runs, robustness_runs
from solo.result_files import Bench
from solo.results import Curriculum, Reconstruction

MAX_FAILURES = 12
"""Failures of each protocol that are put into the page."""
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")


@dataclass(frozen=True)
class ReportPage:
    """A page and what it was made of."""

    html: str
    files: Sequence[ResultFile]
    sections: Sequence[ui.Section]
    unfinished: Sequence[Path] = ()
    """Folders of evaluations that were left out."""


def write_report(
    files: Sequence[ResultFile],
    output: Path,
    title: str = "SOLO evaluation report",
    max_failures: int = MAX_FAILURES,
    unfinished: Sequence[Path] = (),
) -> ReportPage:
    """Draw results as one page; ``unfinished`` are evaluations that were left out.

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
) -> ReportPage:
    """The page of some results."""
    sections = make_sections(files, max_failures)
    groups: dict[tuple[str, str], list[ui.Headline]] = {}
    for section in sections:
        for head in section.headlines:
            groups.setdefault((section.anchor, head.what), []).append(head)
    html = (
        _templates()
        .get_template("page.html")
        .render(
            title=title,
            version=__version__,
            made=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            verdict=verdict([head for heads in groups.values() for head in heads]),
            groups=[(anchor, heads) for (anchor, _), heads in groups.items()],
            sections=sections,
            files=files,
            unfinished=unfinished,
            num_colours=ui.NUM_COLOURS,
        )
    )
    html = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", html)
    return ReportPage(html, files, sections, unfinished)


@functools.cache
def _templates() -> Environment:
    """The templates, compiled once for all pages of a process."""
    environment = Environment(
        loader=PackageLoader("solo.report"), autoescape=True, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["soft"] = _soften
    return environment


def _soften(name: str) -> Markup:
    """Let a long name break where its parts meet."""
    return Markup("<wbr>").join(escape(p) for p in re.split(r"(?<=[/_])", str(name)))


def make_sections(files: Sequence[ResultFile], max_failures: int) -> list[ui.Section]:
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
        bench_section(benches) if benches else None,
    ]
    return [section for section in sections if section is not None]


def _with_failures(
    section: ui.Section, runs: Sequence[ProtocolRun], most: int
) -> ui.Section:
    """A section with what every protocol ends with: failures, and settings."""
    return replace(
        section, parts=[*section.parts, gallery(runs, most), ui.settings(runs)]
    )


def verdict(heads: Sequence[ui.Headline]) -> str:
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


_HARDWARE = "this machine's processor (paper: Jetson AGX Thor, TensorRT)"
_BENCHES = {
    "bench policy": "Policy bundle",
    "bench depth": "Depth camera",
    "bench sim": "Simulation",
    "bench train": "Training",
    "bench recon": "Reconstructors",
}
_UNITS = {"_per_s": " per second", "_ms": ", ms", "_gb": ", GB", "_s": ", s",
          "_m": ", m"}  # fmt: skip


def bench_section(files: Sequence[ResultFile]) -> ui.Section:
    """Speed: what `solo bench` measured."""
    parts: list[Any] = []
    heads = []
    for file in files:
        bench = file.result
        assert isinstance(bench, Bench)
        title = f"{_BENCHES[bench.kind]} ({file.path.name})"
        if bench.kind == "bench policy":
            parts += _policy_parts(bench.numbers, title)
            mean, std = bench.numbers["mean_ms"], bench.numbers["std_ms"]
            said = ui.spread(paper.RUNTIME_MS.mean, paper.RUNTIME_MS.std, 2)
            heads.append(
                ui.Headline("Inference, one robot", file.path.stem,
                         ui.Cell(f"{ui.spread(mean, std, 2)} ms"),
                         ui.quoted(said, "{} ms", "Jetson AGX Thor"), [_HARDWARE])
            )  # fmt: skip
        else:
            parts += _plain_tables(bench.numbers, title)
    parts.append(ui.file_settings(files))
    intro = (
        "Rates of one run are measured in turns, so their ratios hold on a busy "
        "machine; absolute rates do not carry over to another one. Every key is "
        "defined in docs/metrics.md."
    )
    return ui.Section("bench", "Speed", intro, parts, heads)


def _policy_parts(data: Mapping[str, Any], title: str) -> list[Any]:
    notes = [_HARDWARE]
    if data.get("steps") not in (None, paper.RUNTIME_STEPS):
        steps = ui.quantity(data["steps"])
        notes.append(f"{steps} steps (paper: {paper.RUNTIME_STEPS:,})")

    def times(prefix: str) -> ui.Cell:
        mean, std = data.get(f"{prefix}mean_ms"), data.get(f"{prefix}std_ms")
        p95 = data.get(f"{prefix}p95_ms")
        return ui.Cell(
            ui.spread(mean, std, 2), None if p95 is None else f"p95 {p95:.2f}"
        )

    said = [ui.spread(s.mean, s.std, 2) for s in (paper.RUNTIME_MS, paper.PIPELINE_MS)]
    p95 = f"p95 {paper.RUNTIME_P95_MS:.2f}"
    size = ui.quoted(f"{paper.ENGINE_MB:.2f}", "{}", "TensorRT engine")
    rows = [
        ui.Row("Inference, ms", [times(""), ui.quoted(said[0], "{}", p95)]),
        ui.Row("Whole pipeline, ms", [times("pipeline_"), ui.quoted(said[1])]),
        ui.Row(
            "Torch on the same observations, ms", [times("torch_"), ui.quoted(None)]
        ),
        ui.Row("Size, MB", [f"{data['bundle_bytes'] / 1e6:.2f}", size]),
    ]
    columns = [
        ui.Column("measurement"),
        ui.Column("ours"),
        ui.Column("paper", None, True),
    ]
    caption = f"{title}: one step of one robot, mean ± standard deviation"
    return [ui.Badges(notes), ui.Table(caption, columns, rows, "app:compute")]


def _plain_tables(data: Mapping[str, Any], title: str) -> list[ui.Table]:
    """Numbers as they are: one column, or one for each part that has its own."""
    parts = {k: v for k, v in data.items() if isinstance(v, dict)}
    if any(isinstance(v, dict) for part in parts.values() for v in part.values()):
        return [
            table
            for name, part in parts.items()
            for table in _plain_tables(part, f"{title}, {name}")
        ]
    columns = parts or {"value": data}
    keys = dict.fromkeys(
        key
        for column in columns.values()
        for key, value in column.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    )
    rows = [
        ui.Row(_words(key), [ui.quantity(c.get(key, "–")) for c in columns.values()])
        for key in keys
    ]
    heads = ["measurement", *(name.replace("_", " ") for name in columns)]
    return [ui.Table(title, heads, rows)] if rows else []


def _words(key: str) -> str:
    """A key of a file as words with its unit."""
    for ending, unit in _UNITS.items():
        if key.endswith(ending):
            return key.removesuffix(ending).replace("_", " ") + unit
    return key.replace("_", " ")
