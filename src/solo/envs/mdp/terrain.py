"""Access to the height-grid terrain of an environment."""

from __future__ import annotations

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
