"""The terrain as light meshes, for drawing only.

The curriculum's surface has 35 million triangles, most of which lie in the planes of
steps and slopes. Merged into rectangles half a million remain, which can be drawn
without a graphics card and sent to a browser.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import mujoco
import numba
import numpy as np

from solo.terrains.patch import CELL_M
from solo.terrains.scene import TerrainScene
from solo.terrains.strips.strip import StripScene
from solo.terrains.variants import FAMILY_RGB, get_variant

_TOLERANCE_M = 0.005
"""How far the mesh may be from the surface."""

_OVERLAP_M = 0.0015
"""How far rectangles reach over their neighbours, lest the sky shine through seams."""

_DARKER = 0.88
"""Shade of every other patch, as on a chessboard."""


@dataclass(frozen=True, eq=False)
class TerrainMesh:
    """All patches of one colour."""

    rgb: tuple[float, float, float]
    """Colour, each channel in [0, 1]."""
    vertices: np.ndarray
    """World positions, float64 [V, 3]."""
    triangles: np.ndarray
    """Indices of vertices, counter-clockwise from above, int32 [F, 3]."""


def make_terrain_meshes(scene: TerrainScene) -> list[TerrainMesh]:
    """Cover all patches, in the colours of their families."""
    parts = defaultdict(list)
    for level in range(len(scene.origins_m)):
        for column, name in enumerate(scene.cfg.variants):
            shade = 1.0 if (level + column) % 2 == 0 else _DARKER
            quads = _cover_patch(scene, level, column)
            if isinstance(scene, StripScene):
                painted = cut_strip(quads, scene, level)
            else:
                painted = [(get_variant(name).family, quads)]
            for family, part in painted:
                red, green, blue = FAMILY_RGB[family]
                parts[shade * red, shade * green, shade * blue].append(part)
    meshes = []
    for rgb, patches in parts.items():
        vertices = np.concatenate(patches)  # [Q, 4, 3]
        first = 4 * np.arange(len(vertices), dtype=np.int32)[:, None, None]
        triangles = first + np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)
        meshes.append(
            TerrainMesh(rgb, vertices.reshape(-1, 3), triangles.reshape(-1, 3))
        )
    return meshes


def cut_strip(
    quads: np.ndarray, scene: StripScene, level: int
) -> list[tuple[str, np.ndarray]]:
    """Cut the surface of a strip where its segments end, to colour each by its family.

    Corners of rectangles [Q, 4, 3] are in an order: the first and the last at the lower
    x, the others at the upper. Returns each segment's family and its part, where it has
    any.
    """
    strip = scene.cfg.strips[level]
    begin_m = scene.origins_m[level, 0, 0] - strip.start_m
    lengths_m = [segment.cells * CELL_M for segment in strip.segments]
    ends_m = begin_m + np.cumsum(lengths_m)
    ends_m[-1] = np.inf  # The last goes on to the end of the longest strip.
    pieces = []
    for segment, end_m in zip(strip.segments, ends_m, strict=True):
        inside, quads = cut_at(quads, float(end_m))
        if len(inside):
            pieces.append((segment.family, inside))
    return pieces


def cut_at(quads: np.ndarray, x_m: float) -> tuple[np.ndarray, np.ndarray]:
    """Quads in front of and behind a plane of constant x; those across it are cut."""
    low, high = quads[:, 0, 0], quads[:, 1, 0]
    across = quads[(low < x_m) & (high > x_m)]
    front, behind = quads[high <= x_m], quads[low >= x_m]
    if len(across):
        share = (x_m - across[:, 0, 0]) / (across[:, 1, 0] - across[:, 0, 0])  # [Q]
        share = share[:, None]
        near = across[:, 0] + share * (across[:, 1] - across[:, 0])
        far = across[:, 3] + share * (across[:, 2] - across[:, 3])
        first = np.stack([across[:, 0], near, far, across[:, 3]], axis=1)
        second = np.stack([near, across[:, 1], across[:, 2], far], axis=1)
        front = np.concatenate([front, first])
        behind = np.concatenate([behind, second])
    return front, behind


def replace_terrain(spec: mujoco.MjSpec, scene: TerrainScene) -> None:
    """Exchange the height fields of a model for meshes that touch nothing."""
    for geom in list(spec.geoms):
        if geom.type == mujoco.mjtGeom.mjGEOM_HFIELD:
            spec.delete(geom)
    for hfield in list(spec.hfields):
        spec.delete(hfield)
    for index, terrain in enumerate(make_terrain_meshes(scene)):
        mesh = spec.add_mesh(
            name=f"terrain_view_{index}",
            uservert=terrain.vertices.ravel(),
            userface=terrain.triangles.ravel(),
            # The volume of an open surface, MuJoCo's default, may be zero.
            inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
        )
        spec.worldbody.add_geom(
            name=mesh.name,
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=mesh.name,
            rgba=[*terrain.rgb, 1.0],
            contype=0,
            conaffinity=0,
            mass=0.0,
        )


def _cover_patch(scene: TerrainScene, level: int, column: int) -> np.ndarray:
    """Corners of the rectangles that cover one patch, [Q, 4, 3].

    Rectangles do not share vertices, so edges stay sharp.
    """
    num_levels, num_columns = scene.origins_m.shape[:2]
    cells_x, cells_y = scene.patch_cells(level, column)
    x_span = _vertex_span(cells_x, level == 0, level == num_levels - 1)
    y_span = _vertex_span(cells_y, column == 0, column == num_columns - 1)
    heights = scene.grid.surface_vertices()[x_span, y_span].T  # Rows along y.
    rectangles = _rectangles(np.ascontiguousarray(heights, np.float64), _TOLERANCE_M)
    row0, col0, row1, col1 = rectangles.T
    rows = np.stack([row0, row0, row1, row1], axis=1)  # [Q, 4], counter-clockwise.
    cols = np.stack([col0, col1, col1, col0], axis=1)
    # Vertices lie a quarter of a cell to either side of the centres of cells.
    spacing_m = scene.grid.cell_m / 2
    x0, y0 = scene.grid.corner_xy_m
    x = x0 + (x_span.start + cols + 0.5) * spacing_m
    y = y0 + (y_span.start + rows + 0.5) * spacing_m
    x = x + _OVERLAP_M * np.array([-1, 1, 1, -1])
    y = y + _OVERLAP_M * np.array([-1, -1, 1, 1])
    return np.stack([x, y, heights[rows, cols]], axis=-1)


def _vertex_span(cells: slice, is_first: bool, is_last: bool) -> slice:
    """Vertices of a patch and the next one; at the rim also the first border cell."""
    return slice(
        2 * cells.start - (3 if is_first else 0), 2 * cells.stop + (3 if is_last else 1)
    )


@numba.njit(cache=True)
def _is_line(values: np.ndarray, tolerance: float) -> bool:
    """Whether equally spaced values lie on the line through the first and last."""
    last = len(values) - 1
    for k in range(1, last):
        line = values[0] + (values[last] - values[0]) * k / last
        if abs(values[k] - line) > tolerance:
            return False
    return True


@numba.njit(cache=True)
def _is_flat(heights: np.ndarray, tolerance: float) -> bool:
    """Whether two triangles do for a bilinear surface, of which the corners are read.

    They miss a quarter of its twist.
    """
    twist = heights[0, 0] + heights[-1, -1] - heights[0, -1] - heights[-1, 0]
    return abs(twist) <= 4.0 * tolerance


@numba.njit(cache=True)
def _rectangles(heights: np.ndarray, tolerance: float) -> np.ndarray:
    """Greedy cover: grow along a row, then row by row, while the surface is flat.

    Returns:
        Vertex indices (row0, col0, row1, col1) of each rectangle, [Q, 4].
    """
    num_rows, num_cols = heights.shape[0] - 1, heights.shape[1] - 1
    is_covered = np.zeros((num_rows, num_cols), np.bool_)
    found = np.empty((num_rows * num_cols, 4), np.int64)
    count = 0
    for row in range(num_rows):
        for col in range(num_cols):
            if is_covered[row, col]:
                continue
            end_col = col + 1
            while (
                end_col < num_cols
                and not is_covered[row, end_col]
                and _is_line(heights[row, col : end_col + 2], tolerance)
                and _is_line(heights[row + 1, col : end_col + 2], tolerance)
                and _is_flat(heights[row : row + 2, col : end_col + 2], tolerance)
            ):
                end_col += 1
            end_row = row + 1
            while (
                end_row < num_rows
                and not is_covered[end_row, col:end_col].any()
                and _is_line(heights[end_row + 1, col : end_col + 1], tolerance)
                and _is_line(heights[row : end_row + 2, col], tolerance)
                and _is_line(heights[row : end_row + 2, end_col], tolerance)
                and _is_flat(heights[row : end_row + 2, col : end_col + 1], tolerance)
            ):
                end_row += 1
            is_covered[row:end_row, col:end_col] = True
            found[count, 0], found[count, 1] = row, col
            found[count, 2], found[count, 3] = end_row, end_col
            count += 1
    return found[:count]
