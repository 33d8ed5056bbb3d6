"""What of a protocol was scaled down or changed against the paper, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from solo.report import paper
from solo.report.runs import Run


def scale_notes(kind: str, runs: Sequence[Run]) -> list[str]:
    """Remarks for the numbers of a section; what differs between runs names them."""
    found = {run.label: run_notes(kind, run) for run in runs}
    common = [
        note
        for note in next(iter(found.values()), [])
        if all(note in notes for notes in found.values())
    ]
    single = [
        f"{label}: {note}"
        for label, notes in found.items()
        for note in notes
        if note not in common
    ]
    return [*common, *single]


def run_notes(kind: str, run: Run) -> list[str]:
    """Remarks for the numbers of one run."""
    scale = paper.SCALES.get(kind)
    protocol: Mapping[str, Any] = run.data["protocol"]
    notes = []
    condition = run.data.get("condition")
    if isinstance(condition, dict) and condition.get("name", "nominal") != "nominal":
        notes.append(f"under the condition {condition['name']}")
    if run.data["policy"].get("kind") == "agent":
        notes.append("baseline agent, not trained")
    if scale is None:
        return notes
    counts = sorted({round(cell["success"]["rollouts"]) for cell in run.cells})
    if scale.rollouts and counts != [scale.rollouts]:
        shown = " to ".join(str(c) for c in dict.fromkeys((counts[0], counts[-1])))
        notes.append(f"{shown} rollouts per terrain (paper: {scale.rollouts})")
    difficulties = sorted({c["difficulty"] for c in run.cells if "difficulty" in c})
    if scale.difficulties and tuple(difficulties) != scale.difficulties:
        shown = ", ".join(f"{d:g}" for d in difficulties)
        wanted = ", ".join(f"{d:g}" for d in scale.difficulties)
        word = "difficulty" if kind == "stress" else "scale of the obstacles"
        notes.append(f"{word} {shown} (paper: {wanted})")
    terrains = {cell.get("terrain", cell["name"]) for cell in run.cells}
    if scale.num_terrains and len(terrains) < scale.num_terrains:
        notes.append(f"{len(terrains)} of {scale.num_terrains} terrains")
    levels = {cell.get("level") for cell in run.cells}
    if scale.num_levels and len(levels) < scale.num_levels:
        notes.append(f"{len(levels)} of {scale.num_levels} levels")
    limits = protocol.get("limits")
    limits = limits if isinstance(limits, dict) else {}
    for key, unit, wanted in (
        ("time_s", "s time limit", scale.time_s),
        ("pass_m", "m to pass", scale.pass_m),
    ):
        value = limits.get(key)
        if wanted is not None and value is not None and value != wanted:
            notes.append(f"{value:g} {unit} (paper: {wanted:g})")
    return notes
