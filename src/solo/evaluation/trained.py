"""Policies from the checkpoints of `solo train`.

A run's ``run.json`` says how the network of its checkpoints is built. To evaluate
another stage, add an entry to `LOADERS`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from mjlab.envs import ManagerBasedRlEnv
from rsl_rl.utils import resolve_callable
from tensordict import TensorDict

from solo.envs.observations_cfg import GROUPS, Stage
from solo.errors import SoloError
from solo.evaluation.network_policy import NetworkPolicy
from solo.evaluation.perceptive import perceptive_source
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.rollout import Policy
from solo.networks.ame import AmeCfg
from solo.robots import get_robot
from solo.stages.learning_cfg import make_student_cfg, make_teacher_cfg
from solo.stages.profiles import EaseInCfg, Profile
from solo.stages.runner import load_checkpoint


def _network_source(
    checkpoint: Path,
    run: Mapping[str, Any],
    stage: Stage,
    make_cfg: Callable[..., dict[str, Any]],
) -> PolicySource:
    robot, profile = get_robot(run["robot"]), profile_of(run["profile"])
    groups = GROUPS[stage]
    state = load_checkpoint(checkpoint, "cpu")["actor_state_dict"]

    def make(env: ManagerBasedRlEnv) -> Policy:
        settings = make_cfg(robot, profile, None)
        model_cfg: dict[str, Any] = settings["actor"]
        cls = resolve_callable(model_cfg.pop("class_name"))
        example = TensorDict(dict(env.obs_buf), batch_size=[env.num_envs])
        num_actions = env.action_manager.total_action_dim
        obs_groups = {"actor": list(groups)}
        model = cls(example, obs_groups, "actor", num_actions, **model_cfg)
        try:
            model.load_state_dict(state)
        except RuntimeError as error:
            reason = " ".join(str(error).split())[:200]
            raise SoloError(
                f"The checkpoint {str(checkpoint)!r} does not fit its run.json: "
                f"{reason}. Use the run.json it was trained with."
            ) from error
        return NetworkPolicy(model.to(env.device), groups, env.num_envs)

    return PolicySource(
        name=f"{checkpoint.resolve().parent.name}/{checkpoint.name}",
        kind=stage,
        robot=robot,
        stage=stage,
        groups=groups,
        make=make,
        physics=profile.physics,
        checkpoint=checkpoint,
        sha256=hashlib.sha256(checkpoint.read_bytes()).hexdigest(),
    )


def _teacher_source(checkpoint: Path, run: Mapping[str, Any]) -> PolicySource:
    return _network_source(checkpoint, run, "teacher", make_teacher_cfg)


def _student_source(checkpoint: Path, run: Mapping[str, Any]) -> PolicySource:
    return _network_source(checkpoint, run, "student", make_student_cfg)


LOADERS: dict[str, Callable[[Path, Mapping[str, Any]], PolicySource]] = {
    "teacher": _teacher_source,
    "student": _student_source,
    "perceptive": perceptive_source,
}
"""Stage of a run to a function of (checkpoint, content of ``run.json``)."""


def profile_of(saved: Mapping[str, Any]) -> Profile:
    """A profile from the dictionary that ``run.json`` holds."""
    known = {f.name for f in fields(Profile)}
    values = {k: _tuples(v) for k, v in saved.items() if k in known}
    values["ame"] = AmeCfg(**_known(AmeCfg, saved["ame"]))
    ease_in = saved.get("ease_in")
    values["ease_in"] = ease_in and EaseInCfg(**_known(EaseInCfg, ease_in))
    return Profile(**values)


def _known(cls: Any, saved: Mapping[str, Any]) -> dict[str, Any]:
    names = {f.name for f in fields(cls)}
    return {k: _tuples(v) for k, v in saved.items() if k in names}


def _tuples(value: Any) -> Any:
    """Undo the lists that JSON makes of tuples."""
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


def read_run(path: Path) -> dict[str, Any]:
    """What a run was started with.

    Raises:
        SoloError: The file is missing or not one of ours.
    """
    try:
        run = json.loads(path.read_text())
        profile_of(run["profile"])
        return {"stage": run["stage"], "robot": run["robot"], **run}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SoloError(
            f"Cannot read {str(path)!r}, which says how the checkpoint beside it was "
            f"trained: {error!r}. Keep checkpoints in the folder of their run."
        ) from error
