"""The sampler that a policy drives: the environment of training, recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.grid_terrain import GridTerrain
from solo.envs.locomotion_env_cfg import make_locomotion_env_cfg
from solo.envs.make import make_env
from solo.reconstruction.data.recorder import ShardPlan, Step
from solo.robots.robot_cfg import RobotCfg
from solo.sensors.depth.cfg import DepthSensorCfg
from solo.sim.threads import stepping_threads

Policy = Callable[[ManagerBasedRlEnv], torch.Tensor]
"""An environment to actions [N, 25]; its observations are in ``env.obs_buf``."""


class PolicySampler:
    """Robots that a policy moves through the perceptive environment.

    Each shard gets an environment of its own, seeded by its plan, so that it does not
    depend on the shards before. Robots stay on their patch: no curriculum.
    """

    def __init__(
        self,
        robot: RobotCfg,
        name: str,
        make_policy: Callable[[ManagerBasedRlEnv], Policy],
        sensor: DepthSensorCfg | None = None,
    ) -> None:
        """Make the sampler.

        Args:
            robot: The robot.
            name: What tables are labelled with, such as ``teacher`` or a checksum of
                the policy; a recording goes on only with the same one.
            make_policy: Called with each new environment; returns what acts in it.
                Recurrent policies reset themselves where ``env.episode_length_buf``
                is 0.
            sensor: Camera with its errors and delay; those of training by default.
        """
        self.robot, self.name = robot, name
        self.sensor = sensor or DepthSensorCfg.for_robot(robot)
        self._make_policy = make_policy

    def describe(self) -> dict[str, Any]:
        """See `Sampler`."""
        return {
            "name": self.name,
            "robot": self.robot.name,
            "sensor": asdict(self.sensor),
        }

    def sample(self, plan: ShardPlan, num_steps: int) -> Iterator[Step]:
        """See `Sampler`; where an episode ends, the next one begins in place."""
        rng = np.random.default_rng(plan.seed)
        env = self._make_env(plan, int(rng.integers(2**31)))
        try:
            with stepping_threads():
                yield from self._steps(env, num_steps, rng)
        finally:
            env.close()

    def _steps(
        self, env: ManagerBasedRlEnv, num_steps: int, rng: np.random.Generator
    ) -> Iterator[Step]:
        num, far_m = env.num_envs, self.sensor.camera.max_range_m
        policy = self._make_policy(env)
        is_first = torch.ones(num, dtype=torch.bool)
        delay = torch.zeros(num, dtype=torch.long)
        for _ in range(num_steps):
            drawn = torch.from_numpy(rng.integers(self.sensor.max_delay + 1, size=num))
            delay = torch.where(is_first, drawn, delay)
            seen: Any = env.obs_buf
            yield Step(
                depth_m=seen["depth"][:, -1] * far_m,
                proprioception=seen["proprioception_window"][:, -1],
                height=seen["height_map"],
                velocity=seen["base_velocity"],
                is_first=is_first,
                delay=delay,
            )
            with torch.inference_mode():
                actions = policy(env)
            _, _, terminated, truncated, _ = env.step(actions)
            is_first = (terminated | truncated).bool().cpu()

    def _make_env(self, plan: ShardPlan, seed: int) -> ManagerBasedRlEnv:
        """The perceptive environment with one fresh image per step and no delay.

        The recording keeps every image; delay and history are made when it is read.
        """
        cfg = make_locomotion_env_cfg(
            self.robot,
            stage="perceptive",
            num_envs=len(plan.columns),
            terrain=plan.scene,
            depth=replace(self.sensor, frames=1, stride=1, max_delay=0),
            seed=seed,
        )
        cfg.curriculum = {}
        env = make_env(cfg)
        terrain = env.scene.terrain
        assert isinstance(terrain, GridTerrain)
        origins = terrain.terrain_origins
        assert origins is not None
        assert terrain.env_origins is not None
        for name, values in (
            ("terrain_levels", plan.levels),
            ("terrain_types", plan.columns),
        ):
            placed = torch.from_numpy(np.asarray(values, dtype=np.int64))
            getattr(terrain, name)[:] = placed
        terrain.env_origins[:] = origins[terrain.terrain_levels, terrain.terrain_types]
        env.reset()
        return env
