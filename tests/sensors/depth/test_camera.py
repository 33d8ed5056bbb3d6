"""Depth images at places where the answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from solo.sensors.depth.camera import DepthCamera
from solo.sensors.depth.cfg import CameraMountCfg, DepthCameraCfg
from solo.sim.threads import WorkerPool
from solo.terrains.grid import HeightGrid

# An odd number of rows and columns, so that one pixel looks along the optical axis.
CFG = DepthCameraCfg(output_width=65, output_height=49, max_range_m=5.0)
CENTRE = (24, 32)
NO_CAPSULES = (np.zeros((0, 2, 3)), np.zeros(0))


def grid_of(units: np.ndarray, shift_x_m: float = 0.0) -> HeightGrid:
    """A grid of 0.05 m cells and 5 mm units around (shift, 0)."""
    num_x, num_y = units.shape
    return HeightGrid(units, (shift_x_m - num_x * 0.025, -num_y * 0.025))


def flat() -> np.ndarray:
    return np.zeros((240, 240), np.int16)


def look(yaw: float, pitch_down_deg: float) -> np.ndarray:
    """Rotation camera-to-world of a level body with this yaw."""
    cos, sin = math.cos(yaw), math.sin(yaw)
    body = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
    mount = CameraMountCfg("body", (0.0, 0.0, 0.0), pitch_down_deg)
    return body @ mount.rotation_camera_to_body()


def render(grid, pos, rotation, capsules=NO_CAPSULES, cfg=CFG, **options) -> np.ndarray:
    arrays = (np.array([pos]), rotation[None], capsules[0][None], capsules[1])
    tensors = [torch.tensor(a, dtype=torch.float32) for a in arrays]
    return DepthCamera(grid, cfg, "cpu", **options).render(*tensors)[0].numpy()


def test_flat_ground_by_trigonometry():
    """A ray of slope (x, y, 1) from 1 m up, 50 deg down, falls sin 50 + y cos 50 per
    metre of depth."""
    depth = render(grid_of(flat()), [0.2, -0.3, 1.0], look(0.4, 50.0))
    sin, cos = math.sin(math.radians(50)), math.cos(math.radians(50))
    assert depth[CENTRE] == pytest.approx(1.0 / sin, abs=1e-5)
    y = (0.5 * 480 / 49 - 240) / 384  # Top row of pixels.
    assert depth[0, 0] == pytest.approx(1.0 / (sin + y * cos), abs=1e-5)
    assert depth[0, -1] == pytest.approx(1.0 / (sin + y * cos), abs=1e-5)
    y = (48.5 * 480 / 49 - 240) / 384
    assert depth[-1, 0] == pytest.approx(1.0 / (sin + y * cos), abs=1e-5)


def test_principal_point_moves_the_image():
    cfg = DepthCameraCfg(cy=200.0, output_width=65, output_height=48, max_range_m=9.0)
    depth = render(grid_of(flat()), [0.0, 0.0, 1.0], look(0.0, 50.0), cfg=cfg)
    sin, cos = math.sin(math.radians(50)), math.cos(math.radians(50))
    y = (20.5 * 10 - 200) / 384
    np.testing.assert_allclose(depth[20], 1.0 / (sin + y * cos), atol=1e-5)


def test_range_is_clipped_and_too_near_is_invalid():
    cfg = DepthCameraCfg(output_width=65, output_height=49)
    near = render(grid_of(flat()), [0.0, 0.0, 0.29], look(0.0, 90.0), cfg=cfg)
    np.testing.assert_array_equal(near, 0.0)
    far = render(grid_of(flat()), [0.0, 0.0, 3.01], look(0.0, 90.0), cfg=cfg)
    np.testing.assert_array_equal(far, np.float32(3.0))
    sky = render(grid_of(flat()), [0.0, 0.0, 1.0], look(0.0, -60.0), cfg=cfg)
    np.testing.assert_array_equal(sky, np.float32(3.0))


def test_wall_is_vertical_and_at_the_boundary_of_its_cells():
    """A wall of 5 m from x = 1 on. Straight ahead of a camera at x = -0.337, all its
    pixels are 1.337 m deep; those that see the ground before it are nearer."""
    units = flat()
    units[140:] = 1000
    depth = render(grid_of(units), [-0.337, 0.1, 0.8], look(0.0, 0.0))
    y = ((np.arange(49) + 0.5) * 480 / 49 - 240) / 384
    on_wall = y * 1.337 < 0.8 - 1e-6
    np.testing.assert_allclose(depth[on_wall], 1.337, atol=1e-4)
    ground = 0.8 / y[~on_wall, None] * np.ones(65)
    np.testing.assert_allclose(depth[~on_wall], ground, atol=1e-4)


@pytest.mark.parametrize("yaw", [0.0, 0.5 * math.pi, math.pi, -0.5 * math.pi])
def test_wall_in_every_direction(yaw):
    units = np.full((240, 240), 1000, np.int16)
    units[100:140, 100:140] = 0  # A room from -1 to 1 m.
    depth = render(grid_of(units), [0.0, 0.0, 0.8], look(yaw, 0.0))
    np.testing.assert_allclose(depth[:24, 20:45], 1.0, atol=1e-4)


def test_without_walls_a_riser_is_the_ramp_of_physics():
    """The ramp begins 1.25 cm before the wall at the lower end."""
    units = flat()
    units[140:] = 1000
    depth = render(grid_of(units), [0.0, 0.0, 0.0625], look(0.0, 0.0), walls=False)
    # 0.0625 m is 1/80 of the way up the 2.5 cm.
    assert depth[CENTRE] == pytest.approx(1.0 - 0.0125 + 0.025 / 80, abs=1e-4)


def test_a_single_stair_is_three_planes():
    """A step of 0.2 m at x = 0.5 seen from x = 0, z = 1, 45 deg down.

    The optical axis falls 1 m per metre: it is at z = 0.5 over the edge and meets the
    upper level at x = 0.8, so 0.8 * sqrt 2 deep.
    """
    units = flat()
    units[130:] = 40
    depth = render(grid_of(units), [0.0, 0.0, 1.0], look(0.0, 45.0))
    assert depth[CENTRE] == pytest.approx(0.8 * math.sqrt(2), abs=1e-5)
    # Rows go down the image from upper level over riser to the ground: the points they
    # see lie on exactly these three planes.
    y = ((np.arange(49) + 0.5) * 480 / 49 - 240) / 384
    column = depth[:, 32]
    x = column * (1 - y) / math.sqrt(2)
    z = 1.0 - column * (1 + y) / math.sqrt(2)
    upper, lower = x > 0.5 + 1e-4, x < 0.5 - 1e-4
    riser = ~upper & ~lower
    np.testing.assert_allclose(z[upper], 0.2, atol=1e-4)
    np.testing.assert_allclose(z[lower], 0.0, atol=1e-4)
    assert riser.sum() >= 2
    assert (z[riser] > 0.0).all()
    assert (z[riser] < 0.2).all()


def test_beside_a_gap_the_far_wall_and_the_floor_are_seen():
    """A gap from x = 0 to 0.6, 1 m deep, seen from 0.2 m before it, 0.5 m up."""
    units = flat()
    units[120:132] = -200
    depth = render(grid_of(units), [-0.2, 0.0, 0.5], look(0.0, 50.0))
    # The axis falls tan 50 = 1.19 per metre: at x = 0.6 it is 0.453 m below ground.
    assert depth[CENTRE] == pytest.approx(0.8 / math.cos(math.radians(50)), abs=1e-4)


def test_slope_is_smooth():
    """A slope of 1 : 10, steps of one unit (5 mm) per cell, is seen as a plane."""
    units = np.repeat(np.arange(240, dtype=np.int16)[:, None], 240, axis=1)
    pos = [0.0, 0.0, 0.6 + 1.0]  # The slope is at 0.6 m - 2.5 mm at x = 0.
    depth = render(grid_of(units), pos, look(0.0, 90.0))
    y = ((np.arange(49) + 0.5) * 480 / 49 - 240) / 384  # Down is backwards (-x).
    expected = 1.0025 / (1.0 - 0.1 * y)
    np.testing.assert_allclose(depth, expected[:, None] * np.ones(65), atol=1e-4)


def test_capsule_hides_the_ground():
    """A capsule across the view, 1 m ahead, of 0.1 m radius: 0.9 m deep."""
    ends = np.array([[[1.0, -0.3, 1.0], [1.0, 0.3, 1.0]]])
    depth = render(
        grid_of(flat()), [0.0, 0.0, 1.0], look(0.0, 0.0), (ends, np.array([0.1]))
    )
    assert depth[CENTRE] == pytest.approx(0.9, abs=1e-5)
    # Sideways the ray of slope x meets the cylinder at the same depth until its end
    # at y = 0.3, and the end is round: 0.1 m further out there is nothing.
    x = ((np.arange(65) + 0.5) * 640 / 65 - 320) / 384
    np.testing.assert_allclose(depth[24][np.abs(x) < 0.33], 0.9, atol=1e-5)
    assert (depth[24][np.abs(x) > 0.42] > 1.5).all()


@pytest.mark.parametrize("x", [-1.0, 0.05])
def test_capsules_behind_or_around_the_camera(x):
    ends = np.array([[[x, 0.0, 1.0], [x - 0.2, 0.0, 1.0]]])
    args = grid_of(flat()), [0.0, 0.0, 1.0], look(0.0, 40.0)
    depth = render(*args, (ends, np.array([0.1])))
    expected = render(*args) if x < -0.5 else np.zeros_like(depth)
    np.testing.assert_array_equal(depth, expected)


@pytest.mark.parametrize("pos", [[7.0, 0.0, 1.2], [500.0, -800.0, 1.2]])
def test_outside_the_grid_the_border_continues(pos):
    units = flat()
    units[120:] = 40
    depth = render(grid_of(units), pos, look(0.3, 90.0))
    np.testing.assert_allclose(depth, 1.0, atol=1e-4)


def test_in_the_ground_nothing_is_seen():
    depth = render(grid_of(flat()), [0.0, 0.0, -0.1], look(0.0, 30.0))
    np.testing.assert_array_equal(depth, 0.0)


def test_poses_that_are_not_numbers_end():
    rotation = np.full((3, 3), np.nan)
    assert render(grid_of(flat()), [np.nan] * 3, rotation).shape == (49, 65)


def rubble(seed: int = 0) -> np.ndarray:
    """Smooth and steep joints of all kinds."""
    rng = np.random.default_rng(seed)
    units = rng.integers(-4, 5, (240, 240))
    blocks = rng.integers(0, 30, (24, 24)) * (rng.random((24, 24)) < 0.3)
    return (units + np.kron(blocks, np.ones((10, 10)))).astype(np.int16)


@pytest.mark.parametrize("walls", [True, False])
def test_pyramid_changes_nothing(walls):
    for yaw in (0.3, 2.2, -1.4):
        args = grid_of(rubble()), [0.1, 0.2, 0.9], look(yaw, 35.0)
        images = [render(*args, walls=walls, num_levels=n) for n in (0, 1, 3)]
        np.testing.assert_allclose(images[1], images[0], atol=1e-5)
        np.testing.assert_allclose(images[2], images[0], atol=1e-5)


def test_far_from_the_origin_the_image_is_the_same():
    here = render(grid_of(rubble()), [0.1, 0.2, 0.9], look(0.7, 45.0))
    there = render(grid_of(rubble(), 80.0), [80.1, 0.2, 0.9], look(0.7, 45.0))
    # Pixels whose ray passes an edge may see either side of it.
    assert (np.abs(here - there) < 1e-3).mean() > 0.998


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    yaw, pitch = rng.uniform(-3, 3, 20), rng.uniform(20, 60, 20)
    rotation = np.array([look(*angles) for angles in zip(yaw, pitch, strict=True)])
    pos = rng.uniform([-2, -2, 0.7], [2, 2, 1.2], (20, 3))
    ends = pos[:, None, None] + rng.uniform(-0.7, 0.7, (20, 4, 2, 3))
    arrays = (pos, rotation, ends, np.full(4, 0.05))
    tensors = [torch.tensor(a, dtype=torch.float32) for a in arrays]
    serial = DepthCamera(grid_of(rubble()), CFG, "cpu").render(*tensors)
    shared = DepthCamera(grid_of(rubble()), CFG, "cpu", WorkerPool(3).run)
    assert torch.equal(shared.render(*tensors), serial)
    out = torch.empty_like(serial)
    assert shared.render(*tensors, out=out) is out
    assert torch.equal(out, serial)
