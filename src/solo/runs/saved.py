"""Configurations from the plain data that a run saved.

Values that were saved win over those of today's code. What today's code does not know
is reported, never dropped in silence.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, get_args, get_type_hints

from solo.envs.observations_cfg import Stage
from solo.errors import SoloError
from solo.tasks.agent_cfg import AgentCfg
from solo.tasks.overrides import children_of, convert, put
from solo.tasks.profiles import Profile

log = logging.getLogger(__name__)


def profile_from(saved: Mapping[str, Any]) -> Profile:
    """A profile from the dictionary that ``run.json`` holds.

    Fields that were added later take the paper's values.

    Raises:
        TypeError: A part is no mapping.
    """
    saved = dict(saved)
    if "max_std" in saved:  # The teacher's, until students had one as well.
        saved["teacher"] = {"max_std": saved.pop("max_std"), **saved["teacher"]}
    if "end_at_patch" in saved:  # Until episodes could end beyond.
        saved["end_beyond_patch_m"] = 0.0 if saved.pop("end_at_patch") else None
    for name in ("epochs", "mini_batches"):  # One for all stages, until each had its.
        if name in saved:
            value = saved.pop(name)
            for stage in get_args(Stage):
                saved[stage] = {name: value, **saved[stage]}
    return _build(Profile, saved, "profile")


def _build(cls: Any, saved: Mapping[str, Any], place: str) -> Any:
    kinds = get_type_hints(cls)
    _warn_of_unknown(place, {k: saved[k] for k in sorted(set(saved) - set(kinds))})
    values = {}
    for name, value in saved.items():
        if name not in kinds:
            continue
        # The class of a part, which may be None: ``EaseInCfg | None``.
        kind = next(filter(is_dataclass, (kinds[name], *get_args(kinds[name]))), None)
        if kind is not None and value is not None:
            values[name] = _build(kind, value, f"{place}.{name}")
        else:
            values[name] = _tuples(value)
    return cls(**values)


def _warn_of_unknown(place: str, settings: Mapping[str, Any]) -> None:
    if settings:
        log.warning(
            "The run's %s has settings that this version does not know: %s.",
            place,
            ", ".join(f"{name} = {value!r}" for name, value in settings.items()),
        )


def _tuples(value: Any) -> Any:
    """Undo the lists that JSON makes of tuples."""
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


def agent_from(saved: Mapping[str, Any]) -> AgentCfg:
    """An agent from the content of ``params/agent.yaml``.

    Raises:
        TypeError, KeyError, AttributeError: It is not one of ours.
    """
    values = dict(saved)
    values["obs_groups"] = {k: tuple(v) for k, v in values["obs_groups"].items()}
    known = {f.name for f in fields(AgentCfg)}
    unknown = sorted(set(values) - known)
    _warn_of_unknown("params/agent.yaml", {name: values[name] for name in unknown})
    return AgentCfg(**{k: v for k, v in values.items() if k in known})


def restore(cfg: Any, saved: Mapping[str, Any], place: str = "env") -> Any:
    """A configuration with the values of one that was saved as plain data.

    ``cfg`` gives the types and whatever is no plain data: functions, models, motions.
    Terms that it has and the saved one has not are removed.

    Raises:
        SoloError: A saved term is not in ``cfg``, so it cannot be rebuilt.
    """
    children = children_of(cfg)
    is_params = place.endswith(".params")
    by_name = is_dataclass(cfg) or is_params
    missing = [name for name in saved if name not in children]
    if missing and by_name:
        _warn_of_unknown(place, {name: saved[name] for name in missing})
    elif any(_is_term(saved[name]) for name in missing):
        raise SoloError(
            f"The run's {place} has {', '.join(missing)}, which this version does not "
            "build. Give the function that adds it (change_env), or use the version "
            "that the run was made with."
        )
    for name, value in saved.items():
        if name in children:
            restored = _restore_value(children[name], value, f"{place}.{name}")
            cfg = put(cfg, name, restored)
        elif isinstance(cfg, dict) and not is_params:
            cfg[name] = value
    if isinstance(cfg, dict) and not is_params:
        for key in [key for key in cfg if str(key) not in saved]:
            del cfg[key]
    return cfg


def _restore_value(here: Any, saved: Any, place: str) -> Any:
    if isinstance(saved, str) and not isinstance(here, str | Enum | None):
        if callable(here) and saved.rpartition(":")[2] != getattr(
            here, "__qualname__", None
        ):
            log.warning("The run's %s was %s and is now %r.", place, saved, here)
        if callable(here) or saved.startswith("<"):
            return here
    if isinstance(saved, Mapping) and (is_dataclass(here) or isinstance(here, dict)):
        return restore(here, saved, place)
    if (
        isinstance(here, list | tuple)
        and isinstance(saved, list)
        and len(here) == len(saved)
    ):
        items = [
            _restore_value(one, value, f"{place}.{i}")
            for i, (one, value) in enumerate(zip(here, saved, strict=True))
        ]
        return tuple(items) if isinstance(here, tuple) else items
    try:
        return _tuples(convert(saved, here))
    except (TypeError, ValueError) as error:
        log.warning(
            "The run's %s is %r, which this version does not take: %s.",
            place,
            saved,
            error,
        )
        return here


def _is_term(value: Any) -> bool:
    return isinstance(value, Mapping) and "func" in value
