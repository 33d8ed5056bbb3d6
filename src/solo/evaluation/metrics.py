"""Numbers of an evaluation, as pure functions of outcomes; see ``docs/metrics.md``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from solo.results import (
    MAP_ERROR,
    Cost,
    Job,
    Mean,
    Outcome,
    Pair,
    Piece,
    Rate,
    Rollout,
    RouteSummary,
    RouteWalk,
    Summary,
    Worst,
)

NUM_LEVELS = 10
"""Levels of the curriculum."""

LEVEL_GROUPS = {"easy": range(0, 4), "medium": range(4, 7), "hard": range(7, 10)}
"""Aggregate to its levels (paper)."""

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


def success_rate(successes: int, trials: int) -> Rate:
    """Rate and 95 % interval."""
    low, high = wilson_interval(successes, trials)
    return Rate(successes, trials, successes / trials, low, high)


def summarise_rollouts(rollouts: Sequence[Rollout]) -> dict[str, Any]:
    """Counts, success and means of one job: fields of `solo.results.Job`.

    A measure is averaged over the active steps of each rollout, then over rollouts, so
    a long rollout counts as much as a short one (paper, on-policy error).
    """
    counts = {outcome.value: 0 for outcome in Outcome}
    for rollout in rollouts:
        counts[rollout.outcome.value] += 1
    names = dict.fromkeys(name for r in rollouts for name in r.measures)
    return {
        "success": success_rate(counts[Outcome.SUCCESS.value], len(rollouts)),
        "outcomes": counts,
        "measures": {
            name: Mean.of([r.measures[name] for r in rollouts if name in r.measures])
            for name in names
        },
        "steps": sum(r.steps for r in rollouts),
    }


def summarise(jobs: Sequence[Job]) -> Summary:
    """Over all jobs of a protocol: pooled success, the worst job, means of measures."""
    worst = min(jobs, key=lambda job: job.success.rate)
    names = dict.fromkeys(name for job in jobs for name in job.measures)
    return Summary(
        success=_pool(jobs),
        worst=Worst(worst.name, worst.success.rate),
        measures={name: _mean_over(jobs, name) for name in names},
    )


def summarise_levels(jobs: Sequence[Job]) -> dict[str, Rate]:
    """The columns of the paper's ablation for one policy.

    Returns:
        Success of the easy, medium and hard levels over all terrains, and of the top
        level on each terrain; the latter under ``top/TERRAIN``.
    """
    groups = {
        group: [job for job in jobs if job.level in levels]
        for group, levels in LEVEL_GROUPS.items()
    }
    result = {group: _pool(inside) for group, inside in groups.items() if inside}
    top = [job for job in jobs if job.level == NUM_LEVELS - 1]
    return result | {f"top/{job.terrain}": _pool([job]) for job in top}


def paired_difference(
    first: Sequence[Mapping[str, Rate]], second: Sequence[Mapping[str, Rate]]
) -> dict[str, Pair]:
    """Compare two sets of policies, one per seed, in the same order of seeds.

    Takes what `summarise_levels` made of each. Returns for each column mean and
    deviation over the seeds of both sets, and of the difference second minus first,
    which is taken per seed; percent and percentage points.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} policies make no pairs.")
    columns = [name for name in first[0] if all(name in x for x in (*first, *second))]
    table = {}
    for name in columns:
        a, b = ([100.0 * x[name].rate for x in side] for side in (first, second))
        lost = [y - x for x, y in zip(a, b, strict=True)]
        table[name] = Pair(Mean.of(a), Mean.of(b), Mean.of(lost))
    return table


def describe_cost(summary: Summary, nominal: Summary) -> Cost:
    """Success lost against the nominal condition, and what the map error grew by."""
    lost = rate_difference(nominal.success, summary.success)
    before, after = nominal.measures.get(MAP_ERROR), summary.measures.get(MAP_ERROR)
    grown = None if before is None or after is None else after - before
    points, low, high = (100.0 * value for value in lost)
    return Cost(points, low, high, grown)


def rate_difference(first: Rate, second: Rate) -> tuple[float, float, float]:
    """First rate minus second with Newcombe's 95 % interval.

    It is made of both Wilson intervals, so it holds near 0 and 1 as they do. That both
    rates are of the same starts is not used: the interval is, if anything, too wide.
    """
    p, q = first.rate, second.rate
    below = math.hypot(p - first.low, second.high - q)
    above = math.hypot(first.high - p, q - second.low)
    return p - q, p - q - below, p - q + above


def summarise_route(
    walks: Sequence[RouteWalk],
    num_robots: int,
    length_m: float,
    map_errors: Mapping[int, tuple[float, int]],
    bin_m: float,
) -> RouteSummary:
    """All numbers of the route.

    Walks are those of all stages, each robot's in the order of the route;
    ``map_errors`` has sum and count of the error on each piece of ``bin_m``.
    """
    robots = [
        describe_robot([walk for walk in walks if walk.robot == robot])
        for robot in range(num_robots)
    ]
    distance_m = sum(robot["distance_m"] for robot in robots)
    falls = sum(robot["falls"] for robot in robots)
    done = sum(robot["incidents"] == 0 for robot in robots)
    return RouteSummary(
        robots=num_robots,
        length_m=length_m,
        completed=success_rate(done, num_robots),
        distance_m=distance_m,
        share_walked=distance_m / (num_robots * length_m),
        falls=falls,
        incidents=sum(robot["incidents"] for robot in robots),
        falls_per_km=1000.0 * falls / distance_m if distance_m > 0.0 else None,
        mean_distance_between_falls_m=distance_m / falls if falls else None,
        first_m=Mean.of([robot["first_m"] for robot in robots]),
        longest_m=max(robot["longest_m"] for robot in robots),
        height_map_l1_m=tuple(
            Piece(piece * bin_m, total / count, count)
            for piece, (total, count) in sorted(map_errors.items())
        ),
        per_robot=tuple(robots),
    )


def describe_robot(walks: Sequence[RouteWalk]) -> dict[str, Any]:
    """One robot: its distances without an incident, and its falls.

    An incident is whatever ended a walk before the end of a stage: a fall, being stuck,
    leaving the way, or physics that broke down. A stretch goes on over the end of a
    stage, where the robot stands still for a moment, but not over an incident.
    """
    stretches = [0.0]
    for walk in walks:
        stretches[-1] += walk.distance_m
        if walk.outcome != Outcome.SUCCESS:
            stretches.append(0.0)
    return {
        "distance_m": sum(stretches),
        "first_m": stretches[0],
        "longest_m": max(stretches),
        "falls": sum(walk.outcome == Outcome.FALL for walk in walks),
        "incidents": len(stretches) - 1,
        "steps": sum(walk.steps for walk in walks),
    }


def _mean_over(jobs: Sequence[Job], name: str) -> float | None:
    means = [job.measures[name].mean for job in jobs if name in job.measures]
    return float(np.mean([mean for mean in means if mean is not None]))


def _pool(jobs: Sequence[Job]) -> Rate:
    return success_rate(
        sum(job.success.successes for job in jobs),
        sum(job.success.rollouts for job in jobs),
    )
