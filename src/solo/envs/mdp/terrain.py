"""Access to the height-grid terrain of an environment."""

from __future__ import annotations

import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.grid_terrain import GridTerrain


def grid_terrain(env: ManagerBasedRlEnv) -> GridTerrain:
    """The environment's terrain, which must be made of a height grid."""
    terrain = env.scene.terrain
    if not isinstance(terrain, GridTerrain):
        raise TypeError(
            f"The terrain is a {type(terrain).__name__}; this term reads the height "
            "grid of a GridTerrain. Use GridTerrainCfg in the scene."
        )
    return terrain


def on_terrains(
    env: ManagerBasedRlEnv, env_ids: torch.Tensor, names: tuple[str, ...]
) -> torch.Tensor:
    """Whether robots [N] belong to one of these terrain variants, bool [N]."""
    terrain = grid_terrain(env)
    is_one = torch.tensor([name in names for name in terrain.variant_names])
    return is_one.to(env.device)[terrain.terrain_types[env_ids]]
