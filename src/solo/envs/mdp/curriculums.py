"""Curricula: terrain levels, settings that change over time, support that fades."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.managers.curriculum_manager import CurriculumTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.utils.lab_api.math import quat_apply

from solo.envs.grid_terrain import GridTerrain, grid_terrain


def terrain_levels(
    env: ManagerBasedRlEnv,
    env_ids: torch.Tensor,
    command_name: str,
    promote_fallen: bool = True,
) -> dict[str, torch.Tensor]:
    """Promote robots that end more than half a patch from their start.

    Of the others, those that walked less than half the commanded distance are demoted.
    `promote_fallen`: whether those that fell beyond their patch are promoted as well.

    mjlab sends a robot that solves the hardest level to a random one, so the mean
    level saturates near the middle; this does not mean that learning has stopped.

    Returns:
        The mean level, and the mean level of every terrain variant.
    """
    terrain = grid_terrain(env)
    crossed, lagging = crossed_and_lagging(env, env_ids, command_name, promote_fallen)
    terrain.update_env_origins(env_ids, crossed, lagging)
    return mean_levels(terrain)


def crossed_and_lagging(
    env: ManagerBasedRlEnv,
    env_ids: torch.Tensor,
    command_name: str,
    promote_fallen: bool = True,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Which episodes ended half a patch from their start, and which far behind.

    Returns:
        Whether each robot got across (`promote_fallen`: even if it fell there), and
        whether it stayed on its patch and made less than half of the way it was told
        to make; bool [N] each. Neither for an episode without a step: its robot may not
        have been placed yet.
    """
    terrain = grid_terrain(env)
    position = env.scene["robot"].data.root_link_pos_w[env_ids, :2]
    walked = (position - env.scene.env_origins[env_ids, :2]).norm(dim=1)
    command = env.command_manager.get_command(command_name)
    assert command is not None
    asked = command[env_ids, :2].norm(dim=1) * env.max_episode_length_s
    began = env.episode_length_buf[env_ids] > 0
    crossed = (walked > terrain.cfg.scene.patch_m / 2) & began
    lagging = (walked < asked / 2) & ~crossed & began
    if not promote_fallen:
        crossed &= ~env.termination_manager.terminated[env_ids]
    return crossed, lagging


def mean_levels(terrain: GridTerrain) -> dict[str, torch.Tensor]:
    """The mean level of all robots, and of those on every terrain."""
    levels = terrain.terrain_levels.float()
    result = {"mean": levels.mean()}
    for column, name in enumerate(terrain.variant_names):
        on_it = terrain.terrain_types == column
        if on_it.any():
            result[name] = levels[on_it].mean()
    return result


def level_histogram(env: ManagerBasedRlEnv) -> torch.Tensor:
    """How many robots are at each level of each terrain, int64 [variants, levels].

    The mean alone hides a terrain on which robots are either stuck at the bottom or
    solve everything; runs log the histogram of each terrain.
    """
    terrain = grid_terrain(env)
    num_levels = terrain.cfg.scene.num_levels
    cells = terrain.terrain_types * num_levels + terrain.terrain_levels
    counts = torch.bincount(cells, minlength=len(terrain.variant_names) * num_levels)
    return counts.unflatten(0, (len(terrain.variant_names), num_levels))


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


ASSIST = "upright_assist"
"""Name of the event term that helps."""


def upright_assist(
    env: ManagerBasedRlEnv,
    env_ids: torch.Tensor | None,
    strength: float,
    asset_cfg: SceneEntityCfg,
    stiffness: float = 200.0,
    damping: float = 6.0,
) -> None:
    """Apply torques towards upright to some bodies, for the next control step.

    Not in the paper. Balance is what costs a beginner most samples: a robot that falls
    after a second never learns that stepping pays, and one that has learned to stand
    keeps standing. With the torque it steps and follows commands from the start; the
    torque then fades as falls become rare.

    A strength of 1 holds the robot, 0 does nothing. Stiffness is torque per tilt of
    each body, Nm/rad: a G1 tips over with 240. Damping is torque per rate of roll and
    pitch, Nm s/rad: the torque is held for a control step of 20 ms, and with more than
    15 a torso of 0.3 kg m2 swings up.
    """
    del env_ids
    robot, bodies = env.scene[asset_cfg.name], asset_cfg.body_ids
    quat_w = robot.data.body_link_quat_w[:, bodies]
    up = torch.zeros_like(quat_w[..., :3])
    up[..., 2] = 1.0
    up_of_body = quat_apply(quat_w, up)
    rate_w = robot.data.body_link_ang_vel_w[:, bodies].clone()
    rate_w[..., 2] = 0.0
    torque = torch.linalg.cross(up_of_body, up) * stiffness - damping * rate_w
    robot.write_external_wrench_to_sim(
        torch.zeros_like(torque), strength * torque, body_ids=bodies
    )


class fade_assist:
    """Lower the strength while falls are rare, raise it while they are frequent."""

    def __init__(self, cfg: CurriculumTermCfg, env: ManagerBasedRlEnv) -> None:
        del cfg
        self._falls = 0
        self._since = env.common_step_counter
        # Falls per robot and second, smoothed. Neither rare nor frequent at first: a
        # run that continues one without the torque needs none.
        self._rate = 0.15

    def __call__(
        self,
        env: ManagerBasedRlEnv,
        env_ids: torch.Tensor,
        falls_per_s: float = 0.1,
        change: float = 0.01,
        window_s: float = 1.0,
    ) -> torch.Tensor:
        """Adapt the strength once per window of simulated time, and return it.

        Fewer falls per robot and second than ``falls_per_s`` are rare. With 0.04, less
        than one per episode, the torque stays at a fifth for long, and the robot falls
        at once without it: it learns to balance only if it may fall.
        """
        params = env.event_manager.get_term_cfg(ASSIST).params
        self._falls += int(env.termination_manager.terminated[env_ids].sum())
        seconds = (env.common_step_counter - self._since) * env.step_dt
        if seconds >= window_s:
            rate = self._falls / (seconds * env.num_envs)
            self._rate += 0.2 * (rate - self._rate)
            self._falls, self._since = 0, env.common_step_counter
            strength = params["strength"]
            if self._rate < falls_per_s:
                strength -= change
            elif self._rate > 2.0 * falls_per_s:
                strength += change
            params["strength"] = min(1.0, max(0.0, strength))
        return torch.tensor(float(params["strength"]))
