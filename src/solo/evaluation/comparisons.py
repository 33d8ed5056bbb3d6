"""Several evaluations and what they say together.

Sets of policies over ten levels of every terrain, compared seed by seed; and one policy
under one condition after the other, with what each of them costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from solo.errors import SoloError
from solo.evaluation.conditions import CONDITIONS, NOMINAL, Condition
from solo.evaluation.evaluate import describe, evaluate, total_times
from solo.evaluation.metrics import describe_cost, paired_difference, summarise_levels
from solo.evaluation.protocols import STRESS, Protocol
from solo.evaluation.rollout import PolicySource
from solo.reconstruction.perceiver import DEPTH
from solo.result_files import RESULT, write_result
from solo.results import ConditionRow, Evaluation, Job, Levels, Robustness

ROBUSTNESS: Protocol = replace(STRESS, name="robustness", rollouts=32)
"""The stress test with fewer rollouts, which each condition repeats.

Not in the paper. 32 rollouts on eight terrains are 256 per condition: a success rate of
50 % is then known to 6 percentage points.
"""


def evaluate_levels(
    protocol: Protocol,
    first: Sequence[PolicySource],
    second: Sequence[PolicySource],
    folder: Path,
    **settings: Any,
) -> Levels:
    """Evaluate one or two sets of policies, each with one policy per seed.

    Each policy gets a folder in ``folder``; further settings are those of `evaluate`.
    The result has no single rollouts. If there are two sets, their differences are
    taken pair by pair.

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


def evaluate_robustness(
    protocol: Protocol,
    source: PolicySource,
    folder: Path,
    conditions: Sequence[Condition] = tuple(CONDITIONS.values()),
    on_condition: Callable[[Condition], None] = lambda condition: None,
    **settings: Any,
) -> Robustness:
    """Evaluate a policy under conditions; finished jobs found on disk are kept.

    The nominal condition is always run, and first. A policy without a camera is spared
    what is done to depth. Each condition gets a folder in ``folder``, and the same
    starts; further settings are those of `evaluate`.

    Raises:
        SoloError: See `evaluate`.
    """
    rows, nominal = [], None
    others = [condition for condition in conditions if condition != NOMINAL]
    for condition in (NOMINAL, *others):
        if not applies(condition, source):
            rows.append(
                ConditionRow(
                    condition.name,
                    condition.describe(),
                    is_applicable=False,
                    reason="the policy has no depth camera",
                )
            )
            continue
        on_condition(condition)
        found = evaluate(
            protocol, source, folder / condition.name, condition=condition, **settings
        )
        nominal = found if nominal is None else nominal
        rows.append(describe_row(condition, found, nominal))
    run = [row for row in rows if row.is_applicable]
    config = describe(protocol, source)
    result = Robustness(**config, conditions=tuple(rows), **total_times(run))
    write_result(folder / RESULT, result)
    return result


def applies(condition: Condition, source: PolicySource) -> bool:
    """Whether a condition can make a difference to a policy."""
    return DEPTH in source.groups or not condition.needs_depth


def describe_row(
    condition: Condition, found: Evaluation, nominal: Evaluation
) -> ConditionRow:
    """The result of one condition, and its cost against the nominal one."""
    assert found.summary is not None
    assert nominal.summary is not None
    return ConditionRow(
        name=condition.name,
        condition=condition.describe(),
        success=found.summary.success,
        worst=found.summary.worst,
        measures=found.summary.measures,
        cost=describe_cost(found.summary, nominal.summary),
        **total_times([found]),
        cells=tuple(without_rollouts(job, condition.name) for job in found.cells),
    )


def without_rollouts(job: Job, folder: str) -> Job:
    """A job for the result of several evaluations, each in a folder of its own."""
    files = tuple(f"{folder}/{name}" for name in job.failures)
    return replace(job, rollouts=(), failures=files)
