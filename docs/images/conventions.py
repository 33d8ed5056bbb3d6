"""Draw ``conventions.png`` from the G1's config and meshes.

Run ``python docs/images/conventions.py --output docs/images/conventions.png`` after a
change of mount, camera or height map window.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import mujoco
import numpy as np
import tyro
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Arc, Polygon, Rectangle

from solo.robots.g1 import G1
from solo.robots.robot_cfg import RobotCfg
from solo.robots.view import camera_pose_w, cells_in_view, standing_pose
from solo.sensors.depth.cfg import DepthCameraCfg

SEEN, UNSEEN, VIEW, INK = "#8fbf8f", "#dddddd", "#c8792b", "#333333"
AXIS_COLORS = {"x": "#c0392b", "y": "#2e8b57", "z": "#2c5aa0"}
TEXT = {"fontsize": 9, "color": INK}
WHITE_BOX = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": "none", "alpha": 0.85}


def draw_conventions(cfg: RobotCfg, output: Path) -> None:
    """Write a PNG with a side view and a top view of the standing robot."""
    model, data = standing_pose(cfg, visual=True)
    triangles = mesh_triangles_w(model, data)
    is_seen = cells_in_view(cfg)
    figure, (side, top) = plt.subplots(
        2, 1, figsize=(10.5, 12.0), height_ratios=[1.42, 1.16], layout="constrained"
    )
    _draw_side(side, cfg, data, triangles, is_seen)
    _draw_top(top, cfg, data, triangles, is_seen)
    figure.savefig(output, dpi=110)
    plt.close(figure)


def mesh_triangles_w(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """All mesh faces of the model in the world, shape (N, 3, 3): face, corner, xyz."""
    parts = []
    for geom in np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_MESH):
        mesh = model.mesh(model.geom_dataid[geom])
        vertices = model.mesh_vert[mesh.vertadr[0] :][: mesh.vertnum[0]]
        faces = model.mesh_face[mesh.faceadr[0] :][: mesh.facenum[0]]
        rotation = data.geom_xmat[geom].reshape(3, 3)
        parts.append((vertices @ rotation.T + data.geom_xpos[geom])[faces])
    return np.concatenate(parts)


def ground_corners_w(data: mujoco.MjData, camera: DepthCameraCfg) -> np.ndarray:
    """Where the corners of the image meet z = 0, clockwise from top left, (4, 3)."""
    origin, rotation = camera_pose_w(data)
    u = np.array([0.0, camera.width, camera.width, 0.0])
    v = np.array([0.0, 0.0, camera.height, camera.height])
    rays_cam = np.stack(
        [(u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy, np.ones(4)], axis=-1
    )
    rays = rays_cam @ rotation.T
    return origin - rays * (origin[2] / rays[:, 2:])


def _draw_robot(ax: Axes, triangles: np.ndarray, axes: tuple[int, int]) -> None:
    """Paint the faces that look at the viewer, far ones first, shaded by their turn."""
    (depth_axis,) = {0, 1, 2} - set(axes)
    # The side view looks along +y (from the right), the top view along -z.
    toward_viewer = -1.0 if depth_axis == 1 else 1.0
    normals = np.cross(
        triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    )
    length = np.linalg.norm(normals, axis=-1).clip(min=1e-12)
    facing = toward_viewer * normals[:, depth_axis] / length
    triangles, facing = triangles[facing > 0.0], facing[facing > 0.0]
    order = np.argsort(toward_viewer * triangles[:, :, depth_axis].mean(1))
    grey = (0.45 + 0.4 * facing[order])[:, None].repeat(3, axis=1)
    ax.add_collection(
        PolyCollection(
            list(triangles[order][:, :, axes]),
            facecolors=grey,
            edgecolors=grey,
            linewidths=0.2,
            rasterized=True,
            zorder=3,
        )
    )


def _draw_axes(
    ax: Axes,
    origin: np.ndarray,
    arrows: dict[str, tuple[float, float]],
    suffix: str,
    length: float = 0.17,
) -> None:
    """Draw named axes of one frame from a point in the plane of the picture."""
    for name, direction in arrows.items():
        tip = origin + length * np.array(direction)
        label = origin + (length + 0.04) * np.array(direction)
        ax.annotate(
            "",
            (tip[0], tip[1]),
            (origin[0], origin[1]),
            arrowprops={"arrowstyle": "-|>", "color": AXIS_COLORS[name], "lw": 2},
            zorder=6,
        )
        ax.text(
            label[0],
            label[1],
            f"{name}{suffix}",
            color=AXIS_COLORS[name],
            fontsize=9,
            ha="center",
            va="center",
            bbox=WHITE_BOX,
            zorder=7,
        )


def _note(ax: Axes, text: str, at: tuple, to: tuple, **kwargs) -> None:
    ax.annotate(
        text,
        to,
        at,
        arrowprops={"arrowstyle": "-", "color": INK, "lw": 0.7},
        bbox=WHITE_BOX,
        va="center",
        zorder=8,
        **TEXT,
        **kwargs,
    )


def _draw_side(
    ax: Axes,
    cfg: RobotCfg,
    data: mujoco.MjData,
    triangles: np.ndarray,
    is_seen: np.ndarray,
) -> None:
    window, mount = cfg.height_map, cfg.camera_mount
    _draw_robot(ax, triangles, (0, 2))
    origin_w, rotation = camera_pose_w(data)
    eye = origin_w[[0, 2]]
    base = data.body(cfg.base_body).xpos[[0, 2]]
    corners = ground_corners_w(data, cfg.depth_camera)
    near, far = corners[2, 0], corners[0, 0]
    wedge = np.array([[eye[0], eye[1]], [near, 0.0], [far, 0.0]])
    ax.add_patch(Polygon(wedge, fc=VIEW, alpha=0.15, zorder=1))
    for x in (near, far):
        ax.plot([eye[0], x], [eye[1], 0.0], color=VIEW, lw=1.2, zorder=4)
    forward = rotation[[0, 2], 2]
    ax.plot(*np.stack([eye, eye + 0.62 * forward]).T, color=VIEW, ls="--", zorder=4)
    ax.plot([eye[0], eye[0] + 0.5], [eye[1]] * 2, color=INK, ls=":", lw=1)
    ax.add_patch(
        Arc(tuple(eye), 0.7, 0.7, theta1=-mount.pitch_down_deg, theta2=0.0, color=INK)
    )
    ax.text(eye[0] + 0.32, eye[1] - 0.27, f"{mount.pitch_down_deg:g}°", **TEXT)
    ax.plot(*eye, "o", color=VIEW, ms=7, mec=INK, zorder=7)
    _note(
        ax,
        f"depth camera on {mount.body}\n{mount.pos_m} m, depth z from "
        f"{cfg.depth_camera.min_range_m:g} to {cfg.depth_camera.max_range_m:g} m\n"
        "x_cam points at the viewer",
        (0.45, 1.27),
        tuple(eye),
    )
    ax.text(
        0.80,
        0.36,
        f"view: {cfg.depth_camera.fov_deg[1]:.1f}° from top to bottom row,\n"
        f"{cfg.depth_camera.fov_deg[0]:.1f}° from left to right column",
        fontsize=9,
        color=VIEW,
    )
    _draw_axes(
        ax,
        eye,
        {"y": tuple(rotation[[0, 2], 1]), "z": tuple(forward)},
        "_cam",
        length=0.24,
    )
    _draw_axes(ax, base, {"x": (1.0, 0.0), "z": (0.0, 1.0)}, "_b", 0.1)
    _draw_axes(
        ax, np.array([-0.65, 0.05]), {"x": (1.0, 0.0), "z": (0.0, 1.0)}, "_w", 0.13
    )
    _note(ax, f"base = {cfg.base_body}", (-0.62, 0.84), tuple(base))
    ax.annotate(
        "",
        (-0.42, 0.0),
        (-0.42, base[1]),
        arrowprops={"arrowstyle": "<->", "color": INK, "lw": 1},
    )
    ax.plot([-0.45, base[0]], [base[1]] * 2, color=INK, ls=":", lw=1)
    ax.text(-0.45, 0.4, f"{cfg.base_height_m:.3f} m", ha="right", **TEXT)
    x0 = window.x_range_m[0]
    for column in range(window.cells[1]):
        ax.add_patch(
            Rectangle(
                (x0 + column * window.cell_m, -0.05),
                window.cell_m,
                0.05,
                fc=SEEN if is_seen[:, column].any() else UNSEEN,
                ec="white",
                lw=0.8,
            )
        )
    ax.axhline(0.0, color=INK, lw=1, zorder=2)
    last = window.cells[1] - 1
    for column, x in (
        (0, x0 + window.cell_m / 2),
        (last, window.x_range_m[1] - window.cell_m / 2),
    ):
        _note(ax, f"ix = {column}", (x, -0.14), (x, -0.04), ha="center")
    ax.text(
        0.5,
        -0.14,
        f"height map: {window.cells[1]} cells of {window.cell_m:g} m along x",
        ha="center",
        va="center",
        **TEXT,
    )
    ax.set(xlim=(-0.75, 1.75), ylim=(-0.2, 1.42), aspect="equal")
    ax.set(xlabel="x ahead of the base [m]", ylabel="z [m]")
    ax.set_title("Side view, from the robot's right (y points into the page)")


def _draw_top(
    ax: Axes,
    cfg: RobotCfg,
    data: mujoco.MjData,
    triangles: np.ndarray,
    is_seen: np.ndarray,
) -> None:
    window = cfg.height_map
    x0, y0 = window.x_range_m[0], window.y_range_m[0]
    for (iy, ix), seen in np.ndenumerate(is_seen):
        ax.add_patch(
            Rectangle(
                (x0 + ix * window.cell_m, y0 + iy * window.cell_m),
                window.cell_m,
                window.cell_m,
                fc=SEEN if seen else UNSEEN,
                ec="white",
                lw=0.8,
            )
        )
    footprint = ground_corners_w(data, cfg.depth_camera)[:, :2]
    ax.add_patch(Polygon(footprint, fc=VIEW, alpha=0.12, zorder=2))
    ax.add_patch(Polygon(footprint, fill=False, ec=VIEW, lw=1.2, zorder=4))
    _draw_robot(ax, triangles, (0, 1))
    _draw_axes(ax, np.zeros(2), {"x": (1.0, 0.0), "y": (0.0, 1.0)}, "_h", length=0.25)
    last_y, last_x = window.cells[0] - 1, window.cells[1] - 1
    centres = window.centres_h()
    for iy, ix in ((0, 0), (0, last_x), (last_y, 0), (last_y, last_x)):
        x, y = centres[iy, ix]
        ax.plot(x, y, "s", ms=5, color=INK, zorder=6)
        _note(
            ax,
            f"m[{iy}, {ix}]\n({x:.3f}, {y:.3f})",
            (x, y + (0.13 if iy else -0.13)),
            (x, y),
            ha="center",
        )
    ax.text(
        0.75,
        0.62,
        f"green: in view on flat ground, {is_seen.mean():.0%} of the window",
        ha="center",
        va="center",
        bbox=WHITE_BOX,
        zorder=8,
        **TEXT,
    )
    ax.text(1.6, -0.55, "image on\nthe ground", color=VIEW, fontsize=9, ha="center")
    ax.set(xlim=(-0.75, 1.75), ylim=(-0.68, 0.68), aspect="equal")
    ax.set(xlabel="x_h ahead [m]", ylabel="y_h to the left [m]")
    ax.set_title("Top view, heading frame: height map m[iy, ix]")


def main(output: Path) -> None:
    """Draw the picture of docs/conventions.md.

    Args:
        output: PNG file to write.
    """
    draw_conventions(G1, output)
    print(f"Wrote {output}")


if __name__ == "__main__":
    tyro.cli(main)
