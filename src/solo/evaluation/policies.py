"""What is evaluated: a baseline agent, a run, or an exported bundle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.agents import AGENTS, Agent, make_agent
from solo.envs.observations_cfg import GROUPS
from solo.evaluation.network_policy import GROUPS as PERCEPTIVE_GROUPS
from solo.evaluation.network_policy import NetworkPolicy, PerceptivePolicy, shared_out
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.protocols import Start
from solo.evaluation.rollout import Policy
from solo.networks.student import StudentModel
from solo.robots import get_robot
from solo.robots.robot_cfg import RobotCfg
from solo.runs import open_run
from solo.runs.folder import BUNDLE, check_policy, find_checkpoint
from solo.runs.run import Run


def open_policy(name: str, robot: str = "g1") -> PolicySource:
    """Find a policy: an agent, or whatever `solo.runs.open_run` takes.

    Args:
        name: As on the command line.
        robot: Robot of the agents; a run knows its own.

    Raises:
        SoloError: There is none, or it cannot be read.
    """
    if name in AGENTS:
        return _agent_source(name, get_robot(robot))
    check_policy(name)
    path = find_checkpoint(name)
    if path.suffix == BUNDLE:
        from solo.evaluation.bundle import bundle_source  # Needs onnxruntime.

        return bundle_source(path)
    return _run_source(open_run(path))


def _run_source(run: Run) -> PolicySource:
    networks, is_perceptive = run.networks, run.stage == "perceptive"

    def make(env: ManagerBasedRlEnv) -> Policy:
        actor = networks.actor.to(env.device)
        if not is_perceptive:
            return NetworkPolicy(actor, GROUPS[run.stage], env.num_envs)
        assert isinstance(actor, StudentModel)
        assert networks.reconstructor is not None
        return PerceptivePolicy(
            actor, networks.reconstructor.to(env.device), env.num_envs, shared_out(env)
        )

    details = {}
    if networks.reconstructor is not None:
        io = networks.reconstructor.io
        details = {
            "reconstructor": run.state["reconstructor"]["name"],
            "depth_shape": list(io.depth_shape),
            "map_stride": io.map_stride,
        }
    return PolicySource(
        name=f"{run.path.resolve().parent.name}/{run.path.name}",
        kind=run.stage,
        robot=run.robot,
        stage=run.stage,
        groups=PERCEPTIVE_GROUPS if is_perceptive else GROUPS[run.stage],
        make=make,
        checkpoint=run.path,
        sha256=run.sha256,
        details=details,
    )


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
