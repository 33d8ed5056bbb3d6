"""Find result files, and give the policies in them names and colours."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from solo.errors import SoloError
from solo.files import read_json
from solo.report.paper import SCALES
from solo.result_files import EXPECTED, HINT, RESULT, Result, parse_result
from solo.results import Evaluation, Job, Levels, Rate, Robustness


@dataclass(frozen=True, eq=False)
class ResultFile:
    """One file."""

    path: Path
    sha256: str
    """Of the file."""
    data: dict[str, Any]
    """Its JSON, for the settings."""
    result: Result


@dataclass(frozen=True, eq=False)
class ProtocolRun:
    """One policy in one protocol."""

    label: str
    """Unlike that of any other run of the protocol."""
    series: int
    """Number of its colour; the same policy has the same one everywhere."""
    found: Evaluation
    file: ResultFile
    """The file it stands in."""
    side: str = ""
    """"first" or "second" of two sets of policies."""

    @property
    def cells(self) -> tuple[Job, ...]:
        """Its jobs."""
        return self.found.cells

    @cached_property
    def by_row(self) -> dict[str, Job]:
        """Jobs by terrain; by their own name where a terrain has several."""
        names = [job.title for job in self.cells]
        if len(set(names)) < len(names):
            names = [job.name for job in self.cells]
        return dict(zip(names, self.cells, strict=True))

    @property
    def success(self) -> Rate | None:
        """Over all jobs, as the file has it."""
        return None if self.found.summary is None else self.found.summary.success

    def mean(self, measure: str) -> float | None:
        """Mean over jobs of a measure, as the file has it."""
        summary = self.found.summary
        return None if summary is None else summary.measures.get(measure)

    def scale_notes(self) -> list[str]:
        """What of the protocol was scaled down or changed against the paper."""
        name = self.found.protocol["name"]
        scale, condition = SCALES.get(name), self.found.condition or {}
        notes = []
        if condition.get("name", "nominal") != "nominal":
            notes.append(f"under the condition {condition['name']}")
        if self.found.policy.get("kind") == "agent":
            notes.append("baseline agent, not trained")
        if scale is None:
            return notes
        counts = sorted({job.success.rollouts for job in self.cells})
        if scale.rollouts and counts != [scale.rollouts]:
            shown = " to ".join(str(c) for c in dict.fromkeys((counts[0], counts[-1])))
            notes.append(f"{shown} rollouts per terrain (paper: {scale.rollouts})")
        hard = sorted({j.difficulty for j in self.cells if j.difficulty is not None})
        if scale.difficulties and tuple(hard) != scale.difficulties:
            shown, wanted = (
                ", ".join(f"{d:g}" for d in side) for side in (hard, scale.difficulties)
            )
            word = "difficulty" if name == "stress" else "scale of the obstacles"
            notes.append(f"{word} {shown} (paper: {wanted})")
        for what, number, wanted in (
            ("terrains", len({job.title for job in self.cells}), scale.num_terrains),
            ("levels", len({job.level for job in self.cells}), scale.num_levels),
        ):
            if wanted and number < wanted:
                notes.append(f"{number} of {wanted} {what}")
        limits = self.found.protocol.get("limits")
        limits = limits if isinstance(limits, dict) else {}
        for key, unit, wanted in (
            ("time_s", "s time limit", scale.time_s),
            ("pass_m", "m to pass", scale.pass_m),
        ):
            value = limits.get(key)
            if wanted is not None and value is not None and value != wanted:
                notes.append(f"{value:g} {unit} (paper: {wanted:g})")
        return notes


def read_results(paths: Sequence[Path]) -> tuple[list[ResultFile], list[Path]]:
    """Read files, or all results in folders; a file given twice once.

    Returns:
        The results, and folders of evaluations that are not finished.

    Raises:
        SoloError: There is none, or one is not a result.
    """
    if not paths:
        raise SoloError(f"No result is given. Name at least one file: {EXPECTED}.")
    files: dict[Path, Path] = {}
    unfinished: list[Path] = []
    for path in paths:
        found = list(_find(path, unfinished))
        for file in found:
            files.setdefault(file.resolve(), file)
        if found:
            continue
        if path in unfinished:
            raise SoloError(
                f"The evaluation in {str(path)!r} is not finished: there is no "
                f"{RESULT}. Run its command again to go on with it."
            )
        raise SoloError(
            f"There is no {RESULT} in the folder {str(path)!r} or below. "
            f"Give {EXPECTED}."
        )
    return [read_file(path) for path in files.values()], unfinished


def read_file(path: Path) -> ResultFile:
    """Read one file.

    Raises:
        SoloError: It cannot be read or is no result.
    """
    data = read_json(path, HINT)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return ResultFile(path, sha256, data, parse_result(path, data))


def _find(path: Path, unfinished: list[Path]) -> Iterator[Path]:
    """The file, the folder's result, or the results of the folders below."""
    if not path.exists():
        raise SoloError(f"There is no file {str(path)!r}. Give {EXPECTED}.")
    if path.is_file():
        yield path
    elif (path / RESULT).is_file():
        yield path / RESULT
    elif (path / "cells").is_dir():
        unfinished.append(path)
    else:
        for inner in sorted(p for p in path.iterdir() if p.is_dir()):
            if not inner.name.startswith("."):
                yield from _find(inner, unfinished)


def find_runs(files: Sequence[ResultFile]) -> dict[str, list[ProtocolRun]]:
    """The runs of all evaluations, by protocol, in the order they were given.

    Conditions of `solo eval robustness` are no runs; it has a section of its own.
    """
    found = [part for file in files for part in _evaluations(file)]
    names: dict[str, set[str | None]] = {}
    for _, evaluation, _ in found:
        policy = evaluation.policy
        names.setdefault(policy["name"], set()).add(policy.get("sha256"))
    series: dict[str, int] = {}
    runs: dict[str, list[ProtocolRun]] = {}
    for file, evaluation, side in found:
        name, sha = evaluation.policy["name"], evaluation.policy.get("sha256")
        section = "levels" if side else evaluation.protocol["name"]
        others = runs.setdefault(section, [])
        taken = {run.label for run in others}
        label = name if len(names[name]) == 1 else f"{name} ({str(sha or 'agent')[:8]})"
        if label in taken:
            label = f"{label}, {file.path.parent.name or file.path.name}"
        copies = [f"{label} #{k}" for k in range(2, len(taken) + 3)]
        label = next(c for c in (label, *copies) if c not in taken)
        number = series.setdefault(label, len(series))
        others.append(ProtocolRun(label, number, evaluation, file, side))
    return runs


def _evaluations(file: ResultFile) -> Iterator[tuple[ResultFile, Evaluation, str]]:
    result = file.result
    if isinstance(result, Levels):
        for side, found in (("first", result.first), ("second", result.second)):
            yield from ((file, evaluation, side) for evaluation in found)
    elif isinstance(result, Evaluation):
        yield file, result, ""


def robustness_runs(
    files: Sequence[ResultFile], runs: dict[str, list[ProtocolRun]]
) -> list[tuple[ProtocolRun, Robustness]]:
    """Policies under conditions, with the colours that they have elsewhere.

    The cells of a run are those of all its conditions.
    """
    colours = {run.label: run.series for found in runs.values() for run in found}
    parts = [(f, f.result) for f in files if isinstance(f.result, Robustness)]
    names = [result.policy["name"] for _, result in parts]
    found = []
    for file, result in parts:
        label = result.policy["name"]
        if names.count(label) > 1:
            label = f"{label}, {file.path.parent.name}"
        series = colours.setdefault(label, len(colours))
        cells = tuple(job for row in result.conditions for job in row.cells)
        evaluation = Evaluation(result.protocol, result.policy, cells or (_NOTHING,))
        found.append((ProtocolRun(label, series, evaluation, file), result))
    return found


_NOTHING = Job("nothing", Rate(0, 1, 0.0, 0.0, 1.0), {}, {})
"""Stands in for the jobs of files that do not list them."""
