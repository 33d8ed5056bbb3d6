"""The height grid as MuJoCo geometry, and as mjlab's terrain entity.

One height field for all patches. One per patch makes a physics step dearer, because
MuJoCo then searches a tree of 170 boxes for every body of the robot (a seventh of a
step of the G1 went there), and has seams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import mujoco
import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.terrains.terrain_entity import TerrainEntity, TerrainEntityCfg
from mjlab.utils import spec_config as spec_cfg

from solo.errors import unknown_name
from solo.terrains.grid import HeightGrid
from solo.terrains.patch import UNIT_M
from solo.terrains.scene import TerrainScene, TerrainSceneCfg
from solo.terrains.variants import check_weight

BASE_M = 0.5
"""Solid ground under the lowest vertex of the height field.

Not stated in the paper; chosen because a foot that is pushed into the ground must still
find it below.
"""

BORDER_THICKNESS_M = 1.0
BORDER_RGBA = (0.55, 0.57, 0.59, 1.0)

TERRAIN = "terrain"
"""Name of the fixed body, of its height field and of the picture on it."""


def add_terrain(spec: mujoco.MjSpec, scene: TerrainScene) -> None:
    """Add the scene to a model: a height field for the patches, boxes for the border.

    The height field belongs to the fixed body ``terrain`` and the border to bodies
    below it, so that a contact sensor finds all ground in the subtree. The height field
    also holds the first cell of border and half of the next: the surface may slope from
    the first into a patch, the second is sure to be flat.
    """
    body = spec.worldbody.add_body(name=TERRAIN)
    num_levels, num_columns = scene.origins_m.shape[:2]
    x_first, y_first = scene.patch_cells(0, 0)
    x_last, y_last = scene.patch_cells(num_levels - 1, num_columns - 1)
    grid = scene.grid.crop(
        slice(x_first.start - 2, x_last.stop + 2),
        slice(y_first.start - 2, y_last.stop + 2),
    )
    vertices = grid.surface_vertices()[1:-1, 1:-1]
    num_x, num_y = vertices.shape
    low_m, high_m = float(vertices.min()), float(vertices.max())
    # Flat ground has no range to scale heights by; it gets one unit, which is unused.
    range_m = max(high_m - low_m, UNIT_M)
    spacing_m = grid.cell_m / 2
    spec.add_hfield(
        name=TERRAIN,
        size=[
            (num_x - 1) / 2 * spacing_m,
            (num_y - 1) / 2 * spacing_m,
            range_m,
            BASE_M,
        ],
        # Rows are along y, and heights are scaled to [0, 1].
        nrow=num_y,
        ncol=num_x,
        userdata=((vertices.T - low_m) / range_m).ravel(),
    )
    x0, y0 = grid.corner_xy_m
    width_m, length_m = grid.size_m
    body.add_geom(
        name=TERRAIN,
        type=mujoco.mjtGeom.mjGEOM_HFIELD,
        hfieldname=TERRAIN,
        pos=[x0 + width_m / 2, y0 + length_m / 2, low_m],
        material=_add_colours(spec, scene),
        mass=0.0,
        group=0,
    )
    _add_border(body, scene)


def _add_colours(spec: mujoco.MjSpec, scene: TerrainScene) -> str:
    """Paint the ground in the colours of its families; return the material's name."""
    image = scene.colours()
    spec.add_texture(
        name=TERRAIN,
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        width=image.shape[1],
        height=image.shape[0],
        nchannel=3,
        data=(image * 255).astype(np.uint8).ravel().tolist(),
    )
    material = spec.add_material(name=TERRAIN, specular=0.1, shininess=0.1)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = TERRAIN
    return TERRAIN


def _add_border(body: mujoco.MjsBody, scene: TerrainScene) -> None:
    """Add flat ground around the patches, beginning one cell away from them.

    Every side is a body of its own, a child of the terrain's: MuJoCo compares bodies
    before geoms, and robots are rarely near a side.
    """
    grid = scene.grid
    outer_x, outer_y = (extent / 2 for extent in grid.size_m)
    width_m = scene.cfg.border_m - grid.cell_m
    near_x, near_y = outer_x - width_m / 2, outer_y - width_m / 2
    boxes = (
        (near_x, 0.0, width_m / 2, outer_y),
        (-near_x, 0.0, width_m / 2, outer_y),
        (0.0, near_y, outer_x - width_m, width_m / 2),
        (0.0, -near_y, outer_x - width_m, width_m / 2),
    )
    for index, (x, y, half_x, half_y) in enumerate(boxes):
        side = body.add_body(
            name=f"terrain_border_{index}", pos=[x, y, -BORDER_THICKNESS_M / 2]
        )
        side.add_geom(
            name=f"terrain_border_{index}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=[half_x, half_y, BORDER_THICKNESS_M / 2],
            rgba=BORDER_RGBA,
            mass=0.0,
            group=0,
        )


@dataclass
class GridTerrainCfg(TerrainEntityCfg):
    """Terrain that is generated as one height grid."""

    scene: TerrainSceneCfg = field(default_factory=TerrainSceneCfg)
    """Variants, levels, sizes and seed, or strips (`solo.terrains.strips.strip`)."""

    weights: Mapping[str, float] = field(default_factory=dict)
    """Robots on a variant relative to the others; 1, as in the paper, if not named."""

    restart_level: int = 0
    """Lowest level to which a robot that has solved the hardest one is sent.

    0 is mjlab's and Isaac Lab's rule; the paper does not state its own.
    """

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

    def update_env_origins(
        self, env_ids: torch.Tensor, move_up: torch.Tensor, move_down: torch.Tensor
    ) -> None:
        """Move robots [N] a level up or down, and from the hardest one to a random one.

        At mjlab's rule a robot that never fails spends 18 % of its episodes at the
        hardest of ten levels; 33 % if it restarts in their upper half.
        """
        num_levels = self.cfg.scene.num_levels
        hardest = self.terrain_levels[env_ids] == num_levels - 1
        super().update_env_origins(env_ids, move_up, move_down)
        if self.cfg.restart_level == 0:
            return
        solved = env_ids[hardest & move_up]
        lowest = min(self.cfg.restart_level, num_levels - 1)
        self.terrain_levels[solved] = torch.randint_like(
            self.terrain_levels[solved], lowest, num_levels
        )
        assert self.terrain_origins is not None
        assert self.env_origins is not None
        self.env_origins[solved] = self.terrain_origins[
            self.terrain_levels[solved], self.terrain_types[solved]
        ]

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
        check_weight(name, weight)
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
