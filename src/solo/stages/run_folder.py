"""The folder of a training run: configuration, checkpoints and logs."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from solo.errors import SoloError
from solo.files import owned_folder, write_json

CONFIG = "run.json"
"""What the run was started with."""


def default_folder(stage: str, name: str) -> Path:
    """Where mjlab's users look for a run: ``logs/rsl_rl/EXPERIMENT/TIME_NAME``."""
    stamp = time.strftime("%Y-%m-%d_%H-%M-%S")
    return Path("logs") / "rsl_rl" / f"solo_{stage}" / f"{stamp}_{name}"


_CHECKPOINT = re.compile(r"model_(\d+)\.pt")


@contextmanager
def open_run(folder: Path, config: dict[str, Any], resume: bool) -> Iterator[None]:
    """Own a run's folder: one process at a time, and no second run on top of a first.

    Args:
        folder: Created if it is not there.
        config: Written to ``run.json``; a resumed run keeps its first one as well, in
            the list ``resumed``.
        resume: Whether a run in the folder is to go on.

    Raises:
        SoloError: The folder holds another run, none to resume, or is in use.
    """
    with owned_folder(folder):
        _check(folder, config, resume)
        yield


def _check(folder: Path, config: dict[str, Any], resume: bool) -> None:
    path = folder / CONFIG
    has_run = bool(checkpoints(folder))
    if has_run and not resume:
        raise SoloError(
            f"{str(folder)!r} already holds a run. Add --resume to go on with it, or "
            "choose another --output."
        )
    if resume and not has_run:
        raise SoloError(
            f"There is no checkpoint to resume in {str(folder)!r}. Leave --resume out "
            "to start a run."
        )
    if resume and path.is_file():
        first = json.loads(path.read_text())
        if first.get("stage") != config["stage"]:
            raise SoloError(
                f"{str(folder)!r} holds a run of stage {first.get('stage')!r}, not "
                f"{config['stage']!r}. Choose another --output."
            )
        config = {**first, "resumed": [*first.get("resumed", []), config]}
    write_json(path, config)


def checkpoints(folder: Path) -> list[Path]:
    """All whole checkpoints of a run, oldest first."""
    found = [
        (int(match[1]), path)
        for path in folder.glob("model_*.pt")
        if (match := _CHECKPOINT.fullmatch(path.name))
    ]
    return [path for _, path in sorted(found)]


def find_checkpoint(path: Path) -> Path:
    """A checkpoint file as given, or the last one of a run's folder.

    Raises:
        SoloError: There is none.
    """
    if path.is_dir():
        found = checkpoints(path)
        if not found:
            raise SoloError(
                f"The folder {str(path)!r} holds no checkpoint model_*.pt. Give a "
                "run's folder or a checkpoint."
            )
        return found[-1]
    if not path.is_file():
        raise SoloError(
            f"There is no checkpoint {str(path)!r}. Give a run's folder or a "
            "checkpoint."
        )
    return path
