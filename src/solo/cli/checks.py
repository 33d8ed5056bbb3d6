"""Option checks shared by several verbs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from solo import names
from solo.bundles import shipped_path
from solo.errors import SoloError, unknown_name
from solo.runs.folder import find_checkpoint

MAX_PORT = 65535
"""Largest port of a page."""


def pick_device(name: str | None) -> str:
    """The torch device for ``--device``; auto or None means CUDA if available.

    Raises:
        SoloError: There is no such device here.
    """
    import torch

    if name in (None, "auto"):
        return "cuda:0" if torch.cuda.is_available() else "cpu"
    try:
        if torch.device(name).type not in ("cpu", "cuda"):
            raise RuntimeError("it is neither cpu nor cuda")
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise SoloError(
            f"--device {name!r} cannot be used: {reason}. Allowed: auto, cpu and, "
            "where there is a GPU, cuda:0."
        ) from error
    return name


def check_picture_path(path: Path, endings: Sequence[str]) -> None:
    """Refuse an ending that is not allowed, a folder, and a missing parent folder."""
    allowed = " or ".join(endings)
    if path.suffix.lower() not in endings:
        raise SoloError(
            f"Output {str(path)!r} ends in {path.suffix!r}; only {allowed} can be "
            f"written. Choose a name such as {path.stem or 'picture'}{endings[0]}."
        )
    if path.is_dir():
        raise SoloError(f"Output {str(path)!r} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise SoloError(
            f"Cannot write {str(path)!r}: the folder {str(path.parent)!r} does not "
            "exist. Create it or choose another --output."
        )


def make_folder(path: Path) -> None:
    """Create the folder of ``--output``, if need be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SoloError(
            f"Cannot create the folder {str(path)!r}: {error.strerror or error}. "
            "Choose another --output."
        ) from error


def check_new_folder(option: str, path: Path) -> None:
    """Refuse a path that exists, unless it is an empty folder."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise SoloError(
            f"--{option} {str(path)!r} is a file, or a folder that is not empty. "
            "Choose a new folder."
        )


def say_loading() -> None:
    """Tell a user at a terminal that the next ten seconds are imports, if they are."""
    if sys.stderr.isatty() and "torch" not in sys.modules:
        print("Loading PyTorch and MuJoCo ...", file=sys.stderr, flush=True)


def check_run(path: Path | None) -> None:
    """Refuse a folder without a checkpoint, and a missing checkpoint."""
    if path is not None:
        find_checkpoint(path)


def check_exists(what: str, path: Path | None, hint: str) -> None:
    """Refuse a missing path; None, ``shipped`` and ``shipped-teacher`` pass."""
    if path is None or shipped_path(str(path)) is not None:
        return
    if not path.exists():
        raise SoloError(f"There is no {what} {str(path)!r}. {hint}")


def find_bundle(name: Path) -> Path:
    """The file of a bundle; ``shipped`` is the one that comes with the package."""
    return shipped_path(str(name)) or name


def check_robot(name: str) -> None:
    """Refuse a robot that is not registered, or whose module is not there."""
    module, colon, _ = name.partition(":")
    if not colon:
        if name not in (places := names.robot_places()):
            raise unknown_name(
                "robot",
                name,
                places,
                "Or give module:ATTRIBUTE, see docs/own-robot.md.",
            )
        return
    try:
        is_there = find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):
        is_there = False
    if not is_there:
        raise SoloError(
            f"--robot {name!r}: Python finds no module {module!r}. Install its "
            "package, or add its folder to PYTHONPATH."
        )
