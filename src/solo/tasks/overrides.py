"""Change any value of a configuration by its path: ``env.rewards.fly.weight``.

The configuration itself says which paths there are and which types they hold.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

import yaml

from solo.errors import SoloError


def apply_overrides(
    configs: dict[str, Any], overrides: Mapping[str, Any]
) -> dict[str, tuple[Any, Any]]:
    """Set values by path, in place where the configuration allows it.

    Args:
        configs: First word of a path to its configuration, e.g. ``env`` and ``agent``;
            an entry is replaced where its configuration is frozen.
        overrides: Path to value; texts are read as YAML.

    Returns:
        Path to the value before and after.

    Raises:
        SoloError: There is no such path, or its value has another type.
    """
    changes = {}
    for path, given in overrides.items():
        value = yaml.safe_load(given) if isinstance(given, str) else given
        changed: list[tuple[Any, Any]] = []
        root, *keys = path.split(".")
        _check_key(root, configs, path, "")
        configs[root] = _set(configs[root], keys, value, path, [root], changed)
        changes[path] = changed[0]
    return changes


def _set(
    node: Any,
    keys: list[str],
    value: Any,
    path: str,
    done: list[str],
    changed: list[tuple[Any, Any]],
) -> Any:
    """The node with the value below it set; the same object if it can be changed."""
    if not keys:
        try:
            new = convert(value, node)
        except (TypeError, ValueError) as error:
            raise SoloError(
                f"{path} is {node!r} and cannot be {value!r}: {error}."
            ) from None
        changed.append((node, new))
        return new
    place = ".".join(done)
    children = children_of(node)
    key = keys[0] if keys[0] in children else keys[0].replace("-", "_")
    _check_key(key, children, path, place)
    child = _set(children[key], keys[1:], value, path, [*done, key], changed)
    return put(node, key, child)


def _check_key(key: str, allowed: Iterable[str], path: str, place: str) -> None:
    names = list(allowed)
    if key in names:
        return
    where = f"in {place}" if place else "to change"
    if not names:
        raise SoloError(f"Unknown setting {path}: {place} is a single value.")
    near = difflib.get_close_matches(key, names, n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    raise SoloError(
        f"Unknown setting {path}: there is no {key!r} {where}. {hint}"
        f"Allowed: {', '.join(names)}."
    )


def children_of(node: Any) -> dict[str, Any]:
    """Parts of a configuration by name; empty for a single value."""
    if is_dataclass(node) and not isinstance(node, type):
        return {f.name: getattr(node, f.name) for f in fields(node)}
    if isinstance(node, Mapping):
        return {str(key): value for key, value in node.items()}
    if isinstance(node, list | tuple):
        return {str(i): value for i, value in enumerate(node)}
    return {}


def put(node: Any, key: str, child: Any) -> Any:
    """The node with one part replaced; a copy if it cannot be changed in place."""
    if is_dataclass(node) and not isinstance(node, type):
        if getattr(node, key) is child:
            return node
        if node.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            return replace(node, **{key: child})
        setattr(node, key, child)
        return node
    if isinstance(node, Mapping):
        own = next(k for k in node if str(k) == key)
        if isinstance(node, dict):
            node[own] = child
            return node
        return {**node, own: child}
    assert isinstance(node, list | tuple)
    items = list(node)
    items[int(key)] = child
    return tuple(items) if isinstance(node, tuple) else items


def convert(value: Any, existing: Any) -> Any:
    """A plain value with the type of the one it replaces.

    Raises:
        TypeError: It has no such type.
        ValueError: It is no name of an enumeration.
    """
    if existing is None or value is None:
        return value
    if isinstance(existing, Enum):  # First: some are texts or numbers as well.
        return value if isinstance(value, Enum) else type(existing)[str(value)]
    if isinstance(existing, bool) != isinstance(value, bool):
        allowed = "true or false" if isinstance(existing, bool) else "no truth value"
        raise TypeError(f"it must be {allowed}")
    if isinstance(existing, bool):
        return value
    if isinstance(existing, int | float):
        # Whole numbers stand where fractions may, e.g. a weight of -1.
        if not isinstance(value, int | float):
            value = _number(value)
        return float(value) if isinstance(existing, float) else value
    if isinstance(existing, str):
        if not isinstance(value, str):
            raise TypeError("it must be a text")
        return value
    if isinstance(existing, list | tuple):
        if not isinstance(value, list | tuple):
            raise TypeError("it must be a list such as [1, 2]")
        one = existing[0] if existing else None
        items = [convert(item, one) for item in value]
        return tuple(items) if isinstance(existing, tuple) else items
    if isinstance(existing, Mapping):
        if not isinstance(value, Mapping):
            raise TypeError("it must be a mapping such as {a: 1}")
        return dict(value)
    raise TypeError(f"it is a {type(existing).__name__}; set one of its fields")


def _number(value: Any) -> float:
    try:
        return float(value)  # YAML reads 1e-3 as text.
    except (TypeError, ValueError):
        raise TypeError("it must be a number") from None
