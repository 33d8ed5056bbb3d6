"""Run a protocol with a policy on patches of the training's terrains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from solo.evaluation.conditions import Condition, make_condition_env
from solo.evaluation.failures import NUM_FAILURES
from solo.evaluation.jobs import (
    NUM_SLOTS,
    OnCell,
    OnRollout,
    run_job,
    run_missing,
    slots_for,
)
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.protocols import Cell, Protocol
from solo.evaluation.results import describe
from solo.evaluation.starts import draw_starts


def evaluate(
    protocol: Protocol,
    source: PolicySource,
    folder: Path,
    num_slots: int = NUM_SLOTS,
    num_threads: int | None = None,
    on_rollout: OnRollout = lambda cell, rollout: None,
    on_cell: OnCell = lambda result, is_new: None,
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

    def run(cell: Cell) -> dict[str, Any]:
        return run_cell(
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

    config = describe(protocol, source, condition)
    return run_missing(config, folder, protocol.cells, protocol.rollouts, run, on_cell)


def run_cell(
    protocol: Protocol,
    source: PolicySource,
    cell: Cell,
    num_slots: int = NUM_SLOTS,
    num_threads: int | None = None,
    on_rollout: OnRollout = lambda cell, rollout: None,
    condition: Condition | None = None,
    folder: Path | None = None,
    num_failures: int = NUM_FAILURES,
) -> dict[str, Any]:
    """Run one job; see `evaluate` for the arguments.

    Failures are recorded if there is a folder; the result lists the files.
    """
    slots = slots_for(protocol.rollouts, num_slots)
    result, _ = run_job(
        source,
        cell,
        lambda: make_condition_env(
            source, protocol, cell, slots, num_threads, condition
        ),
        draw_starts(protocol, cell, len(source.robot.joint_names)),
        protocol.limits,
        on_rollout,
        folder,
        num_failures,
    )
    return result
