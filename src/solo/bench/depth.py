"""Speed and accuracy of the depth camera against MuJoCo's ``mj_multiRay``."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import torch

from solo.bench.cfg import DepthBenchCfg
from solo.bench.multiray import RayCaster, add_capsules, add_ground_mesh
from solo.envs.locomotion_env_cfg import make_locomotion_env_cfg, make_simulation_cfg
from solo.envs.make import make_env
from solo.progress import make_progress
from solo.robots import get_robot
from solo.robots.robot_cfg import RobotCfg
from solo.robots.view import camera_pose_w, self_view_w, standing_pose
from solo.sensors.depth.camera import DepthCamera, DepthHistory, longest_ray_m
from solo.sensors.depth.cfg import DepthCameraCfg, DepthCorruptionCfg
from solo.sensors.depth.corruption import DepthCorruptor, normalise
from solo.sim.threads import WorkerPool, available_cores, stepping_threads
from solo.terrains.grid import HeightGrid
from solo.terrains.scene import TerrainScene, TerrainSceneCfg, build_scene

# Robots as in a walk: joints this far from the default pose, base tilted by this much,
# anywhere within this distance of the centre of a patch.
_JOINT_STD_RAD = 0.2
_TILT_RAD = 0.1
_OFFSET_M = 2.5


@dataclass(frozen=True)
class Poses:
    """Cameras and capsules of many robots, in the world."""

    pos: np.ndarray  # [B, 3]
    rotation: np.ndarray  # [B, 3, 3]
    capsules: np.ndarray  # [B, C, 2, 3]
    radii: np.ndarray  # [C]

    def tensors(self) -> tuple[torch.Tensor, ...]:
        """The arguments of `DepthCamera.render`."""
        arrays = (self.pos, self.rotation, self.capsules, self.radii)
        return tuple(torch.tensor(a, dtype=torch.float32) for a in arrays)


def bench_depth(cfg: DepthBenchCfg) -> dict[str, Any]:
    """Measure images per second over all terrain variants and levels.

    For each variant ``mj_multiRay`` renders the robots there, on a mesh of the ground
    around them; then the camera renders the robots of all variants in one batch. So
    both meet the same load of the machine, and use the same number of threads. Timed is
    the mesh of the physical surface, which has the fewest triangles. The error is
    against a second mesh whose risers are vertical like the camera's; against the
    physical surface, whose risers are ramps of 2.5 cm, it is given separately.
    ``frames_per_s`` counts what training does: rendering, corruption, history and
    normalisation.

    Returns:
        The numbers that ``solo bench depth --json`` writes. Errors are over all pixels
        that at least one of the two sees within the range.
    """
    robot, scene = get_robot("g1"), build_scene(TerrainSceneCfg())
    num_threads = cfg.threads or available_cores()
    pool = WorkerPool(num_threads)
    rng = np.random.default_rng(0)
    num_variants, per = len(scene.cfg.variants), cfg.images
    spots = [(k % scene.cfg.num_levels, k) for k in range(num_variants)]
    poses = random_poses(robot, scene, np.repeat(spots, per, axis=0), rng)
    camera = DepthCamera(scene.grid, robot.depth_camera, "cpu", pool.run)
    batch = poses.tensors()
    ours = camera.render(*batch)
    pipeline = _make_pipeline(robot.depth_camera, len(ours), pool)
    pipeline(ours.clone())  # Compile.
    physical, theirs = np.empty(ours.shape), np.empty(ours.shape)
    multiray_s = render_s = pipeline_s = 0.0
    with make_progress() as progress, stepping_threads():
        task = progress.add_task("terrain variants", total=num_variants)
        for variant, spot in enumerate(spots):
            casters = [
                _make_caster(robot, scene, spot, poses, num_threads, walls)
                for walls in (False, True)
            ]
            robots = range(variant * per, (variant + 1) * per)
            start = time.perf_counter()
            _cast(casters[0], poses, robots, pool, physical)
            cast_end = time.perf_counter()
            images = camera.render(*batch)
            render_end = time.perf_counter()
            pipeline(images)
            pipeline_s += time.perf_counter() - render_end
            _cast(casters[1], poses, robots, pool, theirs)
            multiray_s += cast_end - start
            render_s += render_end - cast_end
            progress.advance(task)
    num_frames = num_variants * len(ours)
    multiray = len(ours) / multiray_s
    render = num_frames / render_s
    max_m = robot.depth_camera.max_range_m
    error = depth_error(ours.numpy(), theirs, max_m)
    error_to_physics = depth_error(ours.numpy(), physical, max_m)
    return {
        "frames_per_s": num_frames / (render_s + pipeline_s),
        "render_frames_per_s": render,
        "multiray_frames_per_s": multiray,
        "speedup_over_multiray": render / multiray,
        "fraction_within_1cm": float((error <= 0.01).mean()),
        "median_abs_error_m": float(np.median(error)),
        "fraction_within_1cm_of_physics": float((error_to_physics <= 0.01).mean()),
        "num_images": len(ours),
        "threads": num_threads,
        **share_of_step(num_threads),
    }


def _make_pipeline(
    camera: DepthCameraCfg, num_images: int, pool: WorkerPool
) -> Callable[[torch.Tensor], torch.Tensor]:
    """What follows the rendering in training; it overwrites the images."""
    corruptor = DepthCorruptor(
        DepthCorruptionCfg(), camera, num_images, "cpu", pool.run
    )
    history = DepthHistory(num_images, shape=camera.output_shape)

    def run(images: torch.Tensor) -> torch.Tensor:
        history.push(corruptor(images))
        return normalise(history.read(), camera)

    return run


def share_of_step(num_threads: int) -> dict[str, float]:
    """Which share of a step of the perceptive environment is depth."""
    num_envs, steps = 128, 10
    sim = make_simulation_cfg(num_threads=num_threads)
    env = make_env(
        make_locomotion_env_cfg(
            get_robot("g1"), stage="perceptive", num_envs=num_envs, sim=sim, seed=0
        )
    )
    env.reset()
    term = env.observation_manager.get_term_cfg("depth", "depth").func
    actions = torch.zeros(num_envs, env.action_manager.total_action_dim)
    step_s = depth_s = 0.0
    with stepping_threads():
        for _ in range(steps):
            start = time.perf_counter()
            env.step(actions)
            stop = time.perf_counter()
            # The same work once more: an image, its errors, and the window.
            term.history.push(term.image())
            normalise(term.history.read(), term.cfg.camera)
            step_s += stop - start
            depth_s += time.perf_counter() - stop
    env.close()
    return {
        "share_of_perceptive_step": depth_s / step_s,
        "perceptive_env_steps_per_s": num_envs * steps / step_s,
    }


def depth_error(a: np.ndarray, b: np.ndarray, max_range_m: float) -> np.ndarray:
    """Absolute differences of the pixels that either sees within the range."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    return (high - low)[(low < max_range_m) & (high > 0.0)]


def random_poses(
    robot: RobotCfg, scene: TerrainScene, spots: np.ndarray, rng: np.random.Generator
) -> Poses:
    """Robots in walking-like poses at random places on patches.

    Spots are level and column of the patch of each robot [B, 2].
    """
    model, data = standing_pose(robot)
    joints = data.qpos[7:].copy()
    pos, rotation, capsules = [], [], []
    for level, column in spots:
        xy = scene.origins_m[level, column, :2] + rng.uniform(-_OFFSET_M, _OFFSET_M, 2)
        yaw, axis = rng.uniform(-np.pi, np.pi), rng.uniform(-1.0, 1.0, 2)
        turn, tilt = np.empty(4), np.empty(4)
        mujoco.mju_axisAngle2Quat(turn, np.array([0.0, 0.0, 1.0]), yaw)
        axis = np.array([*axis, 0.0]) / np.linalg.norm(axis)
        mujoco.mju_axisAngle2Quat(tilt, axis, rng.uniform(0.0, _TILT_RAD))
        mujoco.mju_mulQuat(data.qpos[3:7], turn, tilt)
        data.qpos[:3] = *xy, scene.grid.height_at(*xy) + robot.base_height_m
        data.qpos[7:] = joints + rng.normal(0.0, _JOINT_STD_RAD, len(joints))
        mujoco.mj_forward(model, data)
        camera = camera_pose_w(data)
        pos.append(camera[0])
        rotation.append(camera[1])
        capsules.append([(start, end) for start, end, _ in self_view_w(robot, data)])
    radii = [capsule.radius for capsule in robot.self_view]
    arrays = (np.array(a) for a in (pos, rotation, capsules, radii))
    return Poses(*arrays)


def capsule_lengths(poses: Poses) -> np.ndarray:
    """Length of each capsule's axis [C], metres; the same in all poses."""
    start, end = np.moveaxis(poses.capsules[0], 1, 0)
    return np.linalg.norm(end - start, axis=-1)


def _cast(
    caster: RayCaster, poses: Poses, robots: range, pool: WorkerPool, out: np.ndarray
) -> None:
    """Render some robots' images with ``mj_multiRay`` in all threads."""

    def work(slot: int, lo: int, hi: int) -> None:
        for k in robots[lo:hi]:
            pose = poses.pos[k], poses.rotation[k], poses.capsules[k]
            out[k] = caster.cast(*pose, slot=slot)

    pool.run(work, len(robots))


def _make_caster(
    robot: RobotCfg,
    scene: TerrainScene,
    spot: tuple[int, int],
    poses: Poses,
    num_threads: int,
    walls: bool,
) -> RayCaster:
    """The ground that robots on one patch can see, and the capsules."""
    reach_m = _OFFSET_M + longest_ray_m(robot.depth_camera) + 0.5
    spec = mujoco.MjSpec()
    window = _window(scene.grid, scene.origins_m[spot][:2], reach_m)
    add_ground_mesh(spec, window, walls)
    add_capsules(spec, capsule_lengths(poses), poses.radii)
    return RayCaster(spec.compile(), robot.depth_camera, num_threads)


def _window(grid: HeightGrid, centre_m: np.ndarray, half_m: float) -> HeightGrid:
    first = (centre_m - half_m - grid.corner_xy_m) / grid.cell_m
    first = np.maximum(first.astype(int), 0)
    last = first + int(2 * half_m / grid.cell_m)
    return grid.crop(slice(first[0], last[0]), slice(first[1], last[1]))
