"""Damage of three kinds: of bytes, of trees of plain values, and of named arrays."""

from __future__ import annotations

import copy
import math
import random
from typing import Any

import numpy as np
import torch

ODD_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1, 7.5, 1e308, math.nan, math.inf, 2**70, "", "x", "../x",
    "n" * 300, [], {}, [[]], [1, [2, 3]], {"x": 1},
)  # fmt: skip


def damage_bytes(rng: random.Random, content: bytes) -> bytes:
    """Flip, cut, drop, repeat, insert or blank some part."""
    if not content:
        return bytes([rng.randrange(256)])
    changed = bytearray(content)
    first = rng.randrange(len(changed))
    last = min(first + 1 + int(rng.paretovariate(0.5)), len(changed))
    kind = rng.randrange(7)
    if kind == 0:
        changed[first] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del changed[first:]
    elif kind == 2:
        del changed[first:last]
    elif kind == 3:
        changed[first:first] = changed[first:last]
    elif kind == 4:
        changed[first:first] = rng.randbytes(rng.randrange(1, 20))
    elif kind == 5:
        changed[first:last] = bytes([rng.choice((0, 255))]) * (last - first)
    else:
        for _ in range(rng.randrange(1, 50)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def damage_tree(rng: random.Random, value: Any) -> Any:
    """A copy in which one node was replaced, dropped, renamed or repeated."""
    root = [copy.deepcopy(value)]
    holder, key = root, 0
    while True:
        child = holder[key]
        if not isinstance(child, (dict, list)) or not child or rng.random() < 0.15:
            break
        holder = child
        key = rng.choice(list(child)) if isinstance(child, dict) else _index(rng, child)
    kind = rng.randrange(4) if holder is not root else 0
    if kind <= 1:
        holder[key] = _odd(rng, holder[key])
    elif kind == 2:
        del holder[key]
    elif isinstance(holder, dict):
        holder[f"{key}x"] = holder.pop(key)
    else:
        holder.append(copy.deepcopy(holder[key]))
    return root[0]


def _index(rng: random.Random, values: list[Any]) -> int:
    return rng.randrange(len(values))


def _odd(rng: random.Random, old: Any) -> Any:
    if isinstance(old, torch.Tensor) and rng.random() < 0.7:
        return rng.choice(
            (old.flatten(), old[:0], old.double(), old.unsqueeze(0), torch.zeros(()))
        ) if old.ndim else torch.zeros(3)  # fmt: skip
    if isinstance(old, np.ndarray):
        return odd_array(rng, old)
    if isinstance(old, (int, float)) and not isinstance(old, bool):
        return rng.choice((*ODD_VALUES, -old, old * 1e6, str(old)))
    return copy.deepcopy(rng.choice(ODD_VALUES))


def odd_array(rng: random.Random, old: np.ndarray) -> np.ndarray:
    """An array of another shape, type or value."""
    if old.ndim == 0 or old.size == 0:
        return rng.choice((np.zeros(3), np.array("x"), np.array(math.nan)))
    kinds = [old[:0], old[:-1], old[None], old.ravel(), old.astype("U8"), old.T]
    kinds += [np.zeros_like(old), np.full(old.shape, math.nan), np.zeros(3, complex)]
    kinds += [np.full(old.shape, 1e308), np.array(7), np.repeat(old, 2, axis=0)]
    return rng.choice(kinds)


def damage_arrays(
    rng: random.Random, arrays: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """One array is missing, misnamed, or another."""
    changed, key = dict(arrays), rng.choice(list(arrays))
    kind = rng.randrange(5)
    old = changed.pop(key)
    if kind == 1:
        changed[f"{key}_"] = old
    elif kind > 1:
        changed[key] = odd_array(rng, old)
    return changed
