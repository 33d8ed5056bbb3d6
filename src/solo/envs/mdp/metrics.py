"""Metrics of the gait, logged per episode as ``Episode_Metrics/...``.

Episode length alone does not tell a robot that walks from one that stands and shuffles.
"""

from __future__ import annotations

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.managers.scene_entity_config import SceneEntityCfg


def single_stance(env: ManagerBasedRlEnv, sensor_name: str) -> torch.Tensor:
    """1 where exactly one foot touches the ground."""
    return ((env.scene[sensor_name].data.found > 0).sum(dim=1) == 1).float()


def foot_lift(env: ManagerBasedRlEnv, asset_cfg: SceneEntityCfg) -> torch.Tensor:
    """How much higher one foot is than the other, metres."""
    height = env.scene["robot"].data.body_link_pos_w[:, asset_cfg.body_ids, 2]
    return (height[:, 0] - height[:, 1]).abs()


def velocity_error(env: ManagerBasedRlEnv, command_name: str) -> torch.Tensor:
    """Distance of the base's planar velocity from the command, m/s."""
    command = env.command_manager.get_command(command_name)
    assert command is not None
    velocity = env.scene["robot"].data.root_link_lin_vel_b[:, :2]
    return (command[:, :2] - velocity).norm(dim=1)
