"""Run the route: stage after stage, each kept when it is done."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from solo.evaluation.failures import NUM_FAILURES
from solo.evaluation.jobs import (
    NUM_SLOTS,
    OnCell,
    OnEnd,
    OnRollout,
    run_missing,
    run_recorded,
    slots_for,
)
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.results import describe, describe_cell
from solo.evaluation.rollout import Policy, RolloutEnv
from solo.evaluation.route import HALF_WIDTH_M, RouteProtocol, Stage
from solo.evaluation.route_metrics import summarise_route
from solo.evaluation.route_walk import StageWalks, Walk, walk_stage
from solo.evaluation.strip_env import StripEnv, make_strip_env
from solo.evaluation.strips import with_limits


def evaluate_route(
    protocol: RouteProtocol,
    source: PolicySource,
    folder: Path,
    num_slots: int = NUM_SLOTS,
    num_threads: int | None = None,
    on_walk: OnRollout = lambda cell, rollout: None,
    on_cell: OnCell = lambda result, is_new: None,
    num_failures: int = NUM_FAILURES,
) -> dict[str, Any]:
    """Walk what is missing of the route and return all of it.

    The arguments are those of `solo.evaluation.evaluate.evaluate`; `on_walk` is called
    with each walk that has ended.
    """

    def run(stage: Stage) -> dict[str, Any]:
        return run_stage(
            protocol,
            source,
            stage,
            num_slots,
            num_threads,
            on_walk,
            folder,
            num_failures,
        )

    def finish(result: dict[str, Any]) -> dict[str, Any]:
        return {**result, "route": summarise_cells(protocol, result["cells"])}

    config, cells = describe(protocol, source), protocol.cells
    return run_missing(config, folder, cells, protocol.rollouts, run, on_cell, finish)


def run_stage(
    protocol: RouteProtocol,
    source: PolicySource,
    stage: Stage,
    num_slots: int = NUM_SLOTS,
    num_threads: int | None = None,
    on_walk: OnRollout = lambda cell, rollout: None,
    folder: Path | None = None,
    num_failures: int = NUM_FAILURES,
) -> dict[str, Any]:
    """Walk one stage in an environment of its own.

    Incidents are recorded if there is a folder, those of first walks before others.
    """

    def make_env() -> StripEnv:
        return make_strip_env(
            source,
            with_limits(protocol, stage.length_m, stage.time_s),
            protocol.scene(stage),
            HALF_WIDTH_M,
            slots_for(protocol.rollouts, num_slots),
            num_threads,
            stage.track,
        )

    def run(env: RolloutEnv, policy: Policy, on_end: OnEnd) -> StageWalks:
        num_joints = len(source.robot.joint_names)
        return walk_stage(env, policy, protocol, stage, num_joints, on_end)

    describe = functools.partial(describe_stage, stage)
    result, _ = run_recorded(
        source, stage, make_env, run, describe, on_walk, folder, num_failures
    )
    return result


def describe_stage(
    stage: Stage, found: StageWalks, env_steps: int, wall_time_s: float
) -> dict[str, Any]:
    """The result of one stage; its rollouts are the first walks of the robots.

    So success is to come through the stage without an incident.
    """
    result = describe_cell(stage, found.waves[0], env_steps, wall_time_s)
    return {
        **result,
        "steps": sum(rollout.steps for wave in found.waves for rollout in wave),
        "walks": [walk.to_dict() for walk in found.walks],
        "map_errors": [
            {"piece": piece, "sum_m": total, "steps": count}
            for piece, (total, count) in sorted(found.map_errors.items())
        ],
    }


def summarise_cells(
    protocol: RouteProtocol, cells: list[Mapping[str, Any]]
) -> dict[str, Any]:
    """The numbers of the route from the results of its stages."""
    walks = [Walk(**walk) for cell in cells for walk in cell["walks"]]
    errors: dict[int, tuple[float, int]] = {}
    for cell in cells:
        for entry in cell["map_errors"]:
            total, count = errors.get(entry["piece"], (0.0, 0))
            added = total + entry["sum_m"], count + entry["steps"]
            errors[entry["piece"]] = added
    return summarise_route(
        walks, protocol.rollouts, protocol.length_m, errors, protocol.bin_m
    )
