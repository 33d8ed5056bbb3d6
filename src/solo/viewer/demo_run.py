"""The demo's environment and rollout: robots that stand, one or more per terrain."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from rich.progress import Progress

from solo.envs.agents import make_agent
from solo.envs.locomotion_env_cfg import make_locomotion_env_cfg, make_simulation_cfg
from solo.envs.make import make_env
from solo.envs.mdp.terrain import grid_terrain
from solo.robots.robot_cfg import RobotCfg
from solo.sim.native import Backend
from solo.terrains.scene import TerrainSceneCfg

AGENT = "stand"
NOTE = (
    "No trained policy yet: the robots stand under PD control with an ankle feedback."
)

_STANDING_SHARE = 0.8
"""Share of the default base height from which on a robot counts as standing."""


@dataclass(frozen=True, eq=False)
class Rollout:
    """What happened."""

    qpos: np.ndarray
    """States before the first and after every step, [T + 1, B, nq]."""
    falls: np.ndarray
    """How often each robot fell, int [B]; it starts anew after a fall."""
    height_m: np.ndarray
    """Height of each base above the ground at the end, [B]."""
    seconds: float
    """Simulated time."""
    wall_s: float
    """Time that took."""


def make_demo_env(
    robot: RobotCfg,
    num_robots: int,
    difficulty: float | None,
    seed: int,
    backend: Backend = "auto",
) -> ManagerBasedRlEnv:
    """Robots spread over the columns and levels, without domain randomisation."""
    cfg = make_locomotion_env_cfg(
        robot,
        num_envs=num_robots,
        terrain=TerrainSceneCfg(difficulty=difficulty),
        sim=make_simulation_cfg(backend=backend),
        play=True,
        seed=seed,
    )
    cfg.events = {k: event for k, event in cfg.events.items() if event.mode == "reset"}
    env = make_env(cfg)
    place_robots(env)
    return env


def place_robots(env: ManagerBasedRlEnv) -> None:
    """Spread the robots over the columns and levels of the terrain."""
    terrain = grid_terrain(env)
    assert terrain.terrain_origins is not None
    assert terrain.env_origins is not None
    levels, columns = spread(env.num_envs, *terrain.terrain_origins.shape[:2])
    terrain.terrain_levels[:] = torch.from_numpy(levels)
    terrain.terrain_types[:] = torch.from_numpy(columns)
    terrain.env_origins[:] = terrain.terrain_origins[levels, columns]


def spread(
    num_robots: int, num_levels: int, num_columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """Level and column of each robot: all columns first, then further levels."""
    robots = np.arange(num_robots)
    if num_robots < num_columns:
        columns = robots * num_columns // num_robots
    else:
        columns = robots % num_columns
    rounds = -(-num_robots // num_columns)
    # Three is coprime to the ten levels, so that neighbours differ and all occur.
    levels = (3 * columns + robots // num_columns * num_levels // rounds) % num_levels
    return levels, columns


def roll_out(
    env: ManagerBasedRlEnv, robot: RobotCfg, seconds: float, progress: Progress
) -> Rollout:
    """Let the standing agent act and record the states."""
    num_steps = max(1, round(seconds / env.step_dt))
    task = progress.add_task("simulating", total=num_steps)
    with torch.inference_mode():
        env.reset()
        agent = make_agent(AGENT, env, robot)
        qpos = [env.sim.data.qpos.numpy().copy()]
        falls = torch.zeros(env.num_envs, dtype=torch.long)
        start = time.perf_counter()
        for _ in range(num_steps):
            _, _, terminated, _, _ = env.step(agent(env))
            falls += terminated
            qpos.append(env.sim.data.qpos.numpy().copy())
            progress.advance(task)
        wall_s = time.perf_counter() - start
    position = qpos[-1][:, :3]
    ground_m = grid_terrain(env).grid.surface_at(position[:, 0], position[:, 1])
    return Rollout(
        qpos=np.stack(qpos),
        falls=falls.numpy(),
        height_m=position[:, 2] - ground_m,
        seconds=num_steps * env.step_dt,
        wall_s=wall_s,
    )


def summarise(rollout: Rollout, robot: RobotCfg) -> dict[str, Any]:
    """The numbers that ``summary.json`` holds."""
    num_steps, num_robots = rollout.qpos.shape[0] - 1, rollout.qpos.shape[1]
    is_standing = (rollout.falls == 0) & (
        rollout.height_m > _STANDING_SHARE * robot.base_height_m
    )
    height_error_m = np.abs(rollout.height_m - robot.base_height_m).mean()
    return {
        "agent": AGENT,
        "trained_policy": False,
        "note": NOTE,
        "robot": robot.name,
        "robots": num_robots,
        "standing": int(is_standing.sum()),
        "falls": int(rollout.falls.sum()),
        "mean_height_error_m": round(float(height_error_m), 4),
        "simulated_s": round(rollout.seconds, 3),
        "env_steps_per_s": round(num_steps * num_robots / rollout.wall_s, 1),
    }
