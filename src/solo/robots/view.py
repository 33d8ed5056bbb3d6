"""What the depth camera sees of the ground when the robot stands: pure geometry.

Used by the offline comparison, which tells cells in view from the others, by the depth
benchmark, and by the picture in ``docs/conventions.md``.
"""

from __future__ import annotations

import mujoco
import numpy as np
from mjlab.entity import Entity

from solo.robots.build import DEPTH_CAMERA, make_entity_cfg
from solo.robots.robot_cfg import RobotCfg
from solo.sensors.depth.cfg import CAMERA_TO_MUJOCO, DepthCameraCfg


def standing_pose(
    cfg: RobotCfg, visual: bool = False
) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Compile the robot alone and place it in its default pose on z = 0."""
    model = Entity(make_entity_cfg(cfg, visual)).spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    return model, data


def camera_pose_w(data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
    """Position (3,) and rotation camera-to-world (3, 3) of the depth camera.

    The rotation's columns are right, down and forward in the world.
    """
    camera = data.camera(DEPTH_CAMERA)
    return camera.xpos.copy(), camera.xmat.reshape(3, 3) @ CAMERA_TO_MUJOCO


def project(
    points_cam: np.ndarray, camera: DepthCameraCfg
) -> tuple[np.ndarray, np.ndarray]:
    """Project points in the camera frame into the raw image.

    Args:
        points_cam: Points of shape (..., 3), metres; x right, y down, z forward.
        camera: Intrinsics, image size and range.

    Returns:
        Continuous pixel coordinates (u, v) of shape (..., 2), and a mask of shape
        (...) that is true inside the image and inside the depth range.
    """
    x, y, depth = np.moveaxis(np.asarray(points_cam), -1, 0)
    ahead = depth > 0.0
    safe = np.where(ahead, depth, 1.0)
    u = camera.fx * x / safe + camera.cx
    v = camera.fy * y / safe + camera.cy
    is_seen = (
        ahead
        & (u >= 0.0)
        & (u < camera.width)
        & (v >= 0.0)
        & (v < camera.height)
        & (depth >= camera.min_range_m)
        & (depth <= camera.max_range_m)
    )
    return np.stack([u, v], axis=-1), is_seen


def cells_in_view(cfg: RobotCfg, self_occlusion: bool = False) -> np.ndarray:
    """Mark the map cells the camera sees when the robot stands on flat ground.

    Args:
        cfg: The robot.
        self_occlusion: Also drop cells hidden behind the robot's own links.

    Returns:
        Boolean mask of shape (Y, X), the shape of the height map.
    """
    _, data = standing_pose(cfg)
    origin_w, rotation = camera_pose_w(data)
    xy = cfg.height_map.centres_h()
    # The base stands at the world origin with zero yaw, so heading equals world x, y.
    cells_w = np.concatenate([xy, np.zeros((*xy.shape[:2], 1))], axis=-1)
    _, is_seen = project((cells_w - origin_w) @ rotation, cfg.depth_camera)
    if self_occlusion:
        for start_w, end_w, radius in self_view_w(cfg, data):
            gap = _segment_distance(cells_w, origin_w, start_w, end_w)
            is_seen &= gap > radius
    return is_seen


def self_view_w(
    cfg: RobotCfg, data: mujoco.MjData
) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """End points in the world and radius of each capsule in `RobotCfg.self_view`."""
    capsules = []
    for capsule in cfg.self_view:
        body = data.body(capsule.body)
        ends = np.array(capsule.fromto) @ body.xmat.reshape(3, 3).T + body.xpos
        capsules.append((ends[0], ends[1], capsule.radius))
    return capsules


def _segment_distance(
    targets: np.ndarray, origin: np.ndarray, start: np.ndarray, end: np.ndarray
) -> np.ndarray:
    """Distances (...) between two segments, by sampling the second one at 33 points.

    The first goes from the origin to the targets (..., 3).
    """
    samples = start + np.linspace(0.0, 1.0, 33)[:, None] * (end - start)  # [N, 3]
    ray = targets[..., None, :] - origin  # [..., 1, 3]
    along = ((samples - origin) * ray).sum(-1) / (ray * ray).sum(-1)
    nearest = origin + np.clip(along, 0.0, 1.0)[..., None] * ray  # [..., N, 3]
    return np.linalg.norm(nearest - samples, axis=-1).min(-1)
