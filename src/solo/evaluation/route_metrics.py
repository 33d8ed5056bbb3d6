"""Numbers of a walk along the route, as pure functions; see ``docs/metrics.md``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from solo.evaluation.metrics import mean_std, success_rate
from solo.evaluation.rollout import Outcome
from solo.evaluation.route_walk import Walk


def summarise_route(
    walks: Sequence[Walk],
    num_robots: int,
    length_m: float,
    map_errors: Mapping[int, tuple[float, int]],
    bin_m: float,
) -> dict[str, Any]:
    """All numbers of the route.

    Args:
        walks: Of all stages and robots, each robot's in the order of the route.
        num_robots: How many there were.
        length_m: Of the route.
        map_errors: Number of a piece of the route to sum and count of the error.
        bin_m: Length of a piece.
    """
    robots = [
        describe_robot([walk for walk in walks if walk.robot == robot])
        for robot in range(num_robots)
    ]
    distance_m = sum(robot["distance_m"] for robot in robots)
    falls = sum(robot["falls"] for robot in robots)
    done = sum(robot["incidents"] == 0 for robot in robots)
    return {
        "robots": num_robots,
        "length_m": length_m,
        "completed": success_rate(done, num_robots),
        "distance_m": distance_m,
        "share_walked": distance_m / (num_robots * length_m),
        "falls": falls,
        "incidents": sum(robot["incidents"] for robot in robots),
        "falls_per_km": 1000.0 * falls / distance_m if distance_m > 0.0 else None,
        "mean_distance_between_falls_m": distance_m / falls if falls else None,
        "first_m": mean_std([robot["first_m"] for robot in robots]),
        "longest_m": max(robot["longest_m"] for robot in robots),
        "height_map_l1_m": [
            {"from_m": piece * bin_m, "mean": total / count, "steps": count}
            for piece, (total, count) in sorted(map_errors.items())
        ],
        "per_robot": robots,
    }


def describe_robot(walks: Sequence[Walk]) -> dict[str, Any]:
    """One robot: its distances without an incident, and its falls.

    An incident is whatever ended a walk before the end of a stage: a fall, being stuck,
    leaving the way, or physics that broke down. A stretch goes on over the end of a
    stage, where the robot stands still for a moment, but not over an incident.
    """
    stretches = [0.0]
    for walk in walks:
        stretches[-1] += walk.distance_m
        if walk.outcome != Outcome.SUCCESS.value:
            stretches.append(0.0)
    return {
        "distance_m": sum(stretches),
        "first_m": stretches[0],
        "longest_m": max(stretches),
        "falls": sum(walk.outcome == Outcome.FALL.value for walk in walks),
        "incidents": len(stretches) - 1,
        "steps": sum(walk.steps for walk in walks),
    }
