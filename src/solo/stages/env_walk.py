"""All state of an environment by attribute path, whatever terms it has.

State is spread over the managers, their terms, the entities and the sensors, including
users' own. Instead of a list that must be kept up to date, a walk over the attributes
of these objects finds

- tensors and arrays that have a row per environment, and tensors of a single number
  (whatever else is in a tensor, e.g. a terrain, does not change);
- random generators that a term owns;
- plain values: numbers, texts, and tuples, lists and dicts of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.sim.fields import NativeData, NativeModel
from solo.sim.native import NativeSimulation

MANAGERS = (
    "event_manager",
    "command_manager",
    "action_manager",
    "observation_manager",
    "termination_manager",
    "reward_manager",
    "curriculum_manager",
    "metrics_manager",
)
_OF_ENV = (
    "common_step_counter",
    "_sim_step_counter",
    "episode_length_buf",
    "_manual_reset_pending",
    "scene",
    *MANAGERS,
)
_OF_SIM = ("diverged", "divergence_count", "_stepped", "_mean_inertia")

# Sensors recompute these; the cache is invalidated instead.
_CACHE, CACHE_IS_VALID = "_cached_data", "_cache_valid"
_NOT_WALKED = (ManagerBasedRlEnv, NativeSimulation, NativeData, NativeModel, Enum)
_FOREIGN = {"torch", "numpy", "mujoco", "mujoco_warp", "warp", *sys.stdlib_module_names}
"""Packages whose objects are not ours to look into."""

_PLAIN = (int, float, bool, str, type(None))


class Leaf(NamedTuple):
    """A value and where it is."""

    owner: Any
    """Dict or list that holds the value, or a tuple, which cannot be changed."""
    key: Any
    value: Any


def find_leaves(env: ManagerBasedRlEnv) -> dict[str, Leaf]:
    """Path to every tensor, generator and plain value of an environment."""
    assert isinstance(env.sim, NativeSimulation)
    found: dict[str, Leaf] = {}
    seen: dict[int, Any] = {}
    roots = {
        **{name: (vars(env), name) for name in _OF_ENV},
        **{f"sim/{name}": (vars(env.sim), name) for name in _OF_SIM},
        "state": ({"": env.sim.data.state}, ""),
        "outputs": ({"": env.sim.data.outputs}, ""),
        "model": ({"": env.sim.model.expanded}, ""),
    }
    for path, (owner, key) in roots.items():
        for found_path, leaf in _walk(path, owner, key, env.num_envs, seen):
            found[found_path] = leaf
    return found


def _walk(
    path: str, owner: Any, key: Any, num_envs: int, seen: dict[int, Any]
) -> Iterator[tuple[str, Leaf]]:
    value = owner[key]
    if isinstance(value, np.ndarray) and _holds_numbers(value):
        value = torch.from_numpy(value)  # Shares the memory.
    if isinstance(value, torch.Tensor):
        if _is_state(value, num_envs):
            yield path, Leaf(owner, key, value)
    elif isinstance(value, torch.Generator) or is_plain(value):
        yield path, Leaf(owner, key, value)
    elif id(value) not in seen:
        seen[id(value)] = value  # Kept alive, so that no other gets its id.
        inside = _contents(value)
        for name in inside if isinstance(inside, dict) else range(len(inside)):
            if name not in (_CACHE, CACHE_IS_VALID):
                yield from _walk(f"{path}/{name}", inside, name, num_envs, seen)


def _holds_numbers(array: np.ndarray) -> bool:
    return array.dtype.kind in "biuf" and array.flags.writeable


def _is_state(tensor: torch.Tensor, num_envs: int) -> bool:
    if 0 in tensor.stride():  # One number under many indices: it cannot be written to.
        return False
    return tensor.numel() == 1 or num_envs in tensor.shape[:2]


def _contents(value: Any) -> dict | list | tuple:
    """Children to visit, by key or index; none for foreign objects."""
    if isinstance(value, (dict, list, tuple)):
        return value
    package = type(value).__module__.partition(".")[0]
    if package in _FOREIGN or isinstance(value, _NOT_WALKED):
        return {}
    return getattr(value, "__dict__", {})


def is_plain(value: Any) -> bool:
    """Whether a value is a number, a text, or made of them."""
    if type(value) in (tuple, list):
        return all(map(is_plain, value))
    if type(value) is dict:
        return all(type(k) in _PLAIN and is_plain(v) for k, v in value.items())
    return type(value) in _PLAIN


def tensors_of(leaves: dict[str, Leaf]) -> Iterator[tuple[str, Leaf]]:
    """The leaves that are tensors."""
    return ((p, x) for p, x in leaves.items() if isinstance(x.value, torch.Tensor))


def generators_of(leaves: dict[str, Leaf]) -> Iterator[tuple[str, Leaf]]:
    """The leaves that are random generators."""
    return ((p, x) for p, x in leaves.items() if isinstance(x.value, torch.Generator))
