"""The height grid as MuJoCo geometry.

One height field for all patches. One per patch makes a physics step dearer, because
MuJoCo then searches a tree of 170 boxes for every body of the robot (a seventh of a
step of the G1 went there), and has seams.
"""

from __future__ import annotations

import mujoco
import numpy as np

from solo.terrains.patch import UNIT_M
from solo.terrains.scene import TerrainScene

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
