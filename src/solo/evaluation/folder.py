"""An evaluation on disk: a file per finished job, so that a killed one goes on.

A folder holds ``config.json`` (protocol, policy and versions), ``cells/JOB.json`` for
each job that is done, ``failures/`` with the last seconds of some of its rollouts (see
`solo.evaluation.failures`), and ``result.json`` at the end. Files are written aside and
renamed. Everything that changes numbers is in the configuration; a folder takes no
results of another one.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from solo import __version__
from solo.errors import SoloError
from solo.evaluation.conditions import Condition
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.protocols import Cell, Protocol
from solo.files import owned_folder, read_json, write_json
from solo.result_files import parse
from solo.results import Job

CONFIG, CELLS = "config.json", "cells"


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
            found = read_json(path, _MEND)
            for key, here, there in _differences(config, found):
                raise SoloError(
                    f"{str(folder)!r} holds another evaluation: {key} is {there} "
                    f"there and {here} here. Choose another --output."
                )
        else:
            write_json(path, config)
        yield


def write_job(folder: Path, job: Job) -> None:
    """Keep the result of a job."""
    write_json(folder / CELLS / f"{job.name}.json", asdict(job))


def read_job(folder: Path, cell: Cell, rollouts: int) -> Job | None:
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


_MEND = "Delete it to run its part again, or choose another --output."


def _differences(
    here: Any, there: Any, path: str = ""
) -> Iterator[tuple[str, object, object]]:
    """Paths at which two JSON values differ, with both values."""
    if isinstance(here, Mapping) and isinstance(there, Mapping):
        for key in dict.fromkeys((*here, *there)):
            inner = f"{path}.{key}" if path else str(key)
            yield from _differences(here.get(key), there.get(key), inner)
    elif here != there:
        yield path, here, there


def _versions() -> dict[str, str]:
    packages = ("torch", "mujoco", "mjlab", "rsl-rl-lib", "numpy")
    return {
        "solo": __version__,
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in packages},
    }
