"""Observation terms."""

from __future__ import annotations

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.managers.observation_manager import ObservationTermCfg

from solo.envs.mdp.terrain import grid_terrain
from solo.sensors.height_map import HeightMap


class height_map:
    """Clean local height map [B, Y, X]: terrain height minus base height, metres."""

    def __init__(self, cfg: ObservationTermCfg, env: ManagerBasedRlEnv) -> None:
        terrain = grid_terrain(env)
        self._map = HeightMap(terrain.grid, cfg.params["cfg"], env.device)

    def __call__(self, env: ManagerBasedRlEnv, cfg: object) -> torch.Tensor:
        del cfg  # Read once, in the constructor.
        base = env.scene["robot"].data
        return self._map.sample(base.root_link_pos_w, base.root_link_quat_w)
