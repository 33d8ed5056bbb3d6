"""The scripted sampler: robots moved along walking gaits, sensed as in training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import mujoco
import numpy as np
import torch
from mjlab.utils.lab_api.math import matrix_from_quat, quat_from_euler_xyz

from solo.envs.observations_cfg import NOISE
from solo.motions import rotations
from solo.motions.gait import FPS
from solo.motions.skeleton import ROOT_QPOS
from solo.reconstruction.data.recorder import ShardPlan, Step
from solo.reconstruction.data.scripted.ground import draw_route, walkable_ground
from solo.reconstruction.data.scripted.kinematics import body_poses_w
from solo.reconstruction.data.scripted.walk import GaitSet, PerturbationCfg, walk_routes
from solo.robots.robot_cfg import RobotCfg
from solo.sensors.depth.camera import DepthCamera, Run
from solo.sensors.depth.cfg import DepthSensorCfg
from solo.sensors.depth.corruption import DepthCorruptor, without_near_limit
from solo.sensors.height_map import HeightMap
from solo.sim.threads import WorkerPool, available_cores
from solo.terrains.grid import HeightGrid
from solo.terrains.scene import TerrainScene, TerrainSceneCfg, build_scene


@dataclass(frozen=True, eq=False)
class Motion:
    """T frames of N robots with their velocities."""

    qpos: np.ndarray
    """MuJoCo's positions, [T, N, 7 + J]."""
    joint_vel: np.ndarray
    """[T, N, J], rad/s."""
    lin_vel_b: np.ndarray
    """Velocity of the base, base frame, [T, N, 3], m/s."""
    ang_vel_b: np.ndarray
    """Angular velocity of the base, base frame, [T, N, 3], rad/s."""
    command: np.ndarray
    """What the robots were told to do, [N, 3], m/s and rad/s."""


class ScriptedSampler:
    """Robots that walk by script.

    Proprioception is that of the motion: the previous action is the position target
    that a PD controller without load would follow to the present pose and velocity.
    """

    name = "scripted"

    def __init__(
        self,
        robot: RobotCfg,
        sensor: DepthSensorCfg | None = None,
        noise: bool = True,
        perturbation: PerturbationCfg | None = None,
        gait_set: GaitSet | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Make the sampler; clips are synthesised when first needed.

        Args:
            robot: The robot.
            sensor: Camera, its errors and its delay; those of training by default.
            noise: Whether proprioception has the noise of training.
            perturbation: How far robots are from the clips.
            gait_set: The gaits they walk in; all by default.
            num_threads: Threads that render; all cores if left out.
        """
        self.robot, self.noise = robot, noise
        self.sensor = sensor or DepthSensorCfg.for_robot(robot)
        self.perturbation = perturbation or PerturbationCfg()
        self.gait_set = gait_set or GaitSet(robot)
        self._run: Run = WorkerPool(num_threads or available_cores()).run
        self._scene = lru_cache(maxsize=1)(self._build)

    def describe(self) -> dict[str, Any]:
        """See `Sampler`."""
        return {
            "name": self.name,
            "robot": self.robot.name,
            "gaits": [cfg.name for cfg in self.gait_set.cfgs],
            "noise": self.noise,
            "perturbation": asdict(self.perturbation),
            "sensor": asdict(self.sensor),
        }

    def sample(self, plan: ShardPlan, num_steps: int) -> Iterator[Step]:
        """See `Sampler`; every robot is one episode."""
        scene, ground, camera, height_map = self._scene(plan.scene)
        motion = self.move(plan, num_steps, scene, ground)
        rng = np.random.default_rng([*plan.seed, 1])
        model = self.gait_set.skeleton.model
        eye = ScriptedCamera(self.sensor, model, camera, motion.qpos, rng, self._run)
        num = len(plan.columns)
        delay = torch.from_numpy(rng.integers(self.sensor.max_delay + 1, size=num))
        proprioception = self.proprioception(motion, rng)
        for k in range(num_steps):
            base = torch.from_numpy(motion.qpos[k, :, :ROOT_QPOS]).float()
            yield Step(
                depth_m=eye.look(k),
                proprioception=torch.from_numpy(proprioception[k]),
                height=height_map.sample(
                    base[:, :3].contiguous(), base[:, 3:].contiguous()
                ),
                velocity=torch.from_numpy(motion.lin_vel_b[k]),
                is_first=torch.full((num,), k == 0),
                delay=delay,
            )

    def move(
        self, plan: ShardPlan, num_steps: int, scene: TerrainScene, ground: HeightGrid
    ) -> Motion:
        """Walk: velocities are central differences, so a frame more at both ends."""
        rng = np.random.default_rng([*plan.seed, 0])
        gaits, frames = self.gait_set, num_steps + 2
        periods = [clip.num_frames - 1 for clip in gaits.clips]
        routes = [
            draw_route(
                gaits.cfgs,
                gaits.weights,
                periods,
                ground,
                complex(*scene.origins_m[level, column, :2]),
                scene.cfg.patch_m,
                frames,
                FPS,
                rng,
            )
            for column, level in zip(plan.columns, plan.levels, strict=True)
        ]
        qpos = walk_routes(
            gaits, routes, scene.grid, ground, frames, rng, self.perturbation
        )
        cfgs = [gaits.cfgs[route.gait] for route in routes]
        exact = np.array([[cfg.vx, cfg.vy, cfg.wz] for cfg in cfgs])
        # A policy does not follow its command to the letter.
        command = exact * rng.uniform(0.85, 1.15, exact.shape)
        rate = (qpos[2:] - qpos[:-2]) * (0.5 * FPS)
        before, here, after = (qpos[k : len(qpos) - 2 + k, :, 3:7] for k in (0, 1, 2))
        turn = rotations.multiply(rotations.conjugate(before), after)
        return Motion(
            qpos=qpos[1:-1],
            joint_vel=rate[..., ROOT_QPOS:],
            lin_vel_b=rotations.rotate(rotations.conjugate(here), rate[..., :3]),
            ang_vel_b=rotations.to_rotation_vector(turn) * (0.5 * FPS),
            command=command,
        )

    def proprioception(self, motion: Motion, rng: np.random.Generator) -> np.ndarray:
        """The 84 numbers of every step, float32 [T, N, 84]."""
        robot = self.robot
        default = np.array(robot.joint_values(robot.default_joint_pos))
        scale = np.array(robot.joint_values(robot.action_scale))
        lead_s = np.array(
            robot.joint_values(
                {
                    pattern: group.damping / group.stiffness
                    for group in robot.actuators
                    for pattern in group.target_names_expr
                }
            )
        )
        offset = motion.qpos[..., ROOT_QPOS:] - default
        to_base = rotations.conjugate(motion.qpos[..., 3:ROOT_QPOS])
        parts = {
            "base_ang_vel": motion.ang_vel_b,
            "projected_gravity": rotations.rotate(to_base, np.array([0.0, 0.0, -1.0])),
            "command": np.broadcast_to(motion.command, motion.ang_vel_b.shape),
            "joint_pos": offset,
            "joint_vel": motion.joint_vel,
            "last_action": (offset + lead_s * motion.joint_vel) / scale,
        }
        if self.noise:
            for name, half_width in NOISE.items():
                shape = parts[name].shape
                parts[name] = parts[name] + rng.uniform(-half_width, half_width, shape)
        return np.concatenate(list(parts.values()), axis=-1).astype(np.float32)

    def _build(
        self, cfg: TerrainSceneCfg
    ) -> tuple[TerrainScene, HeightGrid, DepthCamera, HeightMap]:
        scene = build_scene(cfg)
        camera = self.sensor.camera
        if self.sensor.corruption is not None:
            camera = without_near_limit(camera)
        return (
            scene,
            walkable_ground(scene.grid),
            DepthCamera(scene.grid, camera, "cpu", self._run),
            HeightMap(scene.grid, self.robot.height_map, "cpu"),
        )


class ScriptedCamera:
    """The depth cameras of all robots of a shard, as `solo.envs.mdp.depth` has them."""

    def __init__(
        self,
        sensor: DepthSensorCfg,
        model: mujoco.MjModel,
        camera: DepthCamera,
        qpos: np.ndarray,
        rng: np.random.Generator,
        run: Run,
    ) -> None:
        """Draw the errors of each camera for its episode.

        Args:
            sensor: Camera, mount and their errors.
            model: The robot alone.
            camera: Renders the terrain.
            qpos: Positions of all robots, [T, N, 7 + J].
            rng: Source of the errors.
            run: Shares images among threads.
        """
        num = qpos.shape[1]
        self.camera, self.corruptor = camera, None
        if sensor.corruption is not None:
            self.corruptor = DepthCorruptor(
                sensor.corruption,
                sensor.camera,
                num,
                "cpu",
                run,
                int(rng.integers(2**31)),
            )
        names = [sensor.mount.body, *(c.body for c in sensor.self_view)]
        bodies = [model.body(name).id for name in names]
        flat = qpos.reshape(-1, qpos.shape[-1])
        poses = body_poses_w(model, flat, bodies)
        self._pos, self._quat = (p.reshape(-1, num, *p.shape[1:]) for p in poses)
        low, high = np.zeros((2, 6))
        if sensor.extrinsics is not None:
            low, high = np.array(sensor.extrinsics.ranges).T
        error = rng.uniform(low, high, (num, 6))
        euler = torch.from_numpy(error[:, 3:]).unbind(1)
        turn = matrix_from_quat(quat_from_euler_xyz(*euler))
        self._offset = np.array(sensor.mount.pos_m) + error[:, :3]
        self._turn = turn @ torch.from_numpy(sensor.mount.rotation_camera_to_body())
        ends = [c.fromto for c in sensor.self_view]
        self._ends = np.array(ends, dtype=np.float64).reshape(-1, 2, 3)
        self._radii = torch.tensor([c.radius for c in sensor.self_view])

    def look(self, step: int) -> torch.Tensor:
        """Images of one step, metres, [N, H, W]."""
        pos, quat = self._pos[step], self._quat[step]
        pos_w = pos[:, 0] + rotations.rotate(quat[:, 0], self._offset)
        rotation_w = matrix_from_quat(torch.from_numpy(quat[:, 0])) @ self._turn
        links_w = pos[:, 1:, None] + rotations.rotate(quat[:, 1:, None], self._ends)
        depth = self.camera.render(
            torch.from_numpy(pos_w).float(),
            rotation_w.float(),
            torch.from_numpy(links_w).float(),
            self._radii,
        )
        return depth if self.corruptor is None else self.corruptor(depth)
