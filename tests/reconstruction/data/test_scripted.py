"""The scripted sampler: feet on the ground, sensors and truth of the same instant."""

from __future__ import annotations

from typing import Any, cast

import mujoco
import numpy as np
import pytest
import torch

from solo.motions import rotations
from solo.motions.catalogue import walk
from solo.reconstruction.data.recorder import ShardPlan
from solo.reconstruction.data.scripted.ground import choose_footholds, walkable_ground
from solo.reconstruction.data.scripted.kinematics import LegSolver, body_poses_w
from solo.reconstruction.data.scripted.sampler import ScriptedCamera, ScriptedSampler
from solo.reconstruction.data.scripted.walk import GaitSet, PerturbationCfg
from solo.robots.g1 import G1
from solo.robots.view import camera_pose_w
from solo.sensors.depth.cfg import DepthSensorCfg
from solo.terrains import TerrainSceneCfg
from solo.terrains.grid import HeightGrid

TERRAINS = ("flat", "stairs_up_30", "stairs_down_35")
SCENE = TerrainSceneCfg(TERRAINS, num_levels=1, border_m=4.0, difficulty=0.6)
PLAN = ShardPlan(SCENE, np.arange(6) % 3, np.zeros(6, dtype=int), (5,))
STEPS = 80


@pytest.fixture(scope="module")
def gait_set() -> GaitSet:
    return GaitSet(G1, [walk(0.4, name="walk"), walk(0.3, wz=0.3, name="curve")])


@pytest.fixture(scope="module")
def sampler(gait_set) -> ScriptedSampler:
    return ScriptedSampler(G1, gait_set=gait_set)


@pytest.fixture(scope="module")
def motion(sampler):
    scene, ground, _, _ = sampler._scene(SCENE)
    return sampler.move(PLAN, STEPS, scene, ground)


def sole_points(gait_set: GaitSet, qpos: np.ndarray) -> np.ndarray:
    """World positions of the sole's points, [T, N, 2, points, 3]."""
    skeleton, flat = gait_set.skeleton, qpos.reshape(-1, qpos.shape[-1])
    pos, quat = body_poses_w(skeleton.model, flat, list(skeleton.foot_bodies))
    points = np.array(
        [[[x, y, f.sole_z] for x, y in f.points.values()] for f in G1.feet]
    )
    world = pos[:, :, None] + rotations.rotate(quat[:, :, None], points)
    return world.reshape(*qpos.shape[:2], *world.shape[1:])


def test_legs_reach_poses_that_legs_can_have(gait_set):
    leg: LegSolver = gait_set.legs[0]
    columns = 7 + np.array(leg.joints)
    start = gait_set.skeleton.default_qpos[None, columns].repeat(50, axis=0)
    rng = np.random.default_rng(0)
    wanted = start + rng.uniform(-0.25, 0.25, start.shape)
    pos, quat, _, _ = leg.foot(np.clip(wanted, leg.low, leg.high))
    found = leg.foot(leg.solve(start, pos, quat))
    assert np.abs(found[0] - pos).max() < 1e-4
    far = leg.solve(start, pos * [1, 1, 3], quat)
    assert (leg.low <= far).all()
    assert (far <= leg.high).all()


def test_feet_stand_on_the_ground_in_turn(gait_set, motion, sampler):
    """A foot is always down; within 1 cm on level ground, within 4 cm on stairs."""
    grid = sampler._scene(SCENE)[0].grid
    points = sole_points(gait_set, motion.qpos)
    above = points[..., 2] - grid.height_at(points[..., 0], points[..., 1])
    lower = above.min(axis=3).min(axis=2)  # [T, N]: the lower foot's lowest point.
    level, stairs = PLAN.columns == 0, PLAN.columns > 0
    assert np.abs(lower[:, level]).max() < 0.01
    assert np.median(np.abs(lower[:, stairs])) < 0.01
    assert np.quantile(np.abs(lower[:, stairs]), 0.95) < 0.04
    lifted = above.min(axis=3).max(axis=0)  # [N, 2]: each foot leaves the ground.
    assert (lifted > 0.03).all()


def test_robots_climb_with_the_stairs(motion, sampler):
    """The pelvis is about as high over the ground under it as on level ground."""
    grid = sampler._scene(SCENE)[0].grid
    base = motion.qpos[..., :3]
    ground = walkable_ground(grid).height_at(base[..., 0], base[..., 1])
    over = base[..., 2] - ground
    assert over.min() > 0.45
    assert over.max() < 1.0
    assert np.ptp(base[:, PLAN.columns > 0, 2], axis=0).max() > 0.15


def test_true_map_over_known_stairs(sampler):
    """Stairs of 0.15 m per 0.30 m around a pit, from the definition alone."""
    step = next(iter(sampler.sample(PLAN, 1)))
    scene, ground, _, _ = sampler._scene(SCENE)
    motion = sampler.move(PLAN, 1, scene, ground)
    robot = 1  # On stairs_up_30.
    qpos = motion.qpos[0, robot]
    yaw = rotations.yaw_of(qpos[3:7])
    centres = G1.height_map.centres_h()
    point = (centres[..., 0] + 1j * centres[..., 1]) * np.exp(1j * yaw)
    point += complex(*qpos[:2]) - complex(*scene.origins_m[0, 1, :2])
    away = np.maximum(np.abs(point.real), np.abs(point.imag))
    taken = np.clip(np.ceil((away - 1.25) / 0.30), 0, 9)
    expected = -0.15 * (9 - taken) - qpos[2]
    inside = away < 3.9
    assert inside.mean() > 0.5
    wrong = np.abs(step.height[robot].numpy() - expected)[inside] > 0.002
    # Cells of the grid are 5 cm wide, so those at an edge may be on its other side.
    assert wrong.mean() < 0.2
    assert np.median(np.abs(step.height[robot].numpy() - expected)[inside]) < 1e-3


def test_camera_is_where_mujoco_has_it(gait_set, motion):
    class Camera:
        def render(self, pos_w, rotation_w, capsules_w, radii):
            self.pose, self.capsules = (pos_w, rotation_w), capsules_w
            return torch.zeros(len(pos_w), 1, 1)

    clean = DepthSensorCfg.for_robot(G1, clean=True)
    model, camera = gait_set.skeleton.model, Camera()
    rng = np.random.default_rng(0)
    eye = ScriptedCamera(
        clean, model, cast(Any, camera), motion.qpos, rng, cast(Any, 0)
    )
    eye.look(7)
    data = mujoco.MjData(model)
    data.qpos[:] = motion.qpos[7, 3]
    mujoco.mj_kinematics(model, data)
    mujoco.mj_camlight(model, data)
    pos_w, rotation_w = camera_pose_w(data)
    assert np.allclose(camera.pose[0][3], pos_w, atol=1e-5)
    assert np.allclose(camera.pose[1][3], rotation_w, atol=1e-5)
    assert camera.capsules.shape == (6, len(G1.self_view), 2, 3)


def test_velocities_belong_to_the_motion(motion):
    """The base's velocity, integrated, is its path; turning likewise."""
    quat = motion.qpos[..., 3:7]
    velocity_w = rotations.rotate(quat, motion.lin_vel_b)
    way = np.trapezoid(velocity_w, dx=0.02, axis=0)
    assert np.allclose(way, motion.qpos[-1, :, :3] - motion.qpos[0, :, :3], atol=0.01)
    turned = np.trapezoid(motion.joint_vel, dx=0.02, axis=0)
    moved = motion.qpos[-1, :, 7:] - motion.qpos[0, :, 7:]
    assert np.allclose(turned, moved, atol=0.1)


def test_proprioception_without_noise_is_the_motion(gait_set, motion):
    still = PerturbationCfg(0.0, 0.0, 0.0)
    sampler = ScriptedSampler(G1, noise=False, gait_set=gait_set, perturbation=still)
    found = sampler.proprioception(motion, np.random.default_rng(0))
    default = np.array(G1.joint_values(G1.default_joint_pos))
    assert found.shape == (STEPS, 6, 84)
    assert np.allclose(found[..., 0:3], motion.ang_vel_b, atol=1e-5)
    assert np.allclose(np.linalg.norm(found[..., 3:6], axis=-1), 1.0, atol=1e-5)
    assert (found[..., 5] < -0.9).all()
    assert np.allclose(found[0, :, 6:9], motion.command, atol=1e-5)
    assert np.allclose(found[..., 9:34], motion.qpos[..., 7:] - default, atol=1e-5)
    assert np.allclose(found[..., 34:59], motion.joint_vel, atol=1e-4)
    noisy = ScriptedSampler(G1, gait_set=gait_set)
    difference = noisy.proprioception(motion, np.random.default_rng(0)) - found
    assert 0.19 < np.abs(difference[..., 0:3]).max() <= 0.2001
    assert np.abs(difference[..., 6:9]).max() == 0.0


def test_a_shard_is_a_pure_function_of_its_plan(gait_set, sampler):
    first = list(sampler.sample(PLAN, 3))
    list(sampler.sample(ShardPlan(SCENE, PLAN.columns, PLAN.levels, (6,)), 1))
    other = ScriptedSampler(G1, gait_set=gait_set, num_threads=1)
    for one, two in zip(first, other.sample(PLAN, 3), strict=True):
        assert torch.equal(one.depth_m, two.depth_m)
        assert torch.equal(one.proprioception, two.proprioception)
        assert torch.equal(one.height, two.height)
        assert torch.equal(one.delay, two.delay)


def test_feet_avoid_holes_and_edges():
    units = np.zeros((80, 80), dtype=np.int16)
    units[40:46] = -200  # A gap of 0.3 m and 1 m deep, from x = 2.0 m on.
    grid = HeightGrid(units, (0.0, 0.0))
    ground = walkable_ground(grid)
    assert (ground.units == 0).all()
    places = np.array([2.12 + 2j, 1.0 + 2j])
    chosen, height = choose_footholds(grid, ground, G1.feet[0], places, np.zeros(2))
    assert np.allclose(height, 0.0)
    assert abs(chosen[0] - places[0]) > 0.1  # Beside the gap,
    assert chosen[1] == places[1]  # and unmoved where the ground carries.
    wide = units.copy()
    wide[40:60] = -200
    assert np.array_equal(walkable_ground(HeightGrid(wide, (0.0, 0.0))).units, wide)
