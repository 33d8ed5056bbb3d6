"""Observation terms."""

from __future__ import annotations

import math

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.envs import mdp as mjlab_mdp
from mjlab.managers.observation_manager import ObservationTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.utils.lab_api.math import quat_apply_inverse, yaw_quat

from solo.envs.grid_terrain import grid_terrain
from solo.envs.obstacle import obstacle_boxes
from solo.sensors.height_map import HeightMap


class height_map:
    """Clean local height map [B, Y, X]: height minus base height, metres.

    Height of the terrain, and of the movable obstacle if the scene has one.
    """

    def __init__(self, cfg: ObservationTermCfg, env: ManagerBasedRlEnv) -> None:
        terrain = grid_terrain(env)
        self._map = HeightMap(terrain.grid, cfg.params["cfg"], env.device)

    def __call__(self, env: ManagerBasedRlEnv, cfg: object) -> torch.Tensor:
        del cfg  # Read once, in the constructor.
        base = env.scene["robot"].data
        return self._map.sample(
            base.root_link_pos_w, base.root_link_quat_w, obstacle_boxes(env)
        )


class foot_scan:
    """Ground around each foot in its heading frame, relative to it, metres [B, 2 n].

    Clipped at half a metre, beyond which nothing is a foothold.
    """

    def __init__(self, cfg: ObservationTermCfg, env: ManagerBasedRlEnv) -> None:
        terrain = grid_terrain(env)
        self._map = HeightMap(terrain.grid, cfg.params["cfg"], env.device)

    def __call__(
        self, env: ManagerBasedRlEnv, asset_cfg: SceneEntityCfg, cfg: object
    ) -> torch.Tensor:
        del cfg  # Read once, in the constructor.
        data, ids = env.scene[asset_cfg.name].data, asset_cfg.body_ids
        heights = self._map.sample(
            data.body_link_pos_w[:, ids].flatten(0, 1),
            data.body_link_quat_w[:, ids].flatten(0, 1),
        )
        return heights.clamp(-0.5, 0.5).view(env.num_envs, -1)


def feet_contact(env: ManagerBasedRlEnv, sensor_name: str) -> torch.Tensor:
    """Contact forces of the feet in the heading frame [B, 6], sign * log(1 + |N|)."""
    force_w = env.scene[sensor_name].data.force  # [B, 2, 3]
    heading = yaw_quat(env.scene["robot"].data.root_link_quat_w)
    heading = heading[:, None].expand(-1, force_w.shape[1], -1)
    force_h = quat_apply_inverse(heading, force_w).flatten(1)
    return torch.sign(force_h) * torch.log1p(force_h.abs())


_KEEP = 0.9
"""Part of the velocity's error that is left after a control step: alike for 0.2 s."""


class blurred_velocity:
    """Linear velocity of the base [B, 3], m/s, with an error that wanders.

    Not in the paper. Stage 3 acts on an estimated velocity. A student that has only
    known the true one loses its gait at the first estimates. And there is a trap: its
    actions tell the true velocity, and are part of proprioception. A reconstructor that
    learns beside it reads the velocity there, and is right only until the student acts
    on what the reconstructor says. With an error, neither can rely on the other.
    """

    def __init__(self, cfg: ObservationTermCfg, env: ManagerBasedRlEnv) -> None:
        del cfg
        self.error = torch.zeros(env.num_envs, 3, device=env.device)
        """[B, 3], m/s."""

    def __call__(self, env: ManagerBasedRlEnv, std: float) -> torch.Tensor:
        """The velocity of now; each call is a step of its error, of ``std`` m/s."""
        fresh = math.sqrt(1.0 - _KEEP**2) * std * torch.randn_like(self.error)
        self.error = _KEEP * self.error + fresh
        return mjlab_mdp.base_lin_vel(env) + self.error

    def peek(
        self, env: ManagerBasedRlEnv, env_ids: torch.Tensor, std: float
    ) -> torch.Tensor:
        """The velocity of some robots [n, 3]; the error stays as it is."""
        del std
        return (mjlab_mdp.base_lin_vel(env) + self.error)[env_ids]
