"""Run a protocol with a policy: job after job, each kept when it is done.

The folder of an evaluation holds ``config.json`` (protocol, policy and versions),
``cells/JOB.json`` for each job that is done, so that a killed one goes on,
``failures/`` with the last seconds of some of its rollouts (see
`solo.evaluation.failures`), and ``result.json`` at the end. Files are written aside and
renamed. Everything that changes numbers is in the configuration; a folder takes no
results of another one.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from solo import __version__
from solo.errors import SoloError
from solo.evaluation.conditions import Condition, make_condition_env
from solo.evaluation.failures import NUM_FAILURES, RecordedEnv, write_failures
from solo.evaluation.metrics import summarise, summarise_rollouts
from solo.evaluation.protocols import EvalCell, OnStep, Protocol, Wave
from solo.evaluation.rollout import (
    LANES,
    Policy,
    PolicySource,
    RolloutEnv,
    run_rollouts,
)
from solo.files import check_same, owned_folder, read_json, write_json
from solo.result_files import RESULT, parse, write_result
from solo.results import Evaluation, Job, Rollout
from solo.sim.threads import stepping_threads

CONFIG, CELLS = "config.json", "cells"

OnRollout = Callable[[EvalCell, Rollout], None]
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
                write_json(folder / CELLS / f"{job.name}.json", asdict(job))
            jobs.append(job)
            on_job(job, is_new)
        found = protocol.describe_all(gather(config, jobs))
        write_result(folder / RESULT, found)
    return found


def run_cell(
    protocol: Protocol,
    source: PolicySource,
    cell: EvalCell,
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
        num_kept = num_failures if folder is not None else 0
        recorded = RecordedEnv(env, source.robot.name, num_kept)

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
        failures = write_failures(folder, cell, recorded.failures.values())
    rollouts = [rollout for _, rollout in waves[0]]
    if not protocol.records_landings:
        rollouts = [replace(rollout, landings=()) for rollout in rollouts]
    wall_time_s = time.perf_counter() - started
    job = describe_job(cell, rollouts, env_steps, wall_time_s, failures)
    return protocol.describe_job(job, cell, waves, watch)


def run_waves(
    protocol: Protocol,
    cell: EvalCell,
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


_SHARED = {field.name for field in fields(EvalCell)}


def describe_job(
    cell: EvalCell,
    rollouts: Sequence[Rollout],
    env_steps: int,
    wall_time_s: float,
    failures: Sequence[str] = (),
) -> Job:
    """The result of one job; its steps are those of all slots, waiting or not."""
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


def describe(
    protocol: Protocol, source: PolicySource, condition: Condition | None = None
) -> dict[str, Any]:
    """Everything that the numbers of an evaluation depend on."""
    config = {
        "protocol": {**asdict(protocol), "terrain_seed": protocol.terrain_seed},
        "policy": source.describe(),
        **({} if condition is None else {"condition": condition.describe()}),
        "versions": _versions(),
    }
    return json.loads(json.dumps(config))  # As it will be read: lists, not tuples.


@contextmanager
def open_results(folder: Path, config: Mapping[str, Any]) -> Iterator[None]:
    """Own a results folder, new or of the same evaluation.

    Raises:
        SoloError: The folder holds another evaluation, cannot be written or is in use.
    """
    with owned_folder(folder):
        (folder / CELLS).mkdir(exist_ok=True)
        path = folder / CONFIG
        if path.exists():
            check_same(folder, "evaluation", read_json(path, _MEND), config)
        else:
            write_json(path, config)
        yield


def read_job(folder: Path, cell: EvalCell, rollouts: int) -> Job | None:
    """The result of a job, or None if it is not done.

    Raises:
        SoloError: There is a file, but not one of ours.
    """
    path = folder / CELLS / f"{cell.name}.json"
    if not path.exists():
        return None
    job = parse(Job, read_json(path, _MEND), path, _MEND)
    found = len(job.rollouts)
    if found != rollouts or sum(job.outcomes.values()) != rollouts:
        raise SoloError(
            f"Cannot use {str(path)!r}: it has {found} rollouts, not {rollouts}. "
            f"{_MEND}"
        )
    return job


_MEND = "Delete it to run its part again, or choose another output."


def _versions() -> dict[str, str]:
    packages = ("torch", "mujoco", "mjlab", "rsl-rl-lib", "numpy")
    return {
        "solo": __version__,
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in packages},
    }
