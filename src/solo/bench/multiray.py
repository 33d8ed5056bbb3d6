"""Depth images from MuJoCo's ``mj_multiRay``: the reference for our depth camera.

``mj_multiRay`` looks at every square of a height field between a ray and the field's
far side: 0.4 s per image on one patch, 3.6 s on the whole scene. It is fast on meshes,
which MuJoCo searches with a tree, so the ground around a robot is given to it as a
mesh; that is 30 times as fast.
"""

from __future__ import annotations

import mujoco
import numpy as np

from solo.sensors.depth.camera import longest_ray_m
from solo.sensors.depth.cfg import DepthCameraCfg
from solo.terrains.grid import HeightGrid


def add_ground_mesh(spec: mujoco.MjSpec, grid: HeightGrid, walls: bool = True) -> None:
    """Add the surface of a grid as a mesh.

    With walls risers are vertical, as the depth camera sees them; else they are the
    ramps of the physical surface.
    """
    heights = grid.surface_vertices().astype(np.float64)
    spacing_m = grid.cell_m / 2
    steep = _steep_squares(heights, grid.slope_threshold * spacing_m + 1e-6)
    cut = (steep[0] | steep[1]) & walls
    lattice = np.indices(heights.shape).transpose(1, 2, 0)
    points = _points(lattice, heights).reshape(-1, 3)  # In squares along x and y.
    first = np.flatnonzero(np.pad(~cut, ((0, 1), (0, 1))))
    num_y = heights.shape[1]
    quads = first[:, None] + [0, num_y, num_y + 1, 1]
    if cut.any():
        pieces = np.concatenate(_cut_squares(heights, steep, np.argwhere(cut)))
        rise = np.ptp(pieces[..., 2], axis=1)
        area = np.ptp(pieces[..., 0], axis=1) * np.ptp(pieces[..., 1], axis=1)
        pieces = pieces[(rise > 1e-6) | (area > 0.0)].reshape(-1, 3)
        index = len(points) + np.arange(len(pieces)).reshape(-1, 4)
        points, quads = np.concatenate([points, pieces]), np.concatenate([quads, index])
    points[:, :2] = (points[:, :2] + 0.5) * spacing_m + grid.corner_xy_m
    # MuJoCo splits a square from its lowest (x, y) to its highest, first to third.
    faces = quads[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)
    centre = points.mean(0)
    mesh = spec.add_mesh(
        name="ground",
        uservert=(points - centre).ravel(),
        userface=faces.ravel(),
        inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,  # It is not closed.
    )
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname=mesh.name,
        pos=centre,
        contype=0,
        conaffinity=0,
    )


def _steep_squares(heights: np.ndarray, limit_m: float) -> tuple[np.ndarray, ...]:
    """Whether a riser crosses each square, along x and along y, [X - 1, Y - 1]."""
    x = np.abs(np.diff(heights, axis=0)) > limit_m
    y = np.abs(np.diff(heights, axis=1)) > limit_m
    return x[:, :-1] | x[:, 1:], y[:-1] | y[1:]


def _points(xy: np.ndarray, heights: np.ndarray) -> np.ndarray:
    return np.concatenate([xy, heights[..., None]], axis=-1)


def _cut_squares(
    heights: np.ndarray, steep: tuple[np.ndarray, ...], squares: np.ndarray
) -> list[np.ndarray]:
    """Quarters of the squares [N, 2] and the vertical walls at their sides."""

    def quarter(at: np.ndarray, a: int, b: int, u: float, v: float) -> np.ndarray:
        """Height of quarter (a, b) at (u, v): the nearest vertices' across a riser."""
        i, j = np.clip(at, 0, np.array(steep[0].shape) - 1).T
        s, t = np.where(steep[0][i, j], a, u), np.where(steep[1][i, j], b, v)
        low = (1 - s) * heights[i, j] + s * heights[i + 1, j]
        high = (1 - s) * heights[i, j + 1] + s * heights[i + 1, j + 1]
        return (1 - t) * low + t * high

    quads = []
    for a, b in np.ndindex(2, 2):
        ends = [(a, b), (a + 1, b), (a + 1, b + 1), (a, b + 1)]
        own = [(u / 2, v / 2, quarter(squares, a, b, u / 2, v / 2)) for u, v in ends]
        quads.append(_quads(squares, own))
        for side in range(4):
            # The neighbour behind this side, in this square or in the next.
            u_step, v_step = [(0, -1), (1, 0), (0, 1), (-1, 0)][side]
            step = np.array([(a + u_step) // 2, (b + v_step) // 2])
            na, nb = (a + u_step) % 2, (b + v_step) % 2
            wall = [own[side], own[(side + 1) % 4]]
            wall += [
                (u, v, quarter(squares + step, na, nb, u - step[0], v - step[1]))
                for u, v, _ in reversed(wall)
            ]
            quads.append(_quads(squares, wall))
    return quads


def _quads(squares: np.ndarray, corners: list[tuple]) -> np.ndarray:
    return np.stack(
        [_points(squares + np.array([u, v]), h) for u, v, h in corners], axis=1
    )


def add_capsules(spec: mujoco.MjSpec, lengths: np.ndarray, radii: np.ndarray) -> None:
    """Add free-standing capsules, which `RayCaster` puts into place per image."""
    for length, radius in zip(lengths, radii, strict=True):
        body = spec.worldbody.add_body(mocap=True)
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[radius, length / 2, 0.0]
        )


class RayCaster:
    """Casts the rays of `DepthCamera` with MuJoCo.

    Each slot has data of its own, so that several threads can cast at once
    (``mj_multiRay`` runs without the GIL).
    """

    def __init__(
        self, model: mujoco.MjModel, cfg: DepthCameraCfg, num_slots: int = 1
    ) -> None:
        self._model, self._cfg = model, cfg
        self._datas = [mujoco.MjData(model) for _ in range(num_slots)]
        for data in self._datas:
            mujoco.mj_forward(model, data)
        rays = cfg.pixel_rays().reshape(-1, 3)
        self._lengths = np.linalg.norm(rays, axis=1)
        self._directions = rays / self._lengths[:, None]

    def cast(
        self, pos: np.ndarray, rotation: np.ndarray, capsules: np.ndarray, slot: int = 0
    ) -> np.ndarray:
        """Depth image [H, W], clipped to the range as `DepthCamera` does.

        Of a camera at (3,) with a rotation camera-to-world (3, 3), and capsules' end
        points (C, 2, 3) in the world; the slot is the calling thread's own.
        """
        cfg, data, count = self._cfg, self._datas[slot], len(self._lengths)
        for n, (start, end) in enumerate(capsules):
            data.mocap_pos[n] = (start + end) / 2
            mujoco.mju_quatZ2Vec(data.mocap_quat[n], end - start)
        mujoco.mj_kinematics(self._model, data)
        geoms, distances = np.empty(count, np.int32), np.empty(count)
        mujoco.mj_multiRay(
            self._model,
            data,
            pos,
            (self._directions @ rotation.T).ravel(),
            None,  # All geom groups.
            True,  # Fixed bodies too.
            -1,  # No body is left out.
            geoms,
            distances,
            None,
            count,
            longest_ray_m(cfg),
        )
        depth = distances / self._lengths
        depth[(geoms < 0) | (depth > cfg.max_range_m)] = cfg.max_range_m
        depth[depth < cfg.min_range_m] = 0.0
        return depth.reshape(cfg.output_height, cfg.output_width)
