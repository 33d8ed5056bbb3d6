"""Run a protocol with a policy: job after job, each kept when it is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from solo.evaluation.conditions import Condition, make_condition_env
from solo.evaluation.failures import NUM_FAILURES, RecordedEnv, write_failures
from solo.evaluation.folder import describe, open_results, read_job, write_job
from solo.evaluation.metrics import summarise, summarise_rollouts
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.protocols import Cell, OnStep, Protocol, Wave
from solo.evaluation.rollout import LANES, Policy, RolloutEnv, run_rollouts
from solo.result_files import RESULT, write_result
from solo.results import Evaluation, Job, Rollout
from solo.sim.threads import stepping_threads

OnRollout = Callable[[Cell, Rollout], None]
"""Called with each rollout that has ended, and its job."""
OnJob = Callable[[Job, bool], None]
"""Called with the result of each job, and whether it was run now."""

NUM_SLOTS = 64
"""Rollouts at a time. More make a step cheaper per robot, and the last ones of a job
wait longer for each other."""


def evaluate(
    protocol: Protocol,
    source: PolicySource,
    folder: Path,
    num_slots: int = NUM_SLOTS,
    num_threads: int | None = None,
    on_rollout: OnRollout = lambda cell, rollout: None,
    on_job: OnJob = lambda job, is_new: None,
    condition: Condition | None = None,
    num_failures: int = NUM_FAILURES,
) -> Evaluation:
    """Run what is missing of an evaluation and return all of it.

    Args:
        protocol: What to run.
        source: With which policy.
        folder: Where results are kept; jobs found there are not repeated.
        num_slots: Rollouts at a time, rounded up to a multiple of `LANES`. Changes
            nothing but the time.
        num_threads: Threads of the physics; changes nothing but the time.
        on_rollout: Called with each rollout that has ended.
        on_job: Called with the result of each job, and whether it was run now.
        condition: What is different from the protocol; None for nothing.
        num_failures: Failures of each job whose last seconds are kept.

    Raises:
        SoloError: The folder holds another evaluation, or a file is malformed.
    """
    config = describe(protocol, source, condition)
    jobs = []
    with open_results(folder, config):
        for cell in protocol.cells:
            job = read_job(folder, cell, protocol.rollouts)
            is_new = job is None
            if job is None:
                job = run_cell(
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
                write_job(folder, job)
            jobs.append(job)
            on_job(job, is_new)
        found = protocol.describe_all(gather(config, jobs))
        write_result(folder / RESULT, found)
    return found


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
) -> Job:
    """Run one job in an environment of its own; see `evaluate` for the arguments.

    Failures are recorded if there is a folder; the result lists the files.
    """
    started = time.perf_counter()
    slots = min(num_slots, -(-protocol.rollouts // LANES) * LANES)
    watch = protocol.watch(cell)
    with stepping_threads():
        env = make_condition_env(source, protocol, cell, slots, num_threads, condition)
        recorded = RecordedEnv(env, num_failures if folder is not None else 0)

        def on_end(rollout: Rollout) -> None:
            recorded.on_end(rollout)
            on_rollout(cell, rollout)

        try:
            policy = source.make(env.env)
            num_joints = len(source.robot.joint_names)
            waves = run_waves(
                protocol, cell, recorded, policy, num_joints, on_end, watch
            )
            env_steps = env.num_slots * env.env.common_step_counter
        finally:
            env.close()
    failures: Sequence[str] = ()
    if folder is not None:
        kept, name = recorded.failures.values(), source.robot.name
        failures = write_failures(folder, cell, kept, name)
    rollouts = [rollout for _, rollout in waves[0]]
    wall_time_s = time.perf_counter() - started
    job = describe_job(cell, rollouts, env_steps, wall_time_s, failures)
    return protocol.describe_job(job, cell, waves, watch)


def run_waves(
    protocol: Protocol,
    cell: Cell,
    env: RolloutEnv,
    policy: Policy,
    num_joints: int,
    on_end: Callable[[Rollout], None] = lambda rollout: None,
    watch: OnStep | None = None,
) -> list[Wave]:
    """All rollouts of a job, then those of robots that start again, until none does."""
    limits, waves = protocol.limits_of(cell), []
    starts = protocol.starts(cell, num_joints)
    while starts:
        rollouts = run_rollouts(env, policy, starts, limits, on_end, watch)
        waves.append(list(zip(starts, rollouts, strict=True)))
        again = [
            protocol.start_again(cell, start, rollout, num_joints)
            for start, rollout in waves[-1]
        ]
        starts = [start for start in again if start is not None]
    return waves


_SHARED = {field.name for field in fields(Cell)}


def describe_job(
    cell: Cell,
    rollouts: Sequence[Rollout],
    env_steps: int,
    wall_time_s: float,
    failures: Sequence[str] = (),
) -> Job:
    """The result of one job.

    Args:
        cell: The job.
        rollouts: All of its rollouts.
        env_steps: Control steps of all slots, those that waited included.
        wall_time_s: How long it took.
        failures: Recordings.
    """
    setting = asdict(cell)
    shared = {key: setting.pop(key) for key in _SHARED}
    return Job(
        name=cell.name,
        **shared,
        **summarise_rollouts(rollouts),
        wall_time_s=wall_time_s,
        env_steps=env_steps,
        env_steps_per_s=env_steps / wall_time_s,
        setting=setting,
        rollouts=tuple(rollouts),
        failures=tuple(failures),
    )


def gather(config: Mapping[str, Any], jobs: Sequence[Job]) -> Evaluation:
    """The result of an evaluation, with the times of all jobs, also of earlier runs."""
    return Evaluation(
        **config, cells=tuple(jobs), summary=summarise(jobs), **total_times(jobs)
    )


def total_times(parts: Sequence[Any]) -> dict[str, Any]:
    """Steps and time of several jobs or evaluations together."""
    wall_time_s = sum(part.wall_time_s for part in parts)
    env_steps = sum(part.env_steps for part in parts)
    return {
        "wall_time_s": wall_time_s,
        "env_steps": env_steps,
        "env_steps_per_s": env_steps / wall_time_s,
    }


def without_rollouts(job: Job, folder: str) -> Job:
    """A job for the result of several evaluations, each in a folder of its own."""
    files = tuple(f"{folder}/{name}" for name in job.failures)
    return replace(job, rollouts=(), failures=files)
