"""Termination terms."""

from __future__ import annotations

from typing import Any

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.envs.mdp import nan_detection
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.managers.termination_manager import TerminationTermCfg

from solo.envs.grid_terrain import grid_terrain
from solo.envs.mdp.curriculums import ASSIST
from solo.sim.native import NativeSimulation


class body_contact:
    """One of some bodies touched the terrain: a fall."""

    def __init__(self, cfg: TerminationTermCfg, env: ManagerBasedRlEnv) -> None:
        names = [
            name.rsplit("/", 1)[-1]
            for name in env.scene[cfg.params["sensor_name"]].primary_names
        ]
        self._columns = [names.index(body) for body in cfg.params["bodies"]]

    def __call__(
        self, env: ManagerBasedRlEnv, sensor_name: str, bodies: tuple[str, ...]
    ) -> torch.Tensor:
        del bodies  # Read once, in the constructor.
        return (env.scene[sensor_name].data.found[:, self._columns] > 0).any(dim=1)


def collapsed(
    env: ManagerBasedRlEnv, min_height_m: float, asset_cfg: SceneEntityCfg
) -> torch.Tensor:
    """The support torque holds a robot whose base is close to its feet: on its knees.

    Never without the torque: one that climbs a step of 25 cm, knee bent and a foot in
    the air, is as low above the mean of its feet. Not in the paper, where only waist
    and head end an episode.
    """
    assist: Any = env.event_manager.get_term_cfg(ASSIST)
    if assist.params["strength"] == 0.0:
        return torch.zeros(env.num_envs, dtype=torch.bool, device=env.device)
    data = env.scene[asset_cfg.name].data
    feet_z = data.body_link_pos_w[:, asset_cfg.body_ids, 2].mean(dim=1)
    return data.root_link_pos_w[:, 2] - feet_z < min_height_m


def physics_diverged(env: ManagerBasedRlEnv) -> torch.Tensor:
    """The physics of an environment broke down: MuJoCo warned, or a NaN appeared.

    The environment restarts; the others continue. mjlab logs the count under
    ``Episode_Termination/physics_diverged``.
    """
    if isinstance(env.sim, NativeSimulation):
        return env.sim.diverged.clone()
    return nan_detection(env)


def left_terrain(env: ManagerBasedRlEnv, margin_m: float = 1.0) -> torch.Tensor:
    """The robot reached the edge of the terrain, border included."""
    size_x, size_y = grid_terrain(env).grid.size_m
    position = env.scene["robot"].data.root_link_pos_w
    return (position[:, 0].abs() > size_x / 2 - margin_m) | (
        position[:, 1].abs() > size_y / 2 - margin_m
    )


def left_patch(env: ManagerBasedRlEnv, beyond_m: float = 0.0) -> torch.Tensor:
    """The robot is this far beyond its patch, along an axis from its start.

    Not in the paper, where the robot walks on over other patches until the time is up.
    Ending here keeps the samples on its own patch and on the way to the next one, and
    promotes robots immediately.
    """
    terrain = grid_terrain(env)
    position = env.scene["robot"].data.root_link_pos_w[:, :2]
    away = (position - env.scene.env_origins[:, :2]).abs().amax(dim=1)
    return away > terrain.cfg.scene.patch_m / 2 + beyond_m
