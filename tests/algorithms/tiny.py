"""A tiny world for the algorithm tests: observations, motions, models, rollouts."""

from __future__ import annotations

from typing import Any

import torch
from rsl_rl.env import VecEnv
from tensordict import TensorDict

AMP_DIM = 3
ACTIONS = 2
ACTION_SCALE = [0.5, 1.5]
ENVS = 4
STEPS = 6

GROUPS = {
    "actor": ["proprioception", "reconstructed_map"],
    "critic": ["critic"],
    "teacher": ["teacher_proprioception", "height_map"],
}
"""Student and teacher see different groups, as in stage 3."""


class TinyMotions:
    """Reference transitions around +1, with a small step between the states."""

    def sample_transitions(
        self, n: int, generator: torch.Generator
    ) -> tuple[torch.Tensor, torch.Tensor]:
        state = 1.0 + 0.1 * torch.randn(n, AMP_DIM, generator=generator)
        return state, state + 0.01


class TinyEnv(VecEnv):
    """A point per environment; it is done when it leaves [-1.5, 1.5] or is late."""

    def __init__(self, num_envs: int = ENVS, seed: int = 0) -> None:
        self.num_envs = num_envs
        self.num_actions = ACTIONS
        self.device = torch.device("cpu")
        self.cfg = {}
        self.max_episode_length = 9
        self.generator = torch.Generator().manual_seed(seed)
        self.episode_length_buf = torch.arange(num_envs)
        self.points = torch.zeros(num_envs, ACTIONS)
        self.keeps_ends = False
        self.bonus = 0.0
        self.rewards: list[torch.Tensor] = []

    def keep_terminal_observations(self, without: set[str]) -> None:
        assert without == {"critic", "amp"} or without == {"critic"}
        self.keeps_ends = True

    def get_observations(self) -> TensorDict:
        p = self.points.clone()
        return TensorDict(
            {
                "proprioception": torch.cat((p, p.square()), dim=-1),
                "reconstructed_map": 0.9 * p,
                "teacher_proprioception": p.sin(),
                "height_map": p.flip(-1),
                "critic": torch.cat((p, self.episode_length_buf[:, None] / 9), dim=-1),
                "amp": torch.cat((p, p.sum(-1, keepdim=True)), dim=-1),
            },
            batch_size=[self.num_envs],
        )

    def step(
        self, actions: torch.Tensor
    ) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict]:
        noise = torch.randn(actions.shape, generator=self.generator)
        self.points = self.points + 0.3 * actions + 0.05 * noise
        self.episode_length_buf = self.episode_length_buf + 1
        rewards = self.bonus - self.points.square().sum(-1)
        self.rewards.append(rewards)
        time_outs = self.episode_length_buf >= self.max_episode_length
        dones = (self.points.abs().amax(-1) > 1.5) | time_outs
        ends = self.get_observations()[dones]
        self.points[dones] = 0.0
        self.episode_length_buf[dones] = 0
        extras: dict = {"time_outs": time_outs}
        if self.keeps_ends and dones.any():
            extras["terminal_observations"] = ends
        return self.get_observations(), rewards, dones.long(), extras


def make_cfg(class_name: str, recurrent: bool = False, **algorithm: Any) -> dict:
    """A runner config as rsl_rl takes it."""
    model: dict[str, Any] = {
        "class_name": "MLPModel",
        "hidden_dims": [8],
        "obs_normalization": True,
    }
    gaussian = {"class_name": "GaussianDistribution", "init_std": 0.5}
    actor = {**model, "distribution_cfg": dict(gaussian)}
    if recurrent:
        actor |= {"class_name": "RNNModel", "rnn_type": "lstm", "rnn_hidden_dim": 5}
    return {
        "algorithm": {
            "class_name": class_name,
            "num_learning_epochs": 2,
            "num_mini_batches": 2,
            **algorithm,
        },
        "actor": actor,
        "critic": dict(model),
        "teacher": {**model, "distribution_cfg": dict(gaussian)},
        "obs_groups": {name: list(groups) for name, groups in GROUPS.items()},
        "num_steps_per_env": STEPS,
        "multi_gpu": None,
    }


def make_algorithm(
    cls: type, env: TinyEnv, recurrent: bool = False, seed: int = 1, **settings: Any
) -> Any:
    """The algorithm, built by the same call as rsl_rl's runner makes."""
    torch.manual_seed(seed)
    cfg = make_cfg(f"{cls.__module__}:{cls.__name__}", recurrent, **settings)
    algorithm = cls.construct_algorithm(env.get_observations(), env, cfg, "cpu")
    algorithm.train_mode()
    return algorithm


def roll_out(algorithm: Any, env: TinyEnv) -> TensorDict:
    """Fill the storage and compute returns; the observation at the end."""
    with torch.inference_mode():
        obs = env.get_observations()
        for _ in range(STEPS):
            obs, *rest = env.step(algorithm.act(obs))
            algorithm.process_env_step(obs, *rest)
        algorithm.compute_returns(obs)
    return obs


def run_iteration(algorithm: Any, env: TinyEnv) -> dict[str, float]:
    """One rollout and update, in the order of rsl_rl's runner."""
    roll_out(algorithm, env)
    return algorithm.update()


def all_parameters(algorithm: Any) -> dict[str, torch.Tensor]:
    """Copies of actor and critic, normalisers included."""
    state = {f"actor.{k}": v for k, v in algorithm.actor.state_dict().items()}
    state |= {f"critic.{k}": v for k, v in algorithm.critic.state_dict().items()}
    return {k: v.clone() for k, v in state.items()}


def assert_same(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> None:
    """Equal to the bit."""
    assert left.keys() == right.keys()
    for key, value in left.items():
        assert torch.equal(value, right[key]), key
