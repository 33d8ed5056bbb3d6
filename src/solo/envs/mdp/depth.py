"""The depth observation: rendering, errors, latency and history for all robots."""

from __future__ import annotations

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.managers.observation_manager import ObservationTermCfg
from mjlab.utils.lab_api.math import matrix_from_quat, quat_apply, quat_from_euler_xyz

from solo.envs.grid_terrain import grid_terrain
from solo.envs.obstacle import obstacle_boxes
from solo.sensors.depth.camera import DepthCamera, DepthHistory
from solo.sensors.depth.cfg import DepthSensorCfg
from solo.sensors.depth.corruption import DepthCorruptor, normalise, without_near_limit
from solo.sensors.height_map import Boxes
from solo.sim.native import NativeSimulation


class depth_images:
    """Window of depth images [B, frames, H, W], oldest first, 0 to 1, invalid 0.

    One image is rendered per control step. After a reset the window holds images of the
    new episode alone.
    """

    def __init__(self, cfg: ObservationTermCfg, env: ManagerBasedRlEnv) -> None:
        sensor: DepthSensorCfg = cfg.params["cfg"]
        self.cfg = sensor
        device, num = env.device, env.num_envs
        pool = env.sim.pool if isinstance(env.sim, NativeSimulation) else None
        run = pool.run if pool else None
        camera, self.corruptor = sensor.camera, None
        seed = int(torch.randint(2**31, ()))  # Follows from the environment's seed.
        if sensor.corruption is not None:
            # What is too close casts shadows and leaves blocks; the corruptor clips it.
            camera = without_near_limit(sensor.camera)
            self.corruptor = DepthCorruptor(
                sensor.corruption, sensor.camera, num, device, run, seed
            )
        self.camera = DepthCamera(grid_terrain(env).grid, camera, device, run)
        self.history = DepthHistory(
            num,
            sensor.frames,
            sensor.stride,
            sensor.max_delay,
            shape=camera.output_shape,
            device=device,
            generator=torch.Generator().manual_seed(seed),
        )
        robot = env.scene["robot"]
        self._env, self._robot = env, robot
        self._mount_body = robot.find_bodies(sensor.mount.body)[0][0]
        self._mount_pos = torch.tensor(sensor.mount.pos_m, device=device)
        self._mount_rotation = torch.tensor(
            sensor.mount.rotation_camera_to_body(), dtype=torch.float32, device=device
        )
        self._link_ids = [robot.find_bodies(c.body)[0][0] for c in sensor.self_view]
        self._link_ends = torch.tensor(
            [c.fromto for c in sensor.self_view], dtype=torch.float32, device=device
        ).reshape(-1, 2, 3)
        self._radii = torch.tensor([c.radius for c in sensor.self_view], device=device)
        self._offset = torch.zeros(num, 6, device=device)
        self._is_new = torch.ones(num, dtype=torch.bool, device=device)
        self._last_step = -1
        self.reset(slice(None))

    def reset(self, env_ids: torch.Tensor | slice | None) -> None:
        """Begin episodes in some environments: clear the window, draw new errors."""
        ids = torch.arange(len(self._is_new), device=self._is_new.device)
        if env_ids is not None:
            ids = ids[env_ids]
        if self.cfg.extrinsics is not None:
            low, high = torch.tensor(self.cfg.extrinsics.ranges).T.to(ids.device)
            draw = torch.rand(len(ids), 6, device=ids.device)
            self._offset[ids] = low + (high - low) * draw
        if self.corruptor is not None:
            self.corruptor.reset(ids)
        self.history.reset(ids)
        self._is_new[ids] = True

    def __call__(self, env: ManagerBasedRlEnv, cfg: object) -> torch.Tensor:
        del cfg  # Read once, in the constructor.
        if env.common_step_counter != self._last_step:
            self._last_step = env.common_step_counter
            self.history.push(self.image())
        elif self._is_new.any():
            # mjlab asks again after an explicit reset of some environments, which must
            # not advance the others.
            self.history.push(self.image(), self._is_new.nonzero().flatten())
        self._is_new[:] = False
        return normalise(self.history.read(), self.cfg.camera)

    def peek(
        self, env: ManagerBasedRlEnv, env_ids: torch.Tensor, cfg: object
    ) -> torch.Tensor:
        """The present window of some robots, without rendering a new image."""
        del env, cfg
        return normalise(self.history.read(env_ids), self.cfg.camera)

    def image(self) -> torch.Tensor:
        """Depth as the sensor gives it now, metres, [B, H, W]."""
        depth = self.clean_image()
        return depth if self.corruptor is None else self.corruptor(depth)

    def clean_image(self) -> torch.Tensor:
        """Depth without errors of the image, metres, [B, H, W].

        Where images are corrupted, the near limit of the range is not applied yet.
        """
        pos_w, rotation_w = self.camera_pose_w()
        return self.camera.render(
            pos_w, rotation_w, self.links_w(), self._radii, boxes=self.boxes_w()
        )

    def boxes_w(self) -> Boxes | None:
        """The movable obstacle, if the scene has one."""
        return obstacle_boxes(self._env)

    def camera_pose_w(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Position [B, 3] and camera-to-world rotation [B, 3, 3], with their errors."""
        data = self._robot.data
        pos_w = data.body_link_pos_w[:, self._mount_body]
        quat_w = data.body_link_quat_w[:, self._mount_body]
        error = matrix_from_quat(quat_from_euler_xyz(*self._offset[:, 3:].unbind(1)))
        rotation_w = matrix_from_quat(quat_w) @ error @ self._mount_rotation
        return pos_w + quat_apply(
            quat_w, self._mount_pos + self._offset[:, :3]
        ), rotation_w

    def links_w(self) -> torch.Tensor:
        """End points of the robot's own links [B, links, 2, 3]."""
        data = self._robot.data
        pos_w = data.body_link_pos_w[:, self._link_ids, None]  # [B, C, 1, 3]
        quat_w = data.body_link_quat_w[:, self._link_ids, None].expand(-1, -1, 2, -1)
        ends = self._link_ends.expand(len(pos_w), -1, -1, -1)
        return pos_w + quat_apply(quat_w, ends)
