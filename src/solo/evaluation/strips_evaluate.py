"""Run an evaluation on strips: job after job, each kept when it is done."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from solo.evaluation.evaluate import NUM_SLOTS
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.protocols import Cell, Protocol
from solo.evaluation.results import (
    RESULT,
    describe,
    describe_all,
    describe_cell,
    open_results,
    read_cell,
    write_cell,
)
from solo.evaluation.rollout import LANES, Rollout, run_rollouts
from solo.evaluation.starts import draw_starts
from solo.evaluation.strip_env import make_strip_env
from solo.evaluation.strips import StripCell, StripProtocol, add_progress, with_limits
from solo.files import write_json
from solo.sim.threads import stepping_threads

C = TypeVar("C", bound=Cell)
OnRollout = Callable[[Cell, Rollout], None]
OnCell = Callable[[dict[str, Any], bool], None]


def evaluate_strips(
    protocol: StripProtocol,
    source: PolicySource,
    folder: Path,
    num_slots: int = NUM_SLOTS,
    num_threads: int | None = None,
    on_rollout: OnRollout = lambda cell, rollout: None,
    on_cell: OnCell = lambda result, is_new: None,
) -> dict[str, Any]:
    """Run what is missing of an evaluation and return all of it.

    The arguments are those of `solo.evaluation.evaluate.evaluate`.
    """

    def run(cell: StripCell) -> dict[str, Any]:
        return run_strip_cell(
            protocol, source, cell, num_slots, num_threads, on_rollout
        )

    return run_missing(protocol, source, folder, protocol.cells, run, on_cell)


def run_missing(
    protocol: Protocol,
    source: PolicySource,
    folder: Path,
    cells: tuple[C, ...],
    run: Callable[[C], dict[str, Any]],
    on_cell: OnCell,
    finish: Callable[[dict[str, Any]], dict[str, Any]] = lambda result: result,
) -> dict[str, Any]:
    """Read or run each job, and write the result of all.

    Args:
        protocol: What is run.
        source: With which policy.
        folder: Where results are kept; jobs found there are not repeated.
        cells: The jobs.
        run: Runs one of them.
        on_cell: Called with the result of each, and whether it was run now.
        finish: Adds to the result of all.
    """
    config = describe(protocol, source)
    results = []
    with open_results(folder, config):
        for cell in cells:
            result = read_cell(folder, cell, protocol.rollouts)
            is_new = result is None
            if result is None:
                result = json.loads(json.dumps(run(cell)))  # As it will be read.
                write_cell(folder, result)
            results.append(result)
            on_cell(result, is_new)
        result = finish(describe_all(config, results))
        write_json(folder / RESULT, result)
    return result


def run_strip_cell(
    protocol: StripProtocol,
    source: PolicySource,
    cell: StripCell,
    num_slots: int = NUM_SLOTS,
    num_threads: int | None = None,
    on_rollout: OnRollout = lambda cell, rollout: None,
) -> dict[str, Any]:
    """Run all trials on one strip in an environment of its own."""
    started = time.perf_counter()
    num_slots = min(num_slots, -(-protocol.rollouts // LANES) * LANES)
    limited = with_limits(protocol, cell.finish_m, cell.time_s)
    scene = protocol.scene(cell)
    starts = draw_starts(protocol, cell, len(source.robot.joint_names))
    with stepping_threads():
        env = make_strip_env(
            source, limited, scene, cell.patch_m / 2, num_slots, num_threads
        )
        try:
            rollouts = run_rollouts(
                env,
                source.make(env.env),
                starts,
                limited.limits,
                lambda rollout: on_rollout(cell, rollout),
            )
            env_steps = env.num_slots * env.env.common_step_counter
        finally:
            env.close()
    wall_time_s = time.perf_counter() - started
    result = describe_cell(cell, rollouts, env_steps, wall_time_s)
    return add_progress(result, cell.elements, rollouts)
