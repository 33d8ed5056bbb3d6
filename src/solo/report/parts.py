"""What a page is made of: tables, figures, remarks; and numbers as text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from markupsafe import Markup

from solo.report.paper import SOURCES, TERRAINS
from solo.report.read import ProtocolRun, ResultFile
from solo.results import Job, Mean, Rate

NUM_COLOURS = 6
"""Colours of policies; more of them begin again with another form of line."""

OUTCOMES = {
    "success": "success",
    "fall": "fall",
    "time_out": "late",
    "left_patch": "left the patch",
    "diverged": "physics diverged",
}
"""Outcome of a rollout to what it is called on the page."""


@dataclass(frozen=True)
class Cell:
    """What stands in one place of a table."""

    main: str = "–"
    small: str | None = None
    """Below it: an interval, or how the number was made."""
    paper: bool = False
    """Whether it is the paper's."""
    columns: int = 1
    """How many columns it takes."""
    shares: Sequence[tuple[str, str, int]] = ()
    """Parts of a bar: class of the style sheet, name and count."""
    shade: float | None = None
    """How dark it is, 0 to 1."""


Entry = Cell | str
NONE = Cell()
"""Where there is no number."""


def quoted(value: float | str | None, form: str = "{}", small: str | None = None):
    """A number of the paper; a dash where it has none."""
    text = "–" if value is None else form.format(value)
    return Cell(text, None if value is None else small, True)


@dataclass(frozen=True)
class Column:
    """The head of a column."""

    name: str
    small: str | None = None
    paper: bool = False
    series: int | None = None
    """Colour of the policy, if it is one."""


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    head: Entry
    cells: Sequence[Entry]
    total: bool = False
    """Whether it sums up those above."""


@dataclass(frozen=True)
class Table:
    """A table that scrolls by itself where the page is too narrow."""

    kind: ClassVar[str] = "table"
    caption: str
    columns: Sequence[Column | str]
    rows: Sequence[Row]
    source: str | None = None
    """Label of the paper's table or figure beside ours."""
    legend: Sequence[tuple[str, str]] = ()
    """Class of a colour and its name."""

    @property
    def cited(self) -> str:
        """What the source is."""
        return SOURCES[self.source] if self.source else ""


@dataclass(frozen=True)
class Drawing:
    """Drawings side by side under a title."""

    kind: ClassVar[str] = "drawing"
    title: str
    drawings: Sequence[Markup]
    note: str = ""
    legend: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Pictures:
    """Rows of small images: a name, and the title and address of each image."""

    kind: ClassVar[str] = "pictures"
    title: str
    rows: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    note: str = ""


@dataclass(frozen=True)
class Text:
    """A paragraph, or a heading."""

    kind: ClassVar[str] = "text"
    words: str
    source: str | None = None
    heading: bool = False


@dataclass(frozen=True)
class Badges:
    """Remarks in a line: what was scaled down, or differs from the paper."""

    kind: ClassVar[str] = "badges"
    notes: Sequence[str]


@dataclass(frozen=True)
class Folded:
    """Something that opens on a click."""

    kind: ClassVar[str] = "folded"
    title: str
    entries: Sequence[tuple[str, str]]
    """Name and text of each."""


@dataclass(frozen=True)
class Score:
    """A number of ours that can be set against one of the paper."""

    value: float
    paper: float
    more_is_better: bool
    bound: float | None = None
    """End of our interval on the paper's side; None if there is no interval."""


@dataclass(frozen=True)
class Headline:
    """A number for the table at the top."""

    what: str
    whose: str
    """Policy, method or run."""
    ours: Cell
    paper: Cell
    notes: Sequence[str] = ()
    """What was scaled down."""
    score: Score | None = None


@dataclass(frozen=True)
class Section:
    """One protocol."""

    anchor: str
    title: str
    intro: str
    parts: Sequence[Any]
    """Parts of this file; None where there is nothing to show."""
    headlines: Sequence[Headline] = field(default_factory=list)


def percent(rate: Rate) -> str:
    """A success rate."""
    return f"{100 * rate.rate:.1f} %"


def bounds(low: float, high: float, digits: int) -> str:
    """An interval."""
    return f"[{low:.{digits}f}, {high:.{digits}f}]".replace("-", "−")


def spread(mean: float | None, std: float | None, digits: int, plus: bool = False):
    """Mean and standard deviation, or a difference with its sign."""
    if mean is None:
        return "–"
    text = f"{mean:{'+' if plus else ''}.{digits}f}".replace("-", "−")
    return text if std is None else f"{text} ± {std:.{digits}f}"


def quantity(value: object) -> str:
    """Any number of a file, short: 4 digits that count, or all of a whole number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if not math.isfinite(value):
        return str(value)
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def rate_cell(rate: Rate | None) -> Cell:
    """A success rate, its interval and its count."""
    if rate is None:
        return NONE
    interval = bounds(100 * rate.low, 100 * rate.high, 1)
    return Cell(percent(rate), f"{interval} of {rate.rollouts:g}")


def success_cells(runs: Sequence[ProtocolRun], row: str) -> list[Cell]:
    """Success of each run in one row; a dash where it has none."""
    jobs = [run.by_row.get(row) for run in runs]
    return [rate_cell(None if job is None else job.success) for job in jobs]


def rate_headline(
    what: str,
    run: ProtocolRun,
    rate: Rate | None,
    quote: Cell,
    target: float | None = None,
    notes: Sequence[str] = (),
) -> Headline:
    """A success rate for the top; ``target`` is the paper's, percent."""
    score = None
    if rate is not None and target is not None:
        score = Score(100 * rate.rate, target, True, 100 * rate.high)
    return Headline(
        what, run.label, rate_cell(rate), quote, [*notes, *run.scale_notes()], score
    )


def measure_cell(
    job: Job | None, name: str, factor: float = 1.0, digits: int = 2
) -> Cell:
    """Mean of a measure and the interval of the mean."""
    measure = None if job is None else job.measures.get(name)
    return mean_cell(measure, factor, digits)


def mean_cell(measure: Mean | None, factor: float, digits: int) -> Cell:
    """The same of a mean."""
    if measure is None or measure.mean is None:
        return NONE
    ends = measure.interval
    small = ends and bounds(factor * ends[0], factor * ends[1], digits)
    return Cell(f"{factor * measure.mean:.{digits}f}", small or None)


def run_column(run: ProtocolRun) -> Column:
    """Head of a run's column."""
    return Column(run.label, run.found.policy.get("kind"), series=run.series)


def legend(runs: Sequence[ProtocolRun], paper: str = "") -> list[tuple[str, str]]:
    """Colours of the runs, and the sign for the paper's numbers."""
    items = [(f"b{run.series % NUM_COLOURS}", run.label) for run in runs]
    return [*items, ("quoted-swatch", paper)] if paper else items


def has_measure(runs: Sequence[ProtocolRun], name: str) -> bool:
    """Whether any of the runs measured something."""
    return any(name in job.measures for run in runs for job in run.cells)


def row_names(
    runs: Sequence[ProtocolRun], titles: Mapping[str, str] = TERRAINS
) -> list[str]:
    """Rows of a table of several runs: in the order of the titles, then the others."""
    found = dict.fromkeys(name for run in runs for name in run.by_row)
    known = [name for name in titles if name in found]
    return [*known, *(name for name in found if name not in known)]


def terrain_title(name: str, titles: Mapping[str, str] = TERRAINS) -> str:
    """What a terrain, or a job by its full name, is called on the page."""
    job = re.fullmatch(r"(.+)-([\d.]+)m-([\d.]+)", name)
    if job is not None:
        terrain = terrain_title(job[1], titles)
        return f"{terrain}, {job[2]} m, {job[3].rstrip('0').rstrip('.') or '0'}"
    return titles.get(name) or name.replace("_", " ").replace("-", " ")


def shared_notes(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Remarks on several runs; those that not all have name theirs."""
    first = next(iter(notes.values()), ())
    common = [note for note in first if all(note in own for own in notes.values())]
    single = [
        f"{label}: {note}"
        for label, own in notes.items()
        for note in own
        if note not in common
    ]
    return [*common, *single]


def scale_notes(runs: Sequence[ProtocolRun]) -> list[str]:
    """What of the runs of a section was scaled down."""
    return shared_notes({run.label: run.scale_notes() for run in runs})


_SETTINGS = ("policy", "protocol", "versions", "training", "data", "config", "sampler")
_TIMES = ("wall_time_s", "env_steps", "env_steps_per_s")


def settings(runs: Iterable[ProtocolRun]) -> Folded:
    """The setting of the numbers of each run, folded away."""
    return Folded(
        "Settings of these numbers",
        [(run.label, settings_text(run.file, asdict(run.found))) for run in runs],
    )


def file_settings(files: Iterable[ResultFile]) -> Folded:
    """The same of whole files."""
    entries = [(file.path.name, settings_text(file, file.data)) for file in files]
    return Folded("Settings of these numbers", entries)


def settings_text(file: ResultFile, data: Mapping[str, Any]) -> str:
    """Everything a file says about how its numbers were made."""
    kept = {key: data[key] for key in (*_SETTINGS, *_TIMES) if data.get(key)}
    if "cells" in data:
        counts = [cell["success"]["rollouts"] for cell in data["cells"]]
        kept |= {"jobs": len(counts), "rollouts": sum(counts)}
    found = {"file": str(file.path), "sha256 of the file": file.sha256, **kept}
    text = json.dumps(found, indent=2, ensure_ascii=False)
    return re.sub(r"\[[^][{}]*\]", lambda short: " ".join(short[0].split()), text)
