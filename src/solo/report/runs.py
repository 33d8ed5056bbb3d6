"""Evaluations of policies: their names and colours on the page, and their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solo.report.check import is_number
from solo.report.markup import Html, el
from solo.report.numbers import interval, mean_interval, percent, percent_interval
from solo.report.paper import TERRAINS
from solo.report.read import Result
from solo.report.tables import NONE, NUM_COLORS, Cell, Column


@dataclass(frozen=True, eq=False)
class Run:
    """One policy in one protocol."""

    label: str
    """Unlike that of any other run of the protocol."""
    series: int
    """Number of its colour; the same policy has the same one everywhere."""
    data: dict[str, Any]
    result: Result
    """The file it stands in."""
    folder: Path
    """Where its failures are kept."""
    side: str = ""
    """"first" or "second" of two sets of policies."""

    @property
    def cells(self) -> list[dict[str, Any]]:
        """Its jobs."""
        return self.data["cells"]

    @property
    def by_row(self) -> dict[str, dict[str, Any]]:
        """Jobs by terrain; by their own name where a terrain has several."""
        terrains = [cell.get("terrain", cell["name"]) for cell in self.cells]
        if len(set(terrains)) < len(terrains):
            return {cell["name"]: cell for cell in self.cells}
        return dict(zip(terrains, self.cells, strict=True))

    @property
    def column(self) -> Column:
        """Head of its column in tables."""
        return Column(self.label, self.data["policy"].get("kind"), series=self.series)


def find_runs(results: Sequence[Result]) -> dict[str, list[Run]]:
    """The runs of all evaluations, by protocol, in the order they were given."""
    found = [part for result in results for part in _evaluations(result)]
    names: dict[str, set[str | None]] = {}
    for _, data, _, _ in found:
        names.setdefault(data["policy"]["name"], set()).add(_sha(data))
    series: dict[str, int] = {}
    runs: dict[str, list[Run]] = {}
    for result, data, folder, side in found:
        name, sha = data["policy"]["name"], _sha(data)
        label = name if len(names[name]) == 1 else f"{name} ({(sha or 'agent')[:8]})"
        others = runs.setdefault(result.kind, [])
        taken = {run.label for run in others}
        if label in taken:
            label = f"{label}, {result.path.parent.name or result.path.name}"
        copies = (f"{label} #{k}" for k in range(2, len(taken) + 3))
        label = (
            label if label not in taken else next(c for c in copies if c not in taken)
        )
        number = series.setdefault(label, len(series))
        others.append(Run(label, number, data, result, folder, side))
    return runs


def _evaluations(
    result: Result,
) -> Iterator[tuple[Result, dict[str, Any], Path, str]]:
    if "first" in result.data:
        for side in ("first", "second"):
            for data in result.data.get(side) or []:
                yield result, data, result.folder / _slug(data["policy"]), side
    elif "protocol" in result.data and "cells" in result.data:
        yield result, result.data, result.folder, ""


def _sha(data: Mapping[str, Any]) -> str | None:
    sha = data["policy"].get("sha256")
    return sha if isinstance(sha, str) else None


def _slug(policy: Mapping[str, Any]) -> str:
    """Folder of one of several policies, as `solo eval levels` names it."""
    name = str(policy["name"]).removesuffix(".pt").replace("/", "-")
    sha = policy.get("sha256")
    return f"{name}-{sha[:8]}" if isinstance(sha, str) else name


def row_names(runs: Sequence[Run], titles: Mapping[str, str] = TERRAINS) -> list[str]:
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


def success_cell(rate: Mapping[str, Any] | None) -> Cell:
    """A success rate, its interval and its count."""
    if rate is None:
        return NONE
    return Cell(percent(rate), f"{percent_interval(rate)} of {rate['rollouts']:g}")


def measure_cell(
    cell: Mapping[str, Any] | None, name: str, factor: float, digits: int
) -> Cell:
    """Mean of a measure and the interval of the mean."""
    measure = (cell or {}).get("measures", {}).get(name)
    if not measure or measure.get("mean") is None:
        return NONE
    bounds = mean_interval(measure)
    small = None
    if bounds is not None:
        small = interval(factor * bounds[0], factor * bounds[1], digits)
    return Cell(f"{factor * measure['mean']:.{digits}f}", small)


def summary_success(run: Run) -> Mapping[str, Any] | None:
    """Success over all jobs, as the file has it."""
    rate = (run.data.get("summary") or {}).get("success")
    keys = ("rate", "low", "high", "rollouts")
    return rate if rate and all(is_number(rate.get(key)) for key in keys) else None


def summary_measure(run: Run, name: str) -> float | None:
    """Mean over jobs of a measure, as the file has it."""
    value = ((run.data.get("summary") or {}).get("measures") or {}).get(name)
    return value if is_number(value) else None


def has_measure(runs: Sequence[Run], name: str) -> bool:
    """Whether any of the runs measured something."""
    return any(name in cell["measures"] for run in runs for cell in run.cells)


def legend(runs: Sequence[Run], paper: str = "") -> Html:
    """Colours of the runs, and the sign for the paper's numbers."""
    items = [
        el("li", el("i", class_=f"swatch b{run.series % NUM_COLORS}"), run.label)
        for run in runs
    ]
    if paper:
        items.append(el("li", el("i", class_="swatch quoted-swatch"), paper))
    return el("ul", *items, class_="legend")
