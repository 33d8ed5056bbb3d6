"""Names and folders of trained policies: what is where, without loading it.

A policy is named by a run's folder, a checkpoint in it, a bundle, ``shipped`` or
``shipped-teacher``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from solo import names
from solo.bundles import SHIPPED, SHIPPED_TEACHER, shipped_path
from solo.errors import SoloError
from solo.files import owned_folder, read_json, write_json

CONFIG = "run.json"
"""What the run was started with."""

PARAMS = "params"
"""Folder of the two configurations in a run's folder."""

BUNDLE = ".onnx"
"""How the name of a bundle ends."""


def default_folder(stage: str, name: str) -> Path:
    """Where mjlab's users look for a run: ``logs/rsl_rl/EXPERIMENT/TIME_NAME``."""
    stamp = time.strftime("%Y-%m-%d_%H-%M-%S")
    return Path("logs") / "rsl_rl" / f"solo_{stage}" / f"{stamp}_{name}"


_CHECKPOINT = re.compile(r"model_(\d+)\.pt")


@contextmanager
def own_run(folder: Path, config: dict[str, Any], resume: bool) -> Iterator[None]:
    """Own a run's folder: one process at a time, and no second run on top of a first.

    Args:
        folder: Created if it is not there.
        config: Written to ``run.json``; a resumed run keeps its first one as well, in
            the list ``resumed``.
        resume: Whether a run in the folder is to go on.

    Raises:
        SoloError: The folder holds another run, or is in use.
    """
    with owned_folder(folder):
        _check(folder, config, resume)
        yield


def _check(folder: Path, config: dict[str, Any], resume: bool) -> None:
    path = folder / CONFIG
    if checkpoints(folder) and not resume:
        raise SoloError(
            f"{str(folder)!r} already holds a run. Resume it, or choose another output."
        )
    if resume and path.is_file():
        first = read_json(path, "Without it the run cannot go on.")
        resumed = first.get("resumed", [])
        if not isinstance(resumed, list) or not all(
            isinstance(one, dict) for one in resumed
        ):
            raise SoloError(f"{str(path)!r} is damaged: resumed is no list of runs.")
        before, now = [first, *resumed][-1].get("threads"), config.get("threads")
        if before is not None and before != now:
            print(
                f"The run had {before} threads and now has {now}: it goes on, but not "
                "to the bit (docs/training-notes.md)."
            )
        config = {**first, "resumed": [*resumed, config]}
    write_json(path, config)


def checkpoints(folder: Path) -> list[Path]:
    """All whole checkpoints of a run, oldest first."""
    found = [
        (int(match[1]), path)
        for path in folder.glob("model_*.pt")
        if (match := _CHECKPOINT.fullmatch(path.name))
    ]
    return [path for _, path in sorted(found)]


def iterations_done(folder: Path) -> int:
    """How many iterations the last checkpoint of a run has behind it; 0 without one."""
    found = checkpoints(folder)
    return int(found[-1].stem.removeprefix("model_")) + 1 if found else 0


def find_checkpoint(name: Path | str) -> Path:
    """The file of a policy: checkpoint or bundle as given, or a run's last checkpoint.

    Args:
        name: Run folder, checkpoint, bundle, ``shipped`` or ``shipped-teacher``.

    Raises:
        SoloError: There is none.
    """
    path = shipped_path(str(name)) or Path(name)
    if str(path) == SHIPPED:
        raise SoloError(
            "No policy comes with this source tree. Give a run, a checkpoint, a "
            "bundle, or an agent such as stand."
        )
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
            f"There is no checkpoint {str(path)!r}. Give a run's folder, a checkpoint, "
            f"a bundle *{BUNDLE}, {SHIPPED} or {SHIPPED_TEACHER}."
        )
    return path


def check_policy(name: str) -> None:
    """Refuse what is neither an agent nor a policy that exists.

    Raises:
        SoloError: As it says; what is in the files is not looked at.
    """
    if name in names.AGENTS:
        return
    if name not in (SHIPPED, SHIPPED_TEACHER) and not Path(name).exists():
        raise SoloError(
            f"Unknown policy {name!r}. Allowed: {', '.join(names.AGENTS)}, {SHIPPED}, "
            f"{SHIPPED_TEACHER}, a run's folder, a checkpoint model_*.pt or a bundle "
            f"*{BUNDLE}. Check the path."
        )
    find_checkpoint(name)
