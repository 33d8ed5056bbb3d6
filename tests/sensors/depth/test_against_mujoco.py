"""Depth images against MuJoCo's own rays on the same ground and robot."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from solo.bench.depth import Poses, capsule_lengths, depth_error, random_poses
from solo.bench.multiray import RayCaster, add_capsules, add_ground_mesh
from solo.envs.grid_terrain import add_terrain
from solo.robots import get_robot
from solo.sensors.depth.camera import DepthCamera
from solo.terrains.grid import HeightGrid
from solo.terrains.scene import TerrainScene, TerrainSceneCfg, build_scene
from solo.terrains.variants import VARIANTS


def robots_on(name: str, count: int) -> tuple[TerrainScene, Poses]:
    scene = build_scene(TerrainSceneCfg((name,), 1, border_m=4.0, difficulty=0.7))
    spots = np.zeros((count, 2), int)
    poses = random_poses(get_robot("g1"), scene, spots, np.random.default_rng(0))
    return scene, poses


def compare(
    model: mujoco.MjModel, grid: HeightGrid, poses: Poses, walls: bool
) -> np.ndarray:
    cfg = get_robot("g1").depth_camera
    ours = DepthCamera(grid, cfg, "cpu", walls=walls).render(*poses.tensors()).numpy()
    caster = RayCaster(model, cfg)
    theirs = [
        caster.cast(*pose)
        for pose in zip(poses.pos, poses.rotation, poses.capsules, strict=True)
    ]
    return depth_error(ours, np.stack(theirs), cfg.max_range_m)


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_agrees_with_mujoco(name):
    scene, poses = robots_on(name, 2)
    spec = mujoco.MjSpec()
    add_ground_mesh(spec, scene.grid)
    add_capsules(spec, capsule_lengths(poses), poses.radii)
    error = compare(spec.compile(), scene.grid, poses, walls=True)
    assert np.median(error) < 1e-4
    assert (error < 0.01).mean() > 0.999


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stairs_down_30", "boxes", "rough_coarse"])
def test_agrees_with_the_terrain_of_physics(name):
    scene, poses = robots_on(name, 1)
    spec = mujoco.MjSpec()
    add_terrain(spec, scene)
    add_capsules(spec, capsule_lengths(poses), poses.radii)
    model = spec.compile()
    error = compare(model, scene.grid, poses, walls=False)
    assert np.median(error) < 1e-4
    assert (error < 0.01).mean() > 0.999
    # Vertical walls differ from ramps only on the risers.
    error = compare(model, scene.grid, poses, walls=True)
    assert np.median(error) < 1e-4
    assert (error < 0.01).mean() > 0.9
