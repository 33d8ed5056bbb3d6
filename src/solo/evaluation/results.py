"""Results on disk: one file per finished job, so that a killed evaluation goes on.

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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from solo import __version__
from solo.errors import SoloError
from solo.evaluation.conditions import Condition
from solo.evaluation.metrics import summarise, summarise_cell
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.protocols import Cell, Protocol
from solo.evaluation.rollout import Rollout
from solo.files import owned_folder, write_json

CONFIG, RESULT, CELLS = "config.json", "result.json", "cells"

_CELL_KEYS = {
    "name": str, "terrain": str, "difficulty": float, "level": int, "patch_m": float,
    "success": dict, "outcomes": dict, "measures": dict, "steps": int,
    "wall_time_s": float, "env_steps": int, "env_steps_per_s": float, "rollouts": list,
}  # fmt: skip
"""What the file of a job must have."""


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


def describe_cell(
    cell: Cell, rollouts: Sequence[Rollout], env_steps: int, wall_time_s: float
) -> dict[str, Any]:
    """The result of one job.

    Args:
        cell: The job.
        rollouts: All of its rollouts.
        env_steps: Control steps of all slots, those that waited included.
        wall_time_s: How long it took.
    """
    return {
        "name": cell.name,
        **asdict(cell),
        **summarise_cell(rollouts),
        "wall_time_s": wall_time_s,
        "env_steps": env_steps,
        "env_steps_per_s": env_steps / wall_time_s,
        "rollouts": [rollout.to_dict() for rollout in rollouts],
    }


def describe_all(
    config: Mapping[str, Any], cells: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The result of an evaluation, with the times of all jobs, also of earlier runs."""
    wall_time_s = sum(cell["wall_time_s"] for cell in cells)
    env_steps = sum(cell["env_steps"] for cell in cells)
    return {
        **config,
        "summary": summarise(cells),
        "wall_time_s": wall_time_s,
        "env_steps": env_steps,
        "env_steps_per_s": env_steps / wall_time_s,
        "cells": list(cells),
    }


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
            found = _read(path)
            for key, here, there in _differences(config, found):
                raise SoloError(
                    f"{str(folder)!r} holds another evaluation: {key} is {there} "
                    f"there and {here} here. Choose another --output."
                )
        else:
            write_json(path, config)
        yield


def write_cell(folder: Path, result: Mapping[str, Any]) -> None:
    """Keep the result of a job."""
    write_json(folder / CELLS / f"{result['name']}.json", result)


def read_cell(folder: Path, cell: Cell, rollouts: int) -> dict[str, Any] | None:
    """The result of a job, or None if it is not done.

    Raises:
        SoloError: There is a file, but not one of ours.
    """
    path = folder / CELLS / f"{cell.name}.json"
    if not path.exists():
        return None
    result = _read(path)
    for key, kind in _CELL_KEYS.items():
        value = result.get(key)
        if isinstance(value, int) and kind is float:
            value = float(value)
        if not isinstance(value, kind):
            raise _malformed(path, f"{key!r} is {value!r}, not a {kind.__name__}")
    found = len(result["rollouts"])
    if found != rollouts or sum(result["outcomes"].values()) != rollouts:
        raise _malformed(path, f"it has {found} rollouts, not {rollouts}")
    return result


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise _malformed(path, str(error)) from error
    if not isinstance(value, dict):
        raise _malformed(path, "it is not a JSON object")
    return value


def _malformed(path: Path, reason: str) -> SoloError:
    return SoloError(
        f"Cannot use the result file {str(path)!r}: {reason}. Delete it to run its "
        "part again, or choose another --output."
    )


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
