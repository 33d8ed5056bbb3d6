"""Run a protocol with a policy: job after job, each kept when it is done."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from solo.evaluation.conditions import Condition, make_condition_env
from solo.evaluation.failures import NUM_FAILURES, RecordedEnv, write_failures
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
from solo.files import write_json
from solo.sim.threads import stepping_threads

NUM_SLOTS = 64
"""Rollouts at a time. More make a step cheaper per robot, and the last ones of a job
wait longer for each other."""


def evaluate(
    protocol: Protocol,
    source: PolicySource,
    folder: Path,
    num_slots: int = NUM_SLOTS,
    num_threads: int | None = None,
    on_rollout: Callable[[Cell, Rollout], None] = lambda cell, rollout: None,
    on_cell: Callable[[dict[str, Any], bool], None] = lambda result, is_new: None,
    condition: Condition | None = None,
    num_failures: int = NUM_FAILURES,
) -> dict[str, Any]:
    """Run what is missing of an evaluation and return all of it.

    Args:
        protocol: What to run.
        source: With which policy.
        folder: Where results are kept; jobs found there are not repeated.
        num_slots: Rollouts at a time, rounded up to a multiple of `LANES`. Changes
            nothing but the time.
        num_threads: Threads of the physics; changes nothing but the time.
        on_rollout: Called with each rollout that has ended.
        on_cell: Called with the result of each job, and whether it was run now.
        condition: What is different from the protocol; None for nothing.
        num_failures: Failures of each job whose last seconds are kept.

    Raises:
        SoloError: The folder holds another evaluation, or a file is malformed.
    """
    config = describe(protocol, source, condition)
    results = []
    with open_results(folder, config):
        for cell in protocol.cells:
            result = read_cell(folder, cell, protocol.rollouts)
            is_new = result is None
            if result is None:
                result = run_cell(
                    protocol,
                    source,
                    cell,
                    num_slots,
                    num_threads,
                    on_rollout,
                    condition,
                    folder,
                    num_failures,
                )
                write_cell(folder, result)
            results.append(result)
            on_cell(result, is_new)
        result = describe_all(config, results)
        write_json(folder / RESULT, result)
    return result


def run_cell(
    protocol: Protocol,
    source: PolicySource,
    cell: Cell,
    num_slots: int = NUM_SLOTS,
    num_threads: int | None = None,
    on_rollout: Callable[[Cell, Rollout], None] = lambda cell, rollout: None,
    condition: Condition | None = None,
    folder: Path | None = None,
    num_failures: int = NUM_FAILURES,
) -> dict[str, Any]:
    """Run one job in an environment of its own; see `evaluate` for the arguments.

    Failures are recorded if there is a folder; the result lists the files.
    """
    started = time.perf_counter()
    num_slots = min(num_slots, -(-protocol.rollouts // LANES) * LANES)
    with stepping_threads():
        env = make_condition_env(
            source, protocol, cell, num_slots, num_threads, condition
        )
        recorded = RecordedEnv(env, num_failures if folder is not None else 0)

        def on_end(rollout: Rollout) -> None:
            recorded.on_end(rollout)
            on_rollout(cell, rollout)

        try:
            rollouts = run_rollouts(
                recorded,
                source.make(env.env),
                draw_starts(protocol, cell, len(source.robot.joint_names)),
                protocol.limits,
                on_end,
            )
            env_steps = env.num_slots * env.env.common_step_counter
        finally:
            env.close()
    wall_time_s = time.perf_counter() - started
    result = describe_cell(cell, rollouts, env_steps, wall_time_s)
    if folder is not None:
        name = source.robot.name
        result["failures"] = write_failures(folder, cell, recorded.failures, name)
    return result
