"""Evaluations as jobs: each is run in an environment of its own and kept when done."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from solo.evaluation.failures import JobEnv, RecordedEnv, write_failures
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.protocols import Cell, LimitsCfg
from solo.evaluation.results import (
    RESULT,
    describe_all,
    describe_cell,
    open_results,
    read_cell,
    write_cell,
)
from solo.evaluation.rollout import LANES, Policy, Rollout, RolloutEnv, run_rollouts
from solo.evaluation.starts import Start
from solo.files import write_json
from solo.sim.threads import stepping_threads

C = TypeVar("C", bound=Cell)
T = TypeVar("T")
OnEnd = Callable[[Rollout], None]
"""Called with each rollout that has ended."""
OnRollout = Callable[[Cell, Rollout], None]
"""The same, with its job."""
OnCell = Callable[[dict[str, Any], bool], None]
"""Called with the result of each job, and whether it was run now."""

NUM_SLOTS = 64
"""Rollouts at a time. More make a step cheaper per robot, and the last ones of a job
wait longer for each other."""


def run_missing(
    config: dict[str, Any],
    folder: Path,
    cells: Sequence[C],
    num_rollouts: int,
    run: Callable[[C], dict[str, Any]],
    on_cell: OnCell,
    finish: Callable[[dict[str, Any]], dict[str, Any]] = lambda result: result,
) -> dict[str, Any]:
    """Read or run each job, and write the result of all.

    Args:
        config: Everything that the numbers depend on.
        folder: Where results are kept; jobs found there are not repeated.
        cells: The jobs.
        num_rollouts: Rollouts of each.
        run: Runs one of them.
        on_cell: Called with the result of each.
        finish: Adds to the result of all.

    Raises:
        SoloError: The folder holds another evaluation, or a file is malformed.
    """
    results = []
    with open_results(folder, config):
        for cell in cells:
            result = read_cell(folder, cell, num_rollouts)
            is_new = result is None
            if result is None:
                result = json.loads(json.dumps(run(cell)))  # As it will be read.
                write_cell(folder, result)
            results.append(result)
            on_cell(result, is_new)
        result = finish(describe_all(config, results))
        write_json(folder / RESULT, result)
    return result


def slots_for(num_rollouts: int, num_slots: int) -> int:
    """Slots of a job: no more than it has rollouts, a multiple of `LANES`."""
    return min(num_slots, -(-num_rollouts // LANES) * LANES)


def run_job(
    source: PolicySource,
    cell: Cell,
    make_env: Callable[[], JobEnv],
    starts: Sequence[Start],
    limits: LimitsCfg,
    on_rollout: OnRollout,
    folder: Path | None = None,
    num_failures: int = 0,
) -> tuple[dict[str, Any], list[Rollout]]:
    """Run all rollouts of one job.

    Args:
        source: The policy.
        cell: The job.
        make_env: Builds its environment, which is closed afterwards.
        starts: How the rollouts begin.
        limits: When they end.
        on_rollout: Called with each that has ended.
        folder: Of the evaluation, for recordings of failures; None for none.
        num_failures: How many are kept.

    Returns:
        The result, which lists the recordings, and the rollouts.
    """

    def run(env: RolloutEnv, policy: Policy, on_end: OnEnd) -> list[Rollout]:
        return run_rollouts(env, policy, starts, limits, on_end)

    describe = functools.partial(describe_cell, cell)
    return run_recorded(
        source, cell, make_env, run, describe, on_rollout, folder, num_failures
    )


def run_recorded(
    source: PolicySource,
    cell: Cell,
    make_env: Callable[[], JobEnv],
    run: Callable[[RolloutEnv, Policy, OnEnd], T],
    describe: Callable[[T, int, float], dict[str, Any]],
    on_rollout: OnRollout,
    folder: Path | None = None,
    num_failures: int = 0,
) -> tuple[dict[str, Any], T]:
    """Run one job in its environment and keep its first failures.

    Args:
        source: The policy.
        cell: The job.
        make_env: Builds its environment, which is closed afterwards.
        run: Runs it, and calls its last argument with each rollout that has ended.
        describe: Makes the result of what `run` returned, the steps that were
            simulated and the time that it took.
        on_rollout: Called with each rollout that has ended.
        folder: Of the evaluation, for recordings of failures; None for none.
        num_failures: How many are kept.

    Returns:
        The result, which lists the recordings, and what `run` returned.
    """
    started = time.perf_counter()
    with stepping_threads():
        env = make_env()
        recorded = RecordedEnv(env, num_failures if folder is not None else 0)

        def on_end(rollout: Rollout) -> None:
            recorded.on_end(rollout)
            on_rollout(cell, rollout)

        try:
            found = run(recorded, source.make(env.env), on_end)
            env_steps = env.num_slots * env.env.common_step_counter
        finally:
            env.close()
    result = describe(found, env_steps, time.perf_counter() - started)
    if folder is not None:
        kept, name = recorded.failures.values(), source.robot.name
        result["failures"] = write_failures(folder, cell, kept, name)
    return result, found
