"""Recording: which robots walk where, who moves them, and what is written of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.grid_terrain import GridTerrain
from solo.envs.locomotion_env_cfg import make_locomotion_env_cfg
from solo.envs.make import make_env
from solo.errors import SoloError
from solo.files import owned_folder
from solo.progress import make_progress
from solo.reconstruction.cfg import HELD_OUT_SEED, CollectCfg
from solo.reconstruction.data.shards import (
    Manifest,
    has_shard,
    open_recording,
    write_shard,
)
from solo.robots.robot_cfg import RobotCfg
from solo.sensors.depth.cfg import DepthSensorCfg
from solo.sim.threads import stepping_threads
from solo.terrains.scene import TerrainSceneCfg

EXTENT_TERRAINS = ("stairs_down_25", "stairs_down_30", "stairs_down_35")
EXTENT_PATCHES_M = (8.0, 10.0)
"""Descending stairs in patches of the training size and larger (paper, figure A)."""

_BORDER_M = 4.0
"""Flat ground around all patches: more than a camera sees (3 m)."""


def num_shards(cfg: CollectCfg) -> int:
    """Shards of the split."""
    if cfg.split == "train":
        return -(-cfg.frames // (cfg.robots * cfg.steps))
    return cfg.sets if cfg.split == "eval" else len(EXTENT_PATCHES_M)


@dataclass(frozen=True, eq=False)
class ShardPlan:
    """The robots of one shard."""

    scene: TerrainSceneCfg
    """The terrain."""
    columns: np.ndarray
    """Terrain of each robot, index into ``scene.variants``, [N]."""
    levels: np.ndarray
    """Level of each robot, [N]."""
    seed: tuple[int, ...]
    """Seed of everything random but the terrain."""


def plan_shard(cfg: CollectCfg, index: int) -> ShardPlan:
    """The robots of a shard, from the configuration and its number alone."""
    salt = ("train", "eval", "extent").index(cfg.split)
    seed = (cfg.seed, salt, index)
    if cfg.split == "train":
        scene = _scene(cfg, cfg.terrain_seeds[index % len(cfg.terrain_seeds)])
        numbers = index * cfg.robots + np.arange(cfg.robots)
        places = np.array([_shuffled_place(cfg, int(k)) for k in numbers])
    elif cfg.split == "eval":
        scene = _scene(cfg, HELD_OUT_SEED + index)
        places = np.arange(len(cfg.variants) * cfg.num_levels)
    else:
        scene = _scene(cfg, HELD_OUT_SEED + cfg.sets, EXTENT_TERRAINS)
        scene = replace(scene, patch_m=EXTENT_PATCHES_M[index])
        places = np.tile(np.arange(3 * cfg.num_levels), cfg.repeats)
        seed = (cfg.seed, salt, 0)  # The same robots in both extents.
    columns, levels = places // cfg.num_levels, places % cfg.num_levels
    return ShardPlan(scene, columns, levels, seed)


def _scene(
    cfg: CollectCfg, seed: int, variants: tuple[str, ...] | None = None
) -> TerrainSceneCfg:
    return TerrainSceneCfg(
        variants or cfg.variants, cfg.num_levels, border_m=_BORDER_M, seed=seed
    )


def _shuffled_place(cfg: CollectCfg, number: int) -> int:
    """Patch of the robot with this number; all patches come once before any again."""
    num_places = len(cfg.variants) * cfg.num_levels
    rng = np.random.default_rng([cfg.seed, 77, number // num_places])
    return int(rng.permutation(num_places)[number % num_places])


@dataclass(frozen=True, eq=False)
class Step:
    """What N robots see, feel and stand before in one control step."""

    depth_m: torch.Tensor
    """Newest image, with errors, without delay, metres, invalid 0, [N, H, W]."""
    proprioception: torch.Tensor
    """Newest frame, with noise, [N, 84]."""
    height: torch.Tensor
    """True height map, [N, Y, X], metres."""
    velocity: torch.Tensor
    """True velocity of the base, base frame, [N, 3], m/s."""
    is_first: torch.Tensor
    """Whether an episode begins with this step, bool [N]."""
    delay: torch.Tensor
    """Latency of the depth images in this episode, control steps, [N]."""


class Sampler(Protocol):
    """Moves robots and yields what they sense."""

    @property
    def name(self) -> str:
        """What a table made from its data is labelled with."""
        ...

    def describe(self) -> dict[str, Any]:
        """Everything that decides what it yields besides the plan, for the manifest."""
        ...

    def sample(self, plan: ShardPlan, num_steps: int) -> Iterator[Step]:
        """Yield the steps of a shard; a pure function of the plan."""
        ...


def collect(cfg: CollectCfg, sampler: Sampler, output: Path) -> Manifest:
    """Record what is missing of a split into ``output/SPLIT``.

    A recording that was interrupted goes on with its next shard. More frames than last
    time extend it; any other change is refused.

    Raises:
        SoloError: The folder holds other data, is in use or cannot be written.
    """
    folder = output / cfg.split
    with owned_folder(folder), make_progress() as progress:
        manifest = open_recording(folder, sampler.name, _config(cfg, sampler))
        plans = [plan_shard(cfg, index) for index in range(num_shards(cfg))]
        total = sum(len(plan.columns) * cfg.steps for plan in plans)
        done = manifest.frames
        task = progress.add_task(f"recording {cfg.split}", total=total, completed=done)
        for index, plan in enumerate(plans):
            if has_shard(folder, manifest, index):
                continue
            steps = []
            for step in sampler.sample(plan, cfg.steps):
                steps.append(pack_step(step))
                progress.advance(task, len(plan.columns))
            arrays = {k: np.stack([step[k] for step in steps]) for k in steps[0]}
            arrays |= {"terrain": plan.columns, "level": plan.levels}
            write_shard(folder, manifest, index, arrays, plan.scene)
    return manifest


def pack_step(step: Step) -> dict[str, np.ndarray]:
    """A step as a shard stores it; see `solo.reconstruction.data.shards`."""
    return {
        "depth_mm": (step.depth_m * 1000.0).round().short().cpu().numpy().view("u2"),
        "proprioception": step.proprioception.float().cpu().numpy().copy(),
        "height_mm": (step.height * 1000.0).round().short().cpu().numpy(),
        "velocity": step.velocity.float().cpu().numpy().copy(),
        "is_first": step.is_first.cpu().numpy().copy(),
        "delay": step.delay.byte().cpu().numpy().copy(),
    }


def _config(cfg: CollectCfg, sampler: Sampler) -> dict[str, Any]:
    """What shards depend on; the number of frames only says how many there are."""
    values = {f.name: getattr(cfg, f.name) for f in fields(CollectCfg)}
    del values["frames"]
    values = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
    return {**values, "sampler": sampler.describe()}


def check_disjoint(data: Path) -> None:
    """Refuse held-out terrain that was trained on."""
    seeds = {
        split: {
            int(shard.scene["seed"])
            for shard in Manifest.read(data / split).shards.values()
        }
        for split in ("train", "eval")
    }
    both = seeds["train"] & seeds["eval"]
    if both:
        raise SoloError(
            f"Terrain seeds {sorted(both)} of {str(data)!r} are in the training data "
            "and in the held-out sets. Record one of them again."
        )


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
        self.sensor = sensor or robot.depth_sensor()
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
