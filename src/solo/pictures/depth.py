"""One picture of clean against corrupted depth images, like the paper's figure.

Each row is the view of a robot in mid-stride on one terrain. Single corruptions are
shown at the strong end of their ranges; "together" are draws as training sees them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.figure import Figure

from solo.robots.robot_cfg import RobotCfg
from solo.robots.view import camera_pose_w, self_view_w, standing_pose
from solo.sensors.depth.camera import DepthCamera
from solo.sensors.depth.cfg import CORRUPTIONS, DepthCorruptionCfg, SideMaskCfg
from solo.sensors.depth.corruption import DepthCorruptor, without_near_limit
from solo.terrains.grid import HeightGrid
from solo.terrains.scene import generate_patch

SINGLES = {
    "value noise": ("value_noise",),
    "edge noise and holes": ("edge_noise", "edge_holes"),
    "missing pixels": ("missing",),
    "blind regions": ("close_blocks", "left_band", "shadow", "side_masks"),
    "blur": ("blur",),
}
"""The paper's kinds of corruption and the ones of ours that make them up."""
NUM_TOGETHER = 2

_PATCH_M = 8.0


def draw_depth_picture(
    robot: RobotCfg,
    terrains: Sequence[str],
    difficulty: float,
    output: Path,
    seed: int = 0,
) -> dict[str, float]:
    """Render the views, corrupt them and draw a PNG file, one row per terrain.

    Returns the share of invalid pixels in each column.
    """
    clean = torch.cat(
        [
            render_view(robot, name, STRIDES[(k + 1) % len(STRIDES)], difficulty, seed)
            for k, name in enumerate(terrains)
        ]
    )
    columns = corrupt_columns(clean, robot, DepthCorruptionCfg(), seed)
    _draw(columns, terrains, difficulty, robot.depth_camera.max_range_m, output)
    return {
        title: (images == 0.0).float().mean().item()
        for title, images in columns.items()
    }


def corrupt_columns(
    clean: torch.Tensor, robot: RobotCfg, cfg: DepthCorruptionCfg, seed: int
) -> dict[str, torch.Tensor]:
    """Title to images [B, H, W]: clean, each kind alone, and all together."""
    strong = strong_end(cfg)
    recipes = {"clean": cfg.only()}
    recipes |= {title: strong.only(*names) for title, names in SINGLES.items()}
    recipes |= {f"together, episode {k + 1}": cfg for k in range(NUM_TOGETHER)}
    columns = {}
    for k, (title, recipe) in enumerate(recipes.items()):
        corrupt = DepthCorruptor(
            recipe, robot.depth_camera, len(clean), "cpu", seed=1000 * seed + k
        )
        columns[title] = corrupt(clean.clone())
    return columns


def strong_end(cfg: DepthCorruptionCfg) -> DepthCorruptionCfg:
    """The same with every range at its upper end, and both sides masked."""
    parts = {name: getattr(cfg, name) for name in CORRUPTIONS}
    ends = {name: _upper(part) for name, part in parts.items() if part is not None}
    if cfg.side_masks is not None:
        ends["side_masks"] = SideMaskCfg((1.0, 1.0), cfg.side_masks.max_width)
    return replace(cfg, **ends)


def _upper(part: Any) -> Any:
    spans = {f.name: getattr(part, f.name) for f in fields(part)}
    return replace(
        part, **{n: (s[1], s[1]) for n, s in spans.items() if isinstance(s, tuple)}
    )


def _draw(
    columns: dict[str, torch.Tensor],
    terrains: Sequence[str],
    difficulty: float,
    max_m: float,
    output: Path,
) -> None:
    """One row per terrain, one column per corruption."""
    size = (
        1.9 * len(columns) + 1.0,
        1.425 * len(terrains) + 1.3,
    )  # 4:3, as the camera.
    figure = Figure(figsize=size, facecolor="white", layout="constrained")
    title = f"Depth of the chest camera at difficulty {difficulty:g}"
    figure.suptitle(title, size=15, weight="bold")
    panels = figure.subplots(len(terrains), len(columns), squeeze=False)
    colours = colormaps["viridis_r"].with_extremes(bad="black")
    image = None
    for column, (name, images) in zip(panels.T, columns.items(), strict=True):
        column[0].set_title(name, size=11)
        for axes, depth in zip(column, images.numpy(), strict=True):
            image = axes.imshow(
                np.ma.masked_equal(depth, 0.0),
                cmap=colours,
                vmin=0.3,
                vmax=max_m,
                aspect="auto",
                interpolation="nearest",
            )
    label_rows(panels, terrains)
    assert image is not None
    bar = figure.colorbar(image, ax=panels, location="bottom", shrink=0.4, pad=0.02)
    bar.set_label(
        "metres along the optical axis; black: no depth. "
        "Each kind alone is at the strong end of its range.",
        size=9,
    )
    bar.ax.tick_params(labelsize=8)
    figure.savefig(output, dpi=110, format="png")


def label_rows(panels: np.ndarray, terrains: Sequence[str]) -> None:
    """Name the rows of a sheet of images after terrains, and take the ticks away."""
    for axes in panels.flat:
        axes.set_xticks([])
        axes.set_yticks([])
    for axes, terrain in zip(panels[:, 0], terrains, strict=True):
        name = terrain.replace("_", "\n")
        axes.set_ylabel(name, rotation=0, ha="right", va="center")


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
