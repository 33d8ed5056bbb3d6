"""Numbers of an evaluation, as pure functions of outcomes; see ``docs/metrics.md``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from solo.evaluation.protocols import LEVEL_GROUPS, NUM_LEVELS
from solo.evaluation.rollout import Outcome, Rollout

Z_95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


def wilson_interval(
    successes: int, trials: int, z: float = Z_95
) -> tuple[float, float]:
    """Wilson's score interval of a success rate.

    It stays within 0 and 1 and keeps its coverage near both, where most of our rates
    are. No trials give the whole range.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials are impossible.")
    if trials == 0:
        return 0.0, 1.0
    rate, square = successes / trials, z * z
    centre = rate + square / (2 * trials)
    half = z * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials**2))
    scale = 1 + square / trials
    # At the ends the formula gives 0 and 1 up to rounding.
    low = 0.0 if successes == 0 else (centre - half) / scale
    high = 1.0 if successes == trials else (centre + half) / scale
    return low, high


def success_rate(successes: int, trials: int) -> dict[str, float | int | None]:
    """Rate and 95 % interval, as they stand in result files."""
    low, high = wilson_interval(successes, trials)
    rate = successes / trials if trials else None
    return {
        "successes": successes,
        "rollouts": trials,
        "rate": rate,
        "low": low,
        "high": high,
    }


def summarise_cell(rollouts: Sequence[Rollout]) -> dict[str, Any]:
    """Counts, success and means of one job.

    A measure is averaged over the active steps of each rollout, then over rollouts, so
    a long rollout counts as much as a short one (paper, on-policy error).
    """
    counts = {outcome.value: 0 for outcome in Outcome}
    for rollout in rollouts:
        counts[rollout.outcome.value] += 1
    successes = counts[Outcome.SUCCESS.value]
    names = dict.fromkeys(name for r in rollouts for name in r.measures)
    measures = {
        name: mean_std([r.measures[name] for r in rollouts if name in r.measures])
        for name in names
    }
    return {
        "success": success_rate(successes, len(rollouts)),
        "outcomes": counts,
        "measures": measures,
        "steps": sum(r.steps for r in rollouts),
    }


def mean_std(values: Sequence[float]) -> dict[str, float | int | None]:
    """Mean and sample standard deviation, which a single value has not.

    The deviation divides by n - 1, as the paper's does: 64 episodes each of three
    seeds give 97.92 +- 3.61 % with 100, 100 and 93.75 %.
    """
    array = np.asarray(values, dtype=np.float64)
    num = len(array)
    return {
        "mean": float(array.mean()) if num else None,
        "std": float(array.std(ddof=1)) if num > 1 else None,
        "count": num,
    }


def summarise(cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Over all jobs of a protocol: pooled success, the worst job, means of measures."""
    pooled = _pool(cells)
    worst = min(cells, key=lambda cell: cell["success"]["rate"])
    names = dict.fromkeys(name for cell in cells for name in cell["measures"])
    return {
        "success": pooled,
        "worst": {"name": worst["name"], "rate": worst["success"]["rate"]},
        "measures": {
            name: _mean(
                [c["measures"][name]["mean"] for c in cells if name in c["measures"]]
            )
            for name in names
        },
    }


def summarise_levels(cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns of the paper's ablation for one policy.

    Returns:
        Success of the easy, medium and hard levels over all terrains, and of the top
        level on each terrain; the latter under ``top/TERRAIN``.
    """
    result: dict[str, Any] = {}
    for group, levels in LEVEL_GROUPS.items():
        inside = [cell for cell in cells if cell["level"] in levels]
        if inside:
            result[group] = _pool(inside)
    top = [cell for cell in cells if cell["level"] == NUM_LEVELS - 1]
    return result | {f"top/{cell['terrain']}": _pool([cell]) for cell in top}


def paired_difference(
    first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Compare two sets of policies, pair by pair; see `summarise_levels`.

    Args:
        first: Aggregates of the first set, one per seed.
        second: Those of the second set, in the same order of seeds.

    Returns:
        For each column mean and deviation over the seeds of both sets, and of the
        difference second minus first, which is taken per seed; percent and percentage
        points.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} policies make no pairs.")
    columns = [name for name in first[0] if all(name in x for x in (*first, *second))]
    table = {}
    for name in columns:
        a, b = ([100.0 * x[name]["rate"] for x in side] for side in (first, second))
        table[name] = {
            "first": mean_std(a),
            "second": mean_std(b),
            "difference": mean_std([y - x for x, y in zip(a, b, strict=True)]),
        }
    return table


def _pool(cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return success_rate(
        sum(cell["success"]["successes"] for cell in cells),
        sum(cell["success"]["rollouts"] for cell in cells),
    )


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
