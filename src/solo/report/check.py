"""Checks of values from files, which name the place and what was expected there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard


class Malformed(Exception):
    """A value in a file is not what it should be."""

    def __init__(self, where: str, found: object, expected: str) -> None:
        shown = repr(found)
        shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
        super().__init__(f"{where} is {shown}, expected {expected}")


def mapping(data: Mapping[str, Any], key: str, where: str = "") -> dict[str, Any]:
    """The object under a key."""
    value = data.get(key)
    if not isinstance(value, dict):
        raise Malformed(f"{where}{key}", value, "an object")
    return value


def objects(data: Mapping[str, Any], key: str, where: str = "") -> list[dict[str, Any]]:
    """The list of objects under a key; at least one."""
    value = data.get(key)
    if not isinstance(value, list) or not value:
        raise Malformed(f"{where}{key}", value, "a list that is not empty")
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise Malformed(f"{where}{key}[{index}]", item, "an object")
    return value


def text(data: Mapping[str, Any], key: str, where: str = "") -> str:
    """The text under a key."""
    value = data.get(key)
    if not isinstance(value, str) or not value:
        raise Malformed(f"{where}{key}", value, "a text")
    return value


def number(
    data: Mapping[str, Any],
    key: str,
    where: str = "",
    low: float = -math.inf,
    high: float = math.inf,
) -> float:
    """The finite number under a key."""
    value = data.get(key)
    if not is_number(value) or not low <= value <= high:
        bounds = "" if low == -math.inf else f" of at least {low:g}"
        bounds = f" from {low:g} to {high:g}" if high < math.inf else bounds
        raise Malformed(f"{where}{key}", value, f"a number{bounds}")
    return value


def maybe_number(data: Mapping[str, Any], key: str, where: str = "") -> float | None:
    """The same where there may be none."""
    return None if data.get(key) is None else number(data, key, where)


def numbers(data: Mapping[str, Any], key: str, where: str = "") -> Sequence[float]:
    """The list of finite numbers under a key; at least one."""
    value = data.get(key)
    if not isinstance(value, list) or not value or not all(map(is_number, value)):
        raise Malformed(f"{where}{key}", value, "a list of numbers")
    return value


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number; truth values are none."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
    )
