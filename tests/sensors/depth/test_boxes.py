"""Boxes in depth images at places where the answer is known, and against MuJoCo."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
import torch

from solo.bench.depth import Poses, capsule_lengths, depth_error, random_poses
from solo.bench.multiray import RayCaster, add_capsules, add_ground_mesh
from solo.robots import get_robot
from solo.sensors.depth.camera import DepthCamera
from solo.sensors.depth.cfg import DepthCameraCfg
from solo.sensors.height_map import Boxes
from solo.sim.threads import WorkerPool
from solo.terrains.scene import TerrainSceneCfg, build_scene
from tests.sensors.depth.test_camera import (
    CENTRE,
    CFG,
    NO_CAPSULES,
    flat,
    grid_of,
    look,
)

X = ((np.arange(65) + 0.5) * 640 / 65 - 320) / 384  # Slopes of the columns.
Y = ((np.arange(49) + 0.5) * 480 / 49 - 240) / 384  # Slopes of the rows.


def turn(yaw: float, tilt: float = 0.0) -> np.ndarray:
    """Rotation box-to-world: tilted about its own y axis, then turned."""
    c, s, a, b = math.cos(yaw), math.sin(yaw), math.cos(tilt), math.sin(tilt)
    yawed = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return yawed @ np.array([[a, 0.0, b], [0.0, 1.0, 0.0], [-b, 0.0, a]])


def boxes_of(*each: tuple) -> Boxes:
    """Boxes (centre, rotation, full extents) in the world of one robot."""
    pos, rotation, size = (
        torch.tensor(np.array(values), dtype=torch.float32)
        for values in zip(*each, strict=True)
    )
    return Boxes(pos[None], rotation[None], size / 2)


def render(
    pos, rotation, boxes, capsules=NO_CAPSULES, cfg=CFG, units=None
) -> np.ndarray:
    arrays = (np.array([pos]), rotation[None], capsules[0][None], capsules[1])
    tensors = [torch.tensor(a, dtype=torch.float32) for a in arrays]
    camera = DepthCamera(grid_of(flat() if units is None else units), cfg, "cpu")
    return camera.render(*tensors, boxes=boxes)[0].numpy()


def test_a_box_straight_ahead_is_as_far_as_its_face():
    """Front face from y = -0.2 to 0.2 and z = 0.85 to 1.15, 1.2 m ahead."""
    box = boxes_of(([1.5, 0.0, 1.0], turn(0.0), [0.6, 0.4, 0.3]))
    depth = render([0.0, 0.0, 1.0], look(0.0, 0.0), box)
    on_box = (np.abs(Y)[:, None] * 1.2 < 0.15) & (np.abs(X) * 1.2 < 0.2)
    np.testing.assert_allclose(depth[on_box], 1.2, atol=1e-5)
    without = render([0.0, 0.0, 1.0], look(0.0, 0.0), None)
    np.testing.assert_array_equal(depth[~on_box], without[~on_box])
    assert (without[on_box] > 2.0).all()


def test_looking_down_top_and_front_of_a_box_on_the_ground():
    """From 1 m up, 45 deg down, at a box of 0.2 m whose front is 0.5 m ahead.

    Rows go from the ground behind over the top (z = 0.2) and the front (x = 0.5) to
    the ground before: every point seen lies on one of these planes.
    """
    box = boxes_of(([0.7, 0.0, 0.1], turn(0.0), [0.4, 0.6, 0.2]))
    depth = render([0.0, 0.0, 1.0], look(0.0, 45.0), box)[:, 32]
    x = depth * (1 - Y) / math.sqrt(2)
    z = 1.0 - depth * (1 + Y) / math.sqrt(2)
    assert depth[24] == pytest.approx(0.8 * math.sqrt(2), abs=1e-5)
    top = (x > 0.5 + 1e-4) & (z > 0.1)
    front = np.abs(x - 0.5) <= 1e-4
    np.testing.assert_allclose(z[top], 0.2, atol=1e-4)
    assert top.sum() > 5
    assert front.sum() >= 2
    assert (z[front] < 0.2 + 1e-4).all()
    rest = ~(top | front)
    np.testing.assert_allclose(z[rest], 0.0, atol=1e-4)
    assert (x[rest] < 0.5).any()
    assert (x[rest] > 0.9).any()


def test_a_yawed_box_shows_its_edge():
    """Turned by 45 deg the edge is ahead, 0.3 * sqrt 2 before the centre.

    To the right the surface recedes as fast as it goes aside: a ray of slope x meets
    it where depth - 1.0757 = x * depth; at slope 0.2 that is 1.0757 / 0.8.
    """
    box = boxes_of(([1.5, 0.0, 1.0], turn(math.pi / 4), [0.6, 0.6, 0.6]))
    depth = render([0.0, 0.0, 1.0], look(0.0, 0.0), box)[24]
    edge = 1.5 - 0.3 * math.sqrt(2)
    assert depth[32] == pytest.approx(edge, abs=1e-5)
    # The outer edges are at depth 1.5 and 0.3 * sqrt 2 aside.
    on_box = np.abs(X) < 0.3 * math.sqrt(2) / 1.5
    np.testing.assert_allclose(depth[on_box], edge / (1 - np.abs(X[on_box])), atol=1e-5)
    assert (depth[~on_box] > 2.0).all()


def test_a_tilted_box_shows_the_tilted_face():
    """Tilted by 30 deg towards the camera about the y axis through its centre.

    The front face, 0.2 m before the centre, stands at 30 deg: along the optical axis
    it is 0.2 / cos 30 before the centre.
    """
    box = boxes_of(([1.5, 0.0, 1.0], turn(0.0, math.radians(30)), [0.4, 0.6, 1.0]))
    depth = render([0.0, 0.0, 1.0], look(0.0, 0.0), box)
    expected = 1.5 - 0.2 / math.cos(math.radians(30))
    assert depth[CENTRE] == pytest.approx(expected, abs=1e-5)


def test_the_nearest_of_ground_box_and_leg_is_seen():
    box = boxes_of(([1.5, 0.0, 1.0], turn(0.0), [0.6, 2.0, 0.3]))
    args = [0.0, 0.0, 1.0], look(0.0, 0.0), box

    def leg(x: float):
        return np.array([[[x, -0.5, 1.0], [x, 0.5, 1.0]]]), np.array([0.05])

    assert render(*args, leg(0.8))[CENTRE] == pytest.approx(0.75, abs=1e-5)
    assert render(*args, leg(2.5))[CENTRE] == pytest.approx(1.2, abs=1e-5)
    units = flat()
    units[140:] = 1000  # A wall at x = 1, before the box.
    assert render(*args, units=units)[CENTRE] == pytest.approx(1.0, abs=1e-4)
    units = flat()
    units[160:] = 1000  # At x = 2, behind it.
    assert render(*args, units=units)[CENTRE] == pytest.approx(1.2, abs=1e-4)


def test_of_two_boxes_the_nearer_hides_the_other():
    near = ([1.0, 0.0, 1.0], turn(0.3), [0.2, 0.2, 0.2])
    far = ([2.0, 0.0, 1.0], turn(0.0), [0.2, 2.0, 2.0])
    args = [0.0, 0.0, 1.0], look(0.0, 0.0)
    both = render(*args, boxes_of(near, far))
    each = [render(*args, boxes_of(box)) for box in (near, far)]
    np.testing.assert_array_equal(both, np.minimum(*each))
    np.testing.assert_array_equal(both, render(*args, boxes_of(far, near)))


def test_behind_the_camera_there_is_nothing_and_inside_nothing_is_seen():
    args = [0.0, 0.0, 1.0], look(0.0, 30.0)
    behind = boxes_of(([-0.6, 0.0, 1.0], turn(0.0), [1.0, 1.0, 1.0]))
    np.testing.assert_array_equal(render(*args, behind), render(*args, None))
    around = boxes_of(([-0.4, 0.0, 1.0], turn(0.0), [1.0, 1.0, 1.0]))
    np.testing.assert_array_equal(render(*args, around), 0.0)


def test_too_near_is_invalid():
    box = boxes_of(([0.45, 0.0, 1.0], turn(0.0), [0.4, 0.1, 0.1]))
    depth = render([0.0, 0.0, 1.0], look(0.0, 0.0), box)
    assert depth[CENTRE] == 0.0
    assert depth[0, 0] > 1.0
    cfg = DepthCameraCfg(output_width=65, output_height=49, min_range_m=0.1)
    depth = render([0.0, 0.0, 1.0], look(0.0, 0.0), box, cfg=cfg)
    assert depth[CENTRE] == pytest.approx(0.25, abs=1e-5)


def test_a_box_beyond_the_range_is_not_seen():
    box = boxes_of(([5.4, 0.0, 1.0], turn(0.0), [0.6, 0.4, 0.3]))
    args = [0.0, 0.0, 1.0], look(0.0, 0.0)
    np.testing.assert_array_equal(render(*args, box), render(*args, None))


def test_no_boxes_and_none_are_the_same():
    none = Boxes(torch.zeros(1, 0, 3), torch.zeros(1, 0, 3, 3), torch.zeros(0, 3))
    args = [0.0, 0.0, 1.0], look(0.3, 40.0)
    np.testing.assert_array_equal(render(*args, none), render(*args, None))


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    pos = rng.uniform([-2, -2, 0.7], [2, 2, 1.2], (20, 3))
    rotation = np.array([look(yaw, 40.0) for yaw in rng.uniform(-3, 3, 20)])
    arrays = (pos, rotation, np.zeros((20, 0, 2, 3)), np.zeros(0))
    tensors = [torch.tensor(a, dtype=torch.float32) for a in arrays]
    boxes = Boxes(
        tensors[0][:, None] + torch.rand(20, 2, 3) * 1.5 - 0.7,
        torch.linalg.qr(torch.randn(20, 2, 3, 3))[0],
        torch.full((2, 3), 0.15),
    )
    serial = DepthCamera(grid_of(flat()), CFG, "cpu").render(*tensors, boxes=boxes)
    camera = DepthCamera(grid_of(flat()), CFG, "cpu", WorkerPool(3).run)
    assert torch.equal(camera.render(*tensors, boxes=boxes), serial)
    some = [*(t[3:5] for t in tensors[:3]), tensors[3]]
    alone = camera.render(*some, boxes=boxes[3:5])
    assert torch.equal(alone, serial[3:5])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flat", "stairs_down_30", "boxes", "rough_coarse"])
def test_agrees_with_mujoco(name):
    """A robot in walking poses behind a box at every angle, half of them tilted."""
    robot, rng = get_robot("g1"), np.random.default_rng(1)
    scene = build_scene(TerrainSceneCfg((name,), 1, border_m=4.0, difficulty=0.7))
    poses = random_poses(robot, scene, np.zeros((4, 2), int), rng)
    camera = DepthCamera(scene.grid, robot.depth_camera, "cpu")
    size = np.array([0.4, 0.6, 0.2])
    spec = mujoco.MjSpec()
    add_ground_mesh(spec, scene.grid)
    add_capsules(spec, capsule_lengths(poses), poses.radii)
    # A body of its own, and last: the caster moves the first ones.
    body = spec.worldbody.add_body(mocap=True)
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=size / 2)
    model = spec.compile()
    on_box = 0
    for k in range(4):
        at = slice(k, k + 1)
        one = Poses(poses.pos[at], poses.rotation[at], poses.capsules[at], poses.radii)
        place = poses.pos[k] + rng.uniform(0.6, 1.2) * poses.rotation[k, :, 2]
        place[2] = scene.grid.height_at(place[0], place[1]) + 0.1
        rotation = turn(rng.uniform(-3, 3), 0.4 * (k % 2))
        model.body_pos[-1] = place
        mujoco.mju_mat2Quat(model.body_quat[-1], rotation.ravel())
        caster = RayCaster(model, robot.depth_camera)
        theirs = caster.cast(one.pos[0], one.rotation[0], one.capsules[0])
        boxes = boxes_of((place, rotation, size))
        ours = camera.render(*one.tensors(), boxes=boxes).numpy()
        on_box += int((ours != camera.render(*one.tensors()).numpy()).sum())
        error = depth_error(ours, theirs[None], robot.depth_camera.max_range_m)
        assert np.median(error) < 1e-4
        assert (error < 0.01).mean() > 0.99
    assert on_box > 500
