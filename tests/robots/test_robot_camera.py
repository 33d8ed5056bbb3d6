"""The depth camera: mount, axes, intrinsics, and what it sees of the map window."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

from solo.robots.build import DEPTH_CAMERA
from solo.robots.g1 import G1
from solo.robots.view import camera_pose_w, cells_in_view, project, standing_pose
from solo.sensors.depth.cfg import CameraMountCfg, DepthCameraCfg
from solo.sensors.height_map import HeightMapCfg


@pytest.fixture(scope="module")
def g1() -> tuple[mujoco.MjModel, mujoco.MjData]:
    return standing_pose(G1)


def test_camera_is_at_the_mount_and_looks_down_by_the_configured_angle(g1):
    _, data = g1
    torso = data.body(G1.camera_mount.body)
    torso_rotation = torso.xmat.reshape(3, 3)
    pos_w, rotation = camera_pose_w(data)
    np.testing.assert_allclose(
        torso_rotation.T @ (pos_w - torso.xpos), G1.camera_mount.pos_m, atol=1e-9
    )
    right, down, forward = (torso_rotation.T @ rotation).T
    pitch = math.radians(G1.camera_mount.pitch_down_deg)
    np.testing.assert_allclose(
        forward, [math.cos(pitch), 0.0, -math.sin(pitch)], atol=1e-9
    )
    np.testing.assert_allclose(right, [0.0, -1.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(np.cross(forward, right), down, atol=1e-9)
    assert down[2] < 0.0


def test_mujoco_camera_looks_along_minus_z_with_y_up(g1):
    _, data = g1
    _, rotation = camera_pose_w(data)
    mujoco_axes = data.camera(DEPTH_CAMERA).xmat.reshape(3, 3)
    np.testing.assert_allclose(-mujoco_axes[:, 2], rotation[:, 2], atol=1e-12)
    np.testing.assert_allclose(-mujoco_axes[:, 1], rotation[:, 1], atol=1e-12)
    np.testing.assert_allclose(mujoco_axes[:, 0], rotation[:, 0], atol=1e-12)


def test_camera_site_has_our_axes(g1):
    _, data = g1
    pos_w, rotation = camera_pose_w(data)
    site = data.site(DEPTH_CAMERA)
    np.testing.assert_allclose(site.xpos, pos_w, atol=1e-12)
    np.testing.assert_allclose(site.xmat.reshape(3, 3), rotation, atol=1e-9)


def test_level_camera_has_the_axes_of_the_body():
    rotation = CameraMountCfg("torso", (0.0, 0.0, 0.0), 0.0).rotation_camera_to_body()
    np.testing.assert_allclose(rotation, [[0, 0, 1], [-1, 0, 0], [0, -1, 0]], atol=0.0)


def test_field_of_view_is_that_of_a_d455_at_640x480():
    assert DepthCameraCfg().fov_deg == pytest.approx((79.6, 64.0), abs=0.05)


def test_projection_of_known_points():
    camera = DepthCameraCfg()
    points = np.array(
        [
            [0.0, 0.0, 1.0],  # On the axis.
            [1.0, 0.0, 2.0],  # 384 * 1 / 2 = 192 px to the right.
            [0.0, 0.5, 1.0],  # 384 * 0.5 = 192 px down.
            [0.0, 0.0, -1.0],  # Behind.
            [0.0, 0.0, 0.2],  # Nearer than the range.
            [1.0, 0.0, 1.0],  # 384 px to the right: outside.
        ]
    )
    pixels, is_seen = project(points, camera)
    np.testing.assert_allclose(pixels[:3], [[320, 240], [512, 240], [320, 432]])
    assert is_seen.tolist() == [True, True, True, False, False, False]


def test_69_percent_of_the_window_is_in_view_when_standing():
    # The bottom row looks 52 + 32.0 = 84.0 deg down from 1.041 m at x = 0.106 m and
    # meets the ground at x = 0.106 + 1.041 / tan(84.0 deg) = 0.215 m, so the first
    # column in view is number 10 (centre 0.225 m): 22 of 32 columns.
    is_seen = cells_in_view(G1)
    assert is_seen[:, 10:].all()
    assert not is_seen[:, :10].any()
    assert is_seen.mean() == pytest.approx(22 / 32)


def test_no_cell_in_view_is_hidden_by_the_standing_robot():
    np.testing.assert_array_equal(
        cells_in_view(G1, self_occlusion=True), cells_in_view(G1)
    )


def test_map_cells_run_from_behind_right_to_ahead_left():
    centres = HeightMapCfg().centres_h()
    assert centres.shape == (16, 32, 2)
    np.testing.assert_allclose(centres[0, 0], [-0.275, -0.375])
    np.testing.assert_allclose(centres[0, 1], [-0.225, -0.375])
    np.testing.assert_allclose(centres[1, 0], [-0.275, -0.325])
    np.testing.assert_allclose(centres[15, 31], [1.275, 0.375])


def test_map_window_that_does_not_fit_its_cells_is_refused():
    with pytest.raises(ValueError, match=r"x_range_m spans 1 m but 32 cells of 0.05 m"):
        HeightMapCfg(x_range_m=(0.0, 1.0))
