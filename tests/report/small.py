"""A stress result whose numbers are worked out by hand: two terrains, four rollouts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from solo.evaluation.evaluate import describe, describe_job, gather
from solo.evaluation.policies import open_policy
from solo.evaluation.protocols import STRESS
from solo.result_files import to_json
from solo.results import Outcome, Rollout

SMALL = replace(STRESS, terrains=("gap", "stones_aligned"), rollouts=4)


def small_stress(
    policy: str = "mine/model_7.pt", stumble: float = 0.1
) -> dict[str, Any]:
    """Gap: all four succeed. Stones: one succeeds, two fall, one is late.

    Map errors are 1, 2, 3 and 4 cm: mean 2.5, deviation 1.291, and with t = 3.182 the
    interval of the mean is 2.5 +- 2.05.
    """
    ends = {
        "gap": [Outcome.SUCCESS] * 4,
        "stones_aligned": [
            Outcome.SUCCESS,
            Outcome.FALL,
            Outcome.FALL,
            Outcome.TIME_OUT,
        ],
    }
    cells = []
    for cell in SMALL.cells:
        rollouts = [
            Rollout(k, outcome, 100, 5.1 if k == 0 else 1.5, 0.0, 0.6, k,
                    {"height_map_l1_m": 0.01 * (k + 1), "velocity_error": 0.25,
                     "feet_stumble": stumble})
            for k, outcome in enumerate(ends[cell.terrain])
        ]  # fmt: skip
        cells.append(describe_job(cell, rollouts, 400, 2.0))
    config = describe(SMALL, open_policy("stand"))
    config["policy"] |= {"name": policy, "kind": "perceptive", "sha256": "ab" * 32}
    return to_json(gather(config, cells))
