"""A curriculum that turns a gentle start into the paper's setting over the training."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.managers.curriculum_manager import CurriculumTermCfg

Range = tuple[float, float]


class ease_in:
    """Move values of the configuration from a start to where they were configured.

    ``start`` maps the path of a value to its value at the first step. Paths are
    ``command/FIELD`` for a range of the velocity command, ``event/TERM/PARAMETER`` for
    a parameter of an event and ``reward/TERM`` for a weight. Numbers, ranges and dicts
    of ranges move in a straight line. Progress is counted in samples of all
    environments, so a resumed training continues where it stopped.
    """

    def __init__(self, cfg: CurriculumTermCfg, env: ManagerBasedRlEnv) -> None:
        self._start: Mapping[str, Any] = cfg.params["start"]
        self._end = {
            path: deepcopy(_get(env, cfg.params["command_name"], path))
            for path in self._start
        }

    def __call__(
        self,
        env: ManagerBasedRlEnv,
        env_ids: torch.Tensor,
        start: Mapping[str, Any],
        env_steps: float,
        command_name: str,
    ) -> torch.Tensor:
        """Set the values of now and return the progress, 0 to 1."""
        del env_ids, start
        progress = min(1.0, env.common_step_counter * env.num_envs / env_steps)
        for path, first in self._start.items():
            _set(env, command_name, path, _blend(first, self._end[path], progress))
        return torch.tensor(progress)


def _blend(start: Any, end: Any, progress: float) -> Any:
    """In between two numbers, two ranges, or two dicts of ranges."""
    if isinstance(end, Mapping):
        return {k: _blend(start.get(k, (0.0, 0.0)), end[k], progress) for k in end}
    if isinstance(end, tuple):
        return tuple(_blend(a, b, progress) for a, b in zip(start, end, strict=True))
    return start + progress * (end - start)


def _owner(env: ManagerBasedRlEnv, command_name: str, path: str) -> tuple[Any, str]:
    kind, *rest = path.split("/")
    if kind == "command":
        cfg: Any = env.command_manager.get_term_cfg(command_name)
        name = rest[0]
        return (cfg.ranges if hasattr(cfg.ranges, name) else cfg), name
    if kind == "reward":
        return env.reward_manager.get_term_cfg(rest[0]), "weight"
    term, parameter = rest
    return env.event_manager.get_term_cfg(term).params, parameter


def _get(env: ManagerBasedRlEnv, command_name: str, path: str) -> Any:
    owner, name = _owner(env, command_name, path)
    return owner[name] if isinstance(owner, dict) else getattr(owner, name)


def _set(env: ManagerBasedRlEnv, command_name: str, path: str, value: Any) -> None:
    owner, name = _owner(env, command_name, path)
    if isinstance(owner, dict):
        owner[name] = value
    else:
        setattr(owner, name, value)
