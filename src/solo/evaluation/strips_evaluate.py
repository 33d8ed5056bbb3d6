"""Run an evaluation on strips with a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
from solo.evaluation.results import describe
from solo.evaluation.starts import draw_starts
from solo.evaluation.strip_env import make_strip_env
from solo.evaluation.strips import StripCell, StripProtocol, add_progress, with_limits


def evaluate_strips(
    protocol: StripProtocol,
    source: PolicySource,
    folder: Path,
    num_slots: int = NUM_SLOTS,
    num_threads: int | None = None,
    on_rollout: OnRollout = lambda cell, rollout: None,
    on_cell: OnCell = lambda result, is_new: None,
    num_failures: int = NUM_FAILURES,
) -> dict[str, Any]:
    """Run what is missing of an evaluation and return all of it.

    The arguments are those of `solo.evaluation.evaluate.evaluate`.
    """

    def run(cell: StripCell) -> dict[str, Any]:
        return run_strip_cell(
            protocol,
            source,
            cell,
            num_slots,
            num_threads,
            on_rollout,
            folder,
            num_failures,
        )

    config = describe(protocol, source)
    return run_missing(config, folder, protocol.cells, protocol.rollouts, run, on_cell)


def run_strip_cell(
    protocol: StripProtocol,
    source: PolicySource,
    cell: StripCell,
    num_slots: int = NUM_SLOTS,
    num_threads: int | None = None,
    on_rollout: OnRollout = lambda cell, rollout: None,
    folder: Path | None = None,
    num_failures: int = NUM_FAILURES,
) -> dict[str, Any]:
    """Run all trials on one strip; failures are recorded if there is a folder."""
    slots = slots_for(protocol.rollouts, num_slots)
    limited = with_limits(protocol, cell.finish_m, cell.time_s)
    scene = protocol.scene(cell)
    result, rollouts = run_job(
        source,
        cell,
        lambda: make_strip_env(
            source, limited, scene, cell.patch_m / 2, slots, num_threads
        ),
        draw_starts(protocol, cell, len(source.robot.joint_names)),
        limited.limits,
        on_rollout,
        folder,
        num_failures,
    )
    return add_progress(result, cell.elements, rollouts)
