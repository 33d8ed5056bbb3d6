"""A task to look at: its environment, a rollout by any agent, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.tasks.registry import load_env_cfg

from solo.envs.agents import Agent
from solo.envs.grid_terrain import GridTerrainCfg
from solo.envs.make import make_env
from solo.envs.mdp.terrain import grid_terrain
from solo.envs.names import COMMAND, FALL
from solo.viewer.demo_run import place_robots
from solo.viewer.sight import Eyes, Sight


@dataclass(frozen=True)
class PlayCfg:
    """What to look at."""

    task: str
    """Id of a registered task, e.g. ``Solo-Perceptive-Unitree-G1``."""
    num_envs: int = 4
    """Number of robots."""
    terrains: tuple[str, ...] = ()
    """Names of terrain variants; the task's own if there are none."""
    difficulty: float | None = None
    """Difficulty of all terrains, 0 to 1; the curriculum's levels if None."""
    seed: int = 0
    """Seed of everything random but the terrain, which has its own."""
    clean_depth: bool = False
    """Without the camera errors of training, as the task's play configuration is."""


@dataclass(frozen=True, eq=False)
class Moment:
    """One robot at one time, with all that a picture of it needs."""

    step: int
    """Control steps since the start."""
    seconds: float
    """The same in simulated time."""
    qpos: np.ndarray
    """State, [nq]."""
    sight: Sight
    """What the robot perceives."""
    command: tuple[float, float, float]
    """Forward and sideways velocity, m/s, and turning rate, rad/s."""
    falls: int
    """How often this robot has fallen."""


class Tally:
    """Counts steps and falls and averages rewards over all robots."""

    def __init__(self, env: ManagerBasedRlEnv) -> None:
        self._env = env
        self.steps = 0
        self.falls = np.zeros(env.num_envs, dtype=int)
        """Falls of each robot, [B]."""
        self._reward_sums = dict.fromkeys(env.reward_manager.active_terms, 0.0)

    def add_step(self) -> None:
        """Take the step that the environment has just made into account."""
        self.steps += 1
        self.falls += self._env.termination_manager.get_term(FALL).cpu().numpy()
        for robot in range(self._env.num_envs):
            terms = self._env.reward_manager.get_active_iterable_terms(robot)
            for name, values in terms:
                self._reward_sums[name] += values[0]

    def summarise(self) -> dict[str, Any]:
        """Counts, and the mean of each reward term: weighted, per second."""
        count = max(1, self.steps * self._env.num_envs)
        return {
            "robots": self._env.num_envs,
            "steps": self.steps,
            "simulated_s": round(self.steps * self._env.step_dt, 3),
            "falls": int(self.falls.sum()),
            "mean_reward_per_s": {
                name: total / count for name, total in self._reward_sums.items()
            },
        }


def make_play_env(cfg: PlayCfg) -> ManagerBasedRlEnv:
    """Build a task's play configuration, with robots spread over the terrains."""
    env_cfg = load_env_cfg(cfg.task, play=True)
    env_cfg.scene.num_envs, env_cfg.seed = cfg.num_envs, cfg.seed
    terrain_cfg = env_cfg.scene.terrain
    assert isinstance(terrain_cfg, GridTerrainCfg)
    scene = terrain_cfg.scene
    scene = replace(
        scene, variants=cfg.terrains or scene.variants, difficulty=cfg.difficulty
    )
    if cfg.difficulty is not None:
        # Levels differ in nothing but their seeds; as many as robots want is enough.
        wanted = -(-cfg.num_envs // len(scene.variants))
        scene = replace(scene, num_levels=min(wanted, scene.num_levels))
    terrain_cfg.scene = scene
    if "depth" in env_cfg.observations and not cfg.clean_depth:
        env_cfg.observations["depth"] = load_env_cfg(cfg.task).observations["depth"]
    env = make_env(env_cfg)
    place_robots(env)
    return env


def record(
    env: ManagerBasedRlEnv, agent: Agent, robot: int, stride: int, tally: Tally
) -> Iterator[Moment]:
    """Step without end and yield one robot's moments, the first one before any step.

    Args:
        env: The environment, which has been reset.
        agent: What acts in it.
        robot: Whose moments.
        stride: Control steps from one moment to the next.
        tally: Counts the steps.
    """
    eyes = Eyes(env)
    while True:
        yield _moment(env, eyes, robot, tally)
        with torch.inference_mode():
            for _ in range(stride):
                env.step(agent(env))
                tally.add_step()


def describe_place(env: ManagerBasedRlEnv, robot: int) -> str:
    """Terrain and difficulty of the patch that a robot starts on."""
    terrain = grid_terrain(env)
    difficulty = terrain.terrain_scene.difficulties[int(terrain.terrain_levels[robot])]
    name = terrain.variant_names[int(terrain.terrain_types[robot])]
    return f"{name}, difficulty {difficulty:.2f}"


def _moment(env: ManagerBasedRlEnv, eyes: Eyes, robot: int, tally: Tally) -> Moment:
    command = env.command_manager.get_command(COMMAND)
    assert command is not None
    forward, left, turn = command[robot].tolist()
    return Moment(
        step=tally.steps,
        seconds=tally.steps * env.step_dt,
        qpos=env.sim.data.qpos[robot].cpu().numpy().copy(),
        sight=eyes.look(robot),
        command=(forward, left, turn),
        falls=int(tally.falls[robot]),
    )
