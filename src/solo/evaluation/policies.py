"""Who is evaluated: a baseline agent, a checkpoint of a run, or an exported bundle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.agents import AGENTS, Agent, make_agent
from solo.errors import SoloError, unknown_name
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.rollout import Policy
from solo.evaluation.starts import Start
from solo.evaluation.trained import LOADERS, read_run
from solo.robots import get_robot
from solo.robots.robot_cfg import RobotCfg
from solo.stages.run_folder import CONFIG, find_checkpoint


def open_policy(name: str, robot: str = "g1") -> PolicySource:
    """Find a policy: an agent, a run folder, a checkpoint or a bundle ``*.onnx``.

    Args:
        name: As on the command line.
        robot: Robot of the agents; a run knows its own.

    Raises:
        SoloError: There is none, or it cannot be read.
    """
    if name in AGENTS:
        return _agent_source(name, get_robot(robot))
    path = Path(name)
    if not path.exists():
        raise SoloError(
            f"Unknown policy {name!r}. Allowed: {', '.join(AGENTS)}, a run's folder, a "
            "checkpoint model_*.pt or a bundle *.onnx. Check the path."
        )
    if path.suffix == ".onnx":
        from solo.evaluation.bundle import bundle_source  # Needs onnxruntime.

        return bundle_source(path)
    checkpoint = find_checkpoint(path)
    run = read_run(checkpoint.parent / CONFIG)
    stage = run["stage"]
    if stage not in LOADERS:
        raise unknown_name(
            "stage", stage, LOADERS, f"{str(checkpoint)!r} cannot be evaluated yet."
        )
    return LOADERS[stage](checkpoint, run)


class AgentPolicy(Policy):
    """One of the agents that read the environment's state."""

    def __init__(self, agent: Agent, env: ManagerBasedRlEnv) -> None:
        self._agent, self._env = agent, env

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        """Nothing to forget."""

    def act(self, observations: Any) -> tuple[torch.Tensor, Mapping[str, np.ndarray]]:
        """Actions for the environment's present state."""
        return self._agent(self._env), {}


class RandomPolicy(Policy):
    """The random agent with a generator for each rollout."""

    def __init__(self, num_slots: int, num_actions: int, std: float = 0.5) -> None:
        self._shape, self._std = (num_slots, num_actions), std
        self._generators: dict[int, np.random.Generator] = {}

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        """Draw from the rollouts' own seeds."""
        for slot, start in zip(slots, starts, strict=True):
            self._generators[slot] = np.random.default_rng((*start.seed, 1))

    def act(self, observations: Any) -> tuple[torch.Tensor, Mapping[str, np.ndarray]]:
        """Draw actions."""
        actions = np.zeros(self._shape, dtype=np.float32)
        for slot, generator in self._generators.items():
            actions[slot] = self._std * generator.standard_normal(self._shape[1])
        return torch.from_numpy(actions), {}


def _agent_source(name: str, robot: RobotCfg) -> PolicySource:
    def make(env: ManagerBasedRlEnv) -> Policy:
        if name == "random":
            return RandomPolicy(env.num_envs, env.action_manager.total_action_dim)
        return AgentPolicy(make_agent(name, env, robot), env)

    return PolicySource(
        name=name,
        kind="agent",
        robot=robot,
        stage="teacher",
        groups=("teacher_proprioception",),
        make=make,
    )
