"""Checks of options that several verbs share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from solo.errors import SoloError

_MAX_PORT = 65535


def check_at_least(option: str, value: int | float, minimum: int | float) -> None:
    """Refuse a number that is too small."""
    if not minimum <= value < math.inf:
        flag = "--" + option.replace("_", "-")
        raise SoloError(
            f"{flag} is {value}; it must be a number of at least {minimum}."
        )


def check_picture_path(path: Path, endings: Sequence[str]) -> None:
    """Refuse an ending that cannot be written, a folder, and a folder that is missing.

    Args:
        path: Value of ``--output``.
        endings: Endings that are allowed, such as ``.png``.
    """
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


def check_port(port: int) -> None:
    """Refuse a number that is no port."""
    check_at_least("port", port, 1)
    if port > _MAX_PORT:
        raise SoloError(f"--port is {port}; it must be at most {_MAX_PORT}.")


def check_difficulty(difficulty: float | None) -> None:
    """Refuse a difficulty outside 0 to 1; None stands for the curriculum's levels."""
    if difficulty is not None and not 0.0 <= difficulty <= 1.0:
        raise SoloError(
            f"--difficulty is {difficulty}; it must be from 0 to 1. Leave it out for "
            "the curriculum's levels."
        )
