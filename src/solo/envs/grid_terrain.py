"""The height grid as mjlab's terrain entity."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import mujoco
import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.terrains.terrain_entity import TerrainEntity, TerrainEntityCfg
from mjlab.utils import spec_config as spec_cfg

from solo.errors import SoloError, unknown_name
from solo.terrains.geometry import add_terrain
from solo.terrains.grid import HeightGrid
from solo.terrains.scene import TerrainScene, TerrainSceneCfg


@dataclass
class GridTerrainCfg(TerrainEntityCfg):
    """Terrain that is generated as one height grid."""

    scene: TerrainSceneCfg = field(default_factory=TerrainSceneCfg)
    """Variants, levels, sizes and seed, or strips (`solo.terrains.strips.strip`)."""

    weights: Mapping[str, float] = field(default_factory=dict)
    """Robots on a variant relative to the others; 1, as in the paper, if not named."""

    textures: tuple[spec_cfg.TextureCfg, ...] = ()
    """None by default: the terrain paints each patch in the colour of its family."""

    materials: tuple[spec_cfg.MaterialCfg, ...] = ()
    """None by default, as for textures."""

    def build(self) -> TerrainEntity:
        """Not used; the entity needs a device."""
        raise TypeError(
            "GridTerrainCfg.build() lacks a device; call GridTerrain(cfg, device=...)."
        )


class GridTerrain(TerrainEntity):
    """mjlab's terrain entity on our grid, which it keeps for height maps and depth.

    `terrain_levels` and `terrain_types` index the levels and `variant_names`.
    """

    cfg: GridTerrainCfg

    def __init__(self, cfg: GridTerrainCfg, device: str) -> None:
        super().__init__(cfg, device)

    @property
    def terrain_scene(self) -> TerrainScene:
        """The generated scene with its origins and difficulties."""
        return self._terrain_scene

    @property
    def grid(self) -> HeightGrid:
        """The heights that physics was built from."""
        return self._terrain_scene.grid

    @property
    def variant_names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self._terrain_scene.cfg.variants

    def _build_spec(self) -> None:
        self._spec = mujoco.MjSpec()
        self._terrain_scene = self.cfg.scene.build()
        add_terrain(self._spec, self._terrain_scene)

        self._configure_env_origins(
            self._terrain_scene.origins_m,
            robot_shares(self.variant_names, self.cfg.weights),
        )
        self._flat_patches: dict[str, torch.Tensor] = {}
        self._flat_patch_radii: dict[str, float] = {}
        if self.cfg.debug_vis:
            self._add_env_origin_sites()
            self._add_terrain_origin_sites()
            self._add_flat_patch_sites()


def robot_shares(variants: Sequence[str], weights: Mapping[str, float]) -> np.ndarray:
    """Share of the robots on each variant, [columns]; mjlab puts one on each at least.

    Raises:
        SoloError: A weight names no variant of the scene, or is not a positive number.
    """
    for name, weight in weights.items():
        if name not in variants:
            raise unknown_name(
                "terrain", name, variants, "Weights are for terrains of the scene."
            )
        if not 0.0 < weight < math.inf:
            raise SoloError(
                f"The weight of terrain {name!r} is {weight:g}; it must be finite and "
                "above 0. Leave it out for the same share as the others."
            )
    shares = np.array([weights.get(name, 1.0) for name in variants])
    return shares / shares.sum()


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
