"""A protocol under one condition after the other, and what each of them costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from solo.algorithms.perception import DEPTH
from solo.evaluation.conditions import CONDITIONS, NOMINAL, Condition
from solo.evaluation.evaluate import evaluate
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.protocols import STRESS, Protocol
from solo.evaluation.results import RESULT, describe
from solo.files import write_json

ROBUSTNESS: Protocol = replace(STRESS, name="robustness", rollouts=32)
"""The stress test with fewer rollouts, which each condition repeats.

Not in the paper. 32 rollouts on eight terrains are 256 per condition: a success rate of
50 % is then known to 6 percentage points.
"""

MAP_ERROR = "height_map_l1_m"


def evaluate_robustness(
    protocol: Protocol,
    source: PolicySource,
    folder: Path,
    conditions: Sequence[Condition] = tuple(CONDITIONS.values()),
    on_condition: Callable[[Condition], None] = lambda condition: None,
    **settings: Any,
) -> dict[str, Any]:
    """Evaluate a policy under conditions; finished jobs found on disk are kept.

    Args:
        protocol: What to run under each condition, with the same starts.
        source: The policy. Without a camera it is spared what is done to depth.
        folder: Each condition gets a folder in it.
        conditions: Which ones; the nominal one is always run, and first.
        on_condition: Called when one begins.
        **settings: Further arguments of `evaluate`.

    Returns:
        Protocol, policy and versions, and a row per condition; see `describe_row`.

    Raises:
        SoloError: See `evaluate`.
    """
    rows, nominal = [], None
    others = [condition for condition in conditions if condition != NOMINAL]
    for condition in (NOMINAL, *others):
        if not applies(condition, source):
            rows.append(
                {
                    "name": condition.name,
                    "condition": condition.describe(),
                    "is_applicable": False,
                    "reason": "the policy has no depth camera",
                }
            )
            continue
        on_condition(condition)
        found = evaluate(
            protocol, source, folder / condition.name, condition=condition, **settings
        )
        nominal = found if nominal is None else nominal
        rows.append(describe_row(condition, found, nominal))
    run = [row for row in rows if row["is_applicable"]]
    env_steps = sum(row["env_steps"] for row in run)
    wall_time_s = sum(row["wall_time_s"] for row in run)
    result = {
        **describe(protocol, source),
        "conditions": rows,
        "wall_time_s": wall_time_s,
        "env_steps": env_steps,
        "env_steps_per_s": env_steps / wall_time_s,
    }
    write_json(folder / RESULT, result)
    return result


def applies(condition: Condition, source: PolicySource) -> bool:
    """Whether a condition can make a difference to a policy."""
    return DEPTH in source.groups or not condition.needs_depth


def describe_row(
    condition: Condition, found: Mapping[str, Any], nominal: Mapping[str, Any]
) -> dict[str, Any]:
    """The result of one condition.

    Args:
        condition: The condition.
        found: What `evaluate` returned.
        nominal: The same of the nominal condition.

    Returns:
        ``success`` and ``measures`` over all jobs, ``cost`` against the nominal
        condition, and the ``cells`` without single rollouts. ``failures`` are relative
        to the folder of all conditions.
    """
    summary = found["summary"]
    cells = []
    for cell in found["cells"]:
        kept = {k: v for k, v in cell.items() if k != "rollouts"}
        files = [f"{condition.name}/{name}" for name in cell.get("failures", ())]
        cells.append({**kept, "failures": files})
    return {
        "name": condition.name,
        "condition": condition.describe(),
        "is_applicable": True,
        "success": summary["success"],
        "worst": summary["worst"],
        "measures": summary["measures"],
        "cost": describe_cost(summary, nominal["summary"]),
        "wall_time_s": found["wall_time_s"],
        "env_steps": found["env_steps"],
        "env_steps_per_s": found["env_steps_per_s"],
        "cells": cells,
    }


def describe_cost(
    summary: Mapping[str, Any], nominal: Mapping[str, Any]
) -> dict[str, Any]:
    """Success lost against the nominal condition, and what the map error grew by.

    Returns:
        ``success_points`` in percentage points with the 95 % interval ``low`` to
        ``high``, and ``height_map_l1_m`` in metres, None without a camera.
    """
    lost = rate_difference(nominal["success"], summary["success"])
    errors = [s["measures"].get(MAP_ERROR) for s in (nominal, summary)]
    grown = None if None in errors else errors[1] - errors[0]
    names = ("success_points", "low", "high")
    points = {n: 100.0 * v for n, v in zip(names, lost, strict=True)}
    return {**points, MAP_ERROR: grown}


def rate_difference(
    first: Mapping[str, Any], second: Mapping[str, Any]
) -> tuple[float, float, float]:
    """First rate minus second with Newcombe's 95 % interval.

    It is made of both Wilson intervals, so it holds near 0 and 1 as they do. That both
    rates are of the same starts is not used: the interval is, if anything, too wide.

    Args:
        first: ``rate``, ``low`` and ``high`` of `solo.evaluation.metrics.success_rate`.
        second: Those of the other.
    """
    p, q = first["rate"], second["rate"]
    below = math.hypot(p - first["low"], second["high"] - q)
    above = math.hypot(first["high"] - p, q - second["low"])
    return p - q, p - q - below, p - q + above
