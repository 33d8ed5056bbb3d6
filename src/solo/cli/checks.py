"""Checks of options that several verbs share."""

from __future__ import annotations

import math

from solo.errors import SoloError


def check_at_least(option: str, value: int | float, minimum: int | float) -> None:
    """Refuse a number that is too small."""
    if not minimum <= value < math.inf:
        flag = "--" + option.replace("_", "-")
        raise SoloError(
            f"{flag} is {value}; it must be a number of at least {minimum}."
        )
