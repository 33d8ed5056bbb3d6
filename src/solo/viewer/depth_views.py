"""What the depth camera of a robot in mid-stride sees of a terrain, for pictures."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import torch

from solo.robots.robot_cfg import RobotCfg
from solo.robots.view import camera_pose_w, self_view_w, standing_pose
from solo.sensors.depth_camera import DepthCamera
from solo.sensors.depth_corruption import without_near_limit
from solo.terrains.grid import HeightGrid
from solo.terrains.scene import generate_patch

_PATCH_M = 8.0


@dataclass(frozen=True)
class Stride:
    """A posture that differs from the default pose."""

    name: str
    joints: dict[str, float]
    """Joint of the G1 to its angle, radians; joints a robot lacks are left out."""


STRIDES = (
    Stride("stance", {}),
    Stride(
        "left leg swings",
        {
            "left_hip_pitch_joint": -0.95,
            "left_knee_joint": 1.05,
            "left_ankle_pitch_joint": -0.1,
            "right_hip_pitch_joint": -0.05,
            "left_shoulder_pitch_joint": 0.5,
            "right_shoulder_pitch_joint": -0.1,
        },
    ),
    Stride(
        "right knee lifts",
        {
            "right_hip_pitch_joint": -1.35,
            "right_knee_joint": 1.35,
            "right_ankle_pitch_joint": 0.0,
            "left_shoulder_pitch_joint": -0.2,
            "right_shoulder_pitch_joint": 0.6,
            "waist_yaw_joint": 0.12,
        },
    ),
)


def render_view(
    robot: RobotCfg, terrain: str, stride: Stride, difficulty: float, seed: int
) -> torch.Tensor:
    """The image [1, H, W] of a robot that stands before the relief of a terrain.

    Its nearest foot touches the ground. Depth is not limited to the camera's least
    range, as corruption wants it.
    """
    units = generate_patch(terrain, difficulty, seed, 0, _PATCH_M)
    grid = HeightGrid(units, (-_PATCH_M / 2, -_PATCH_M / 2))
    model, data = standing_pose(robot)
    for joint in set(stride.joints) & set(robot.joint_names):
        angle = stride.joints[joint]
        data.qpos[model.joint(joint).qposadr[0]] = angle
    data.qpos[:2] = find_spot(grid)
    mujoco.mj_kinematics(model, data)
    soles = sole_points_w(robot, data)
    data.qpos[2] += (grid.height_at(soles[:, 0], soles[:, 1]) - soles[:, 2]).max()
    mujoco.mj_kinematics(model, data)
    mujoco.mj_camlight(model, data)

    pos_w, rotation_w = camera_pose_w(data)
    capsules = self_view_w(robot, data)
    ends_w = np.array([[start, end] for start, end, _ in capsules])
    radii = np.array([radius for _, _, radius in capsules])
    camera = DepthCamera(grid, without_near_limit(robot.depth_camera), "cpu")
    return camera.render(
        torch.tensor(pos_w, dtype=torch.float32)[None],
        torch.tensor(rotation_w, dtype=torch.float32)[None],
        torch.tensor(ends_w, dtype=torch.float32)[None],
        torch.tensor(radii, dtype=torch.float32),
    )


def find_spot(grid: HeightGrid) -> tuple[float, float]:
    """Where on the x axis level ground is underfoot and the most relief is ahead."""
    ahead = np.stack(np.meshgrid(np.arange(0.3, 1.3, 0.05), np.arange(-0.4, 0.4, 0.1)))
    under = np.stack(np.meshgrid(np.arange(-0.1, 0.2, 0.05), np.arange(-0.2, 0.2, 0.1)))

    def relief(x: float) -> float:
        ground = grid.height_at(x + under[0], under[1])
        view = grid.height_at(x + ahead[0], ahead[1]) - np.median(ground)
        return float(view.clip(-0.5, 0.5).std() - 2.0 * np.ptp(ground).clip(max=0.5))

    return max(np.arange(0.0, _PATCH_M / 2 - 1.4, 0.05).tolist(), key=relief), 0.0


def sole_points_w(robot: RobotCfg, data: mujoco.MjData) -> np.ndarray:
    """Lowest points of both soles in the world, (N, 3)."""
    points = []
    for foot in robot.feet:
        body = data.body(foot.body)
        for x, y in foot.points.values():
            point = np.array([x, y, foot.sole_z])
            points.append(body.xmat.reshape(3, 3) @ point + body.xpos)
    return np.array(points)
