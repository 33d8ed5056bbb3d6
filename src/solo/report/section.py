"""A part of the page, and what of it stands at the top."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from solo.report.markup import Content, Html, el, join
from solo.report.numbers import duration, quantity
from solo.report.read import Result
from solo.report.runs import Run
from solo.report.tables import Cell, Row, table


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


@dataclass(frozen=True)
class Section:
    """One protocol."""

    anchor: str
    title: str
    intro: Content
    parts: Sequence[Html | None]
    headlines: Sequence[Headline] = ()


def figure(title: Content, *parts: Html | None, note: Content = None) -> Html:
    """Drawings side by side under a title."""
    caption = el(
        "figcaption", el("b", title), None if note is None else el("span", note)
    )
    return el("figure", caption, *parts)


def panels(drawings: Sequence[Html]) -> Html:
    """Drawings that flow into rows."""
    return el("div", *(el("div", d, class_="panel") for d in drawings), class_="panels")


def settings(runs: Sequence[Run]) -> Html:
    """The setting of the numbers of each run, folded away."""
    parts = [settings_table(run.label, run.data, run.result) for run in runs]
    return folded("Settings of these numbers", parts)


def folded(title: str, parts: Sequence[Html | None]) -> Html:
    """Something that opens on a click."""
    return el("details", el("summary", title), *parts)


_WORDS = {
    "wall_time_s": "wall time",
    "env_steps": "simulated steps",
    "env_steps_per_s": "simulated steps per second",
}


def settings_table(label: str, data: Mapping[str, Any], result: Result) -> Html:
    """Everything a file says about how its numbers were made."""
    rows = [("file", str(result.path)), ("sha256 of the file", result.sha256)]
    cells = data.get("cells")
    if isinstance(cells, list):
        counts = [cell["success"]["rollouts"] for cell in cells]
        rows.append(("jobs", f"{len(cells)}"))
        rows.append(("rollouts", quantity(sum(counts))))
    for key in _WORDS:
        value = data.get(key, result.data.get(key))
        if value is not None:
            shown = duration(value) if key == "wall_time_s" else quantity(value)
            rows.append((_WORDS[key], shown))
    for key in ("policy", "protocol", "versions", "config", "training", "sampler"):
        rows += list(flatten(key, data.get(key)))
    lines = [Row(name, [Cell(el("code", value))]) for name, value in rows]
    return table(label, ["setting", "value"], lines, kind="text")


def flatten(name: str, value: object) -> list[tuple[str, str]]:
    """Nested settings as lines; short lists stay whole."""
    if value is None and name in (
        "protocol",
        "versions",
        "config",
        "training",
        "sampler",
    ):
        return []
    if isinstance(value, dict):
        return [row for k, v in value.items() for row in flatten(f"{name}.{k}", v)]
    if isinstance(value, str):
        return [(name, value)]
    return [(name, json.dumps(value))]


def paragraph(*parts: Content) -> Html:
    """Text."""
    return el("p", join(parts))
