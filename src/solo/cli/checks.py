"""Checks of options that several verbs share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from solo.errors import SoloError


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
