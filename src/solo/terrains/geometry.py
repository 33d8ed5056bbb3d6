"""The height grid as MuJoCo geometry."""

from __future__ import annotations

import mujoco
import numpy as np

from solo.terrains.grid import HeightGrid
from solo.terrains.patch import UNIT_M
from solo.terrains.scene import TerrainScene
from solo.terrains.variants import FAMILY_RGB, get_variant

BASE_M = 0.5
"""Solid ground under the lowest vertex of each height field.

Not stated in the paper; chosen because a foot that is pushed into the ground must still
find it below.
"""

BORDER_THICKNESS_M = 1.0
BORDER_RGBA = (0.55, 0.57, 0.59, 1.0)


def add_terrain(spec: mujoco.MjSpec, scene: TerrainScene) -> None:
    """Add the scene to a model: one height field per patch, four boxes as the border.

    All geoms belong to one fixed body `terrain`. Neighbouring height fields share the
    vertex on either side of their seam, so the surface has no cracks.
    """
    body = spec.worldbody.add_body(name="terrain")
    num_levels, num_columns = scene.origins_m.shape[:2]
    # The patches and two cells of border are all that the height fields look at.
    x_first, y_first = scene.patch_cells(0, 0)
    x_last, y_last = scene.patch_cells(num_levels - 1, num_columns - 1)
    grid = scene.grid.crop(
        slice(x_first.start - 2, x_last.stop + 2),
        slice(y_first.start - 2, y_last.stop + 2),
    )
    patch_cells = x_first.stop - x_first.start
    for level in range(num_levels):
        span_x = _vertex_span(level, num_levels, patch_cells)
        for column, name in enumerate(scene.cfg.variants):
            span_y = _vertex_span(column, num_columns, patch_cells)
            geom = _add_height_field(
                spec, body, f"terrain_{level}_{name}", grid, span_x, span_y
            )
            shade = 1.0 if (level + column) % 2 == 0 else 0.88
            rgb = shade * np.array(FAMILY_RGB[get_variant(name).family])
            geom.rgba = [*rgb, 1.0]
    _add_border(body, scene)


def _vertex_span(index: int, count: int, patch_cells: int) -> slice:
    """Vertices of the cropped grid that one patch holds along one axis.

    One vertex past a seam. Three past the rim of all patches, where the first border
    cell may slope towards its patch and only the second is sure to be flat.
    """
    before = 3 if index == 0 else 1
    after = 3 if index == count - 1 else 1
    first = 4 + 2 * patch_cells * index  # The crop begins with two cells of border.
    return slice(first - before, first + 2 * patch_cells + after)


def _add_height_field(
    spec: mujoco.MjSpec,
    body: mujoco.MjsBody,
    name: str,
    grid: HeightGrid,
    span_x: slice,
    span_y: slice,
) -> mujoco.MjsGeom:
    """Add the given vertices of a grid as one height field.

    MuJoCo stores heights scaled to [0, 1] with rows along y, row 0 at the least y. A
    flat patch has no range to scale by and gets one unit, which is then unused.
    """
    vertices = grid.surface_vertices()[span_x, span_y]
    num_x, num_y = vertices.shape
    low_m, high_m = float(vertices.min()), float(vertices.max())
    range_m = max(high_m - low_m, UNIT_M)
    spacing_m = grid.cell_m / 2
    hfield = spec.add_hfield(
        name=name,
        size=[
            (num_x - 1) / 2 * spacing_m,
            (num_y - 1) / 2 * spacing_m,
            range_m,
            BASE_M,
        ],
        nrow=num_y,
        ncol=num_x,
        userdata=((vertices.T - low_m) / range_m).ravel(),
    )
    x0, y0 = grid.corner_xy_m
    return body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_HFIELD,
        hfieldname=hfield.name,
        pos=[
            x0 + (span_x.start + span_x.stop) / 2 * spacing_m,
            y0 + (span_y.start + span_y.stop) / 2 * spacing_m,
            low_m,
        ],
        mass=0.0,
        group=0,
    )


def _add_border(body: mujoco.MjsBody, scene: TerrainScene) -> None:
    """Add flat ground around the patches, beginning one cell away from them.

    That cell belongs to the height fields, which also reach half a cell into the next.
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
        body.add_geom(
            name=f"terrain_border_{index}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=[x, y, -BORDER_THICKNESS_M / 2],
            size=[half_x, half_y, BORDER_THICKNESS_M / 2],
            rgba=BORDER_RGBA,
            mass=0.0,
            group=0,
        )
