"""Ten levels of every terrain, and two sets of policies compared seed by seed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from solo.errors import SoloError
from solo.evaluation.evaluate import evaluate
from solo.evaluation.metrics import paired_difference, summarise_levels
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.protocols import Protocol
from solo.evaluation.results import RESULT
from solo.files import write_json


def evaluate_levels(
    protocol: Protocol,
    first: Sequence[PolicySource],
    second: Sequence[PolicySource],
    folder: Path,
    **settings: Any,
) -> dict[str, Any]:
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

    def run(source: PolicySource) -> dict[str, Any]:
        found = evaluate(protocol, source, folder / source.slug, **settings)
        cells = [
            {k: v for k, v in c.items() if k != "rollouts"} for c in found["cells"]
        ]
        return {**found, "cells": cells, "aggregates": summarise_levels(cells)}

    sets = {"first": [run(s) for s in first], "second": [run(s) for s in second]}
    runs = [*sets["first"], *sets["second"]]
    env_steps = sum(found["env_steps"] for found in runs)
    wall_time_s = sum(found["wall_time_s"] for found in runs)
    result: dict[str, Any] = {
        **sets,
        "env_steps": env_steps,
        "wall_time_s": wall_time_s,
        "env_steps_per_s": env_steps / wall_time_s,
    }
    if second:
        a, b = (
            [found["aggregates"] for found in found_in] for found_in in sets.values()
        )
        result["paired"] = paired_difference(a, b)
    write_json(folder / RESULT, result)
    return result
