"""Depth images of robots that walk by script."""

from __future__ import annotations

import mujoco
import numpy as np
import torch
from mjlab.utils.lab_api.math import matrix_from_quat, quat_from_euler_xyz

from solo.envs.depth_sensor_cfg import DepthSensorCfg
from solo.motions import rotations
from solo.reconstruction.kinematics import BatchKinematics
from solo.sensors.depth_camera import DepthCamera, Run
from solo.sensors.depth_corruption import DepthCorruptor


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
        poses = BatchKinematics(model).poses_w(flat, bodies)
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
