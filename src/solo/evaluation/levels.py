"""Ten levels of every terrain, and two sets of policies compared seed by seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from solo.errors import SoloError
from solo.evaluation.evaluate import evaluate, total_times, without_rollouts
from solo.evaluation.metrics import paired_difference, summarise_levels
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.protocols import Protocol
from solo.result_files import RESULT, write_result
from solo.results import Evaluation, Levels


def evaluate_levels(
    protocol: Protocol,
    first: Sequence[PolicySource],
    second: Sequence[PolicySource],
    folder: Path,
    **settings: Any,
) -> Levels:
    """Evaluate one or two sets of policies.

    Args:
        protocol: `LEVELS`, or part of it.
        first: Policies, one per seed.
        second: None, or as many others in the same order of seeds.
        folder: Each policy gets a folder in it.
        **settings: Further arguments of `evaluate`.

    Returns:
        For each policy of ``first`` and ``second`` what `evaluate` returns, without
        single rollouts, and the ``aggregates``; if there are two sets, ``paired``.

    Raises:
        SoloError: The sets cannot be paired, or see `evaluate`.
    """
    if second and len(first) != len(second):
        raise SoloError(
            f"There are {len(first)} policies and {len(second)} to compare them with; "
            "pairs need as many of both."
        )

    result = compare(
        *(
            [evaluate_one(protocol, s, folder, s.slug, **settings) for s in side]
            for side in (first, second)
        )
    )
    write_result(folder / RESULT, result)
    return result


def evaluate_one(
    protocol: Protocol, source: PolicySource, folder: Path, place: str, **settings: Any
) -> Evaluation:
    """One of several policies, in a place of its own in the folder of all."""
    found = evaluate(protocol, source, folder / place, **settings)
    cells = tuple(without_rollouts(job, place) for job in found.cells)
    return replace(found, cells=cells, aggregates=summarise_levels(cells))


def compare(first: Sequence[Evaluation], second: Sequence[Evaluation]) -> Levels:
    """The result of one set of policies, or of two and their differences by seed."""
    paired = {}
    if second:
        a, b = ([found.aggregates for found in side] for side in (first, second))
        paired = paired_difference(a, b)
    times = total_times([*first, *second])
    return Levels(tuple(first), tuple(second), paired, **times)
