"""Adversarial motion prior as an extension of PPO, in the manner of rsl_rl's RND.

It owns the discriminator, its optimiser, the replay of policy transitions and the
mix of task and style reward (paper, app. "Adversarial Motion Prior"):

    r = eta * r_task + (1 - eta) * c_amp * style_scale * r_style

Scale, in numbers. mjlab (as Isaac Lab) multiplies task rewards by the control step of
0.02 s, so perfect tracking earns (3 + 5) * 0.02 = 0.16 per step, 0.112 after eta. The
style reward comes from here and is *not* multiplied by the step, as in the codes of
the AMP_for_hardware lineage: at most 0.3 * 0.3 = 0.09 per step, 0.8 of the tracking
reward. Multiplied by 0.02 it would be 0.0018, 2 % of it: numerically irrelevant.
Both parts are logged per step; compare them before changing anything.

mjlab resets within the step, so the state after `done` belongs to the next episode.
Such pairs get no style reward (0, as the worst transition: one step per episode) and
never reach the discriminator.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
import torch.distributed

from solo.algorithms.discriminator import (
    Discriminator,
    ReplayBuffer,
    compute_losses,
    compute_style_reward,
)

_log = logging.getLogger(__name__)


class ReferenceMotions(Protocol):
    """Where reference transitions come from (see `solo.motions.library`)."""

    def sample_transitions(
        self, n: int, /, generator: torch.Generator
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw n pairs of successive AMP states, each [n, D]."""
        ...


@dataclass(frozen=True)
class AmpCfg:
    """Settings of the motion prior; the paper's where it states them."""

    task_weight: float = 0.7
    """The paper's eta: share of the task reward."""
    style_weight: float = 0.3
    """The paper's c_amp: weight of the style reward within its share."""
    style_scale: float = 1.0
    """Extra factor on the style reward. Not in the paper; 1 = per step (see above)."""
    hidden_dims: Sequence[int] = (1024, 512)
    """Hidden layers of the discriminator."""
    gradient_penalty: float = 10.0
    """Not stated in the paper; the value of nearly all open AMP codes."""
    learning_rate: float = 1e-4
    """Of the discriminator's own optimiser. Not stated in the paper."""
    trunk_weight_decay: float = 1e-3
    """Not stated in the paper; from AMP_for_hardware, as the head's."""
    head_weight_decay: float = 1e-1
    """Keeps the scores from saturating."""
    replay_capacity: int = 100_000
    """Policy transitions kept. Not stated in the paper; the common size."""
    updates_per_iteration: int | None = None
    """Discriminator steps per iteration; None: as many as PPO's own."""
    batch_size: int | None = None
    """Transitions of each kind per step; None: PPO's mini-batch size."""
    observation_group: str = "amp"
    """Observation group with the AMP state [B, D]."""
    saturated_score: float = 0.9
    """Both scores beyond this, on the right sides, count as saturated."""
    saturation_patience: int = 50
    """Iterations in a row before a warning; as many before the next."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.task_weight <= 1.0:
            raise ValueError(f"AMP task_weight is {self.task_weight}; allowed: 0 to 1.")
        for name in ("replay_capacity", "updates_per_iteration", "batch_size"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"AMP {name} is {value}; it must be at least 1.")


class MotionPrior:
    """Style reward from a discriminator that learns along with the policy.

    Its random draws come from a generator of its own, seeded with torch's seed and
    the rank, so that AMP leaves the random numbers of everything else alone.
    """

    def __init__(
        self,
        cfg: AmpCfg,
        motions: ReferenceMotions,
        state_dim: int,
        batch_size: int,
        num_updates: int,
        device: str = "cpu",
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        """Build the prior for AMP states of width `state_dim`.

        Transitions per step and steps per iteration hold where the settings do not say.
        """
        self.cfg = cfg
        self.motions = motions
        self.device = device
        self.batch_size = cfg.batch_size or batch_size
        self.num_updates = cfg.updates_per_iteration or num_updates
        self._rank, self._world_size = rank, world_size
        self.generator = torch.Generator(device=device)
        self.generator.manual_seed((torch.initial_seed() + rank) % 2**63)
        self.discriminator = Discriminator(state_dim, cfg.hidden_dims).to(device)
        self.optimizer = torch.optim.Adam(
            [
                {
                    "params": self.discriminator.trunk.parameters(),
                    "weight_decay": cfg.trunk_weight_decay,
                },
                {
                    "params": self.discriminator.head.parameters(),
                    "weight_decay": cfg.head_weight_decay,
                },
            ],
            lr=cfg.learning_rate,
        )
        self.replay = ReplayBuffer(cfg.replay_capacity, 2 * state_dim, device)
        # Running sums of the rollout: steps, eta * task, style part; pairs, raw style.
        self._sums = torch.zeros(5, device=device)
        self._saturated_iterations = 0
        self._check_motions(state_dim)

    def _check_motions(self, state_dim: int) -> None:
        probe = torch.Generator(device=self.device).manual_seed(0)
        for states in self.motions.sample_transitions(2, probe):
            if states.shape != (2, state_dim):
                raise ValueError(
                    f"Reference motions gave AMP states of shape {tuple(states.shape)} "
                    f"for 2 samples; the environment's observation group "
                    f"{self.cfg.observation_group!r} needs (2, {state_dim}). Use the "
                    "motion library of the same robot."
                )

    def mix_reward(
        self,
        state: torch.Tensor,
        next_state: torch.Tensor,
        task_reward: torch.Tensor,
        dones: torch.Tensor,
    ) -> torch.Tensor:
        """Record one step of all environments and return the reward PPO gets, [B].

        AMP states are those before and after the step [B, D]; where `dones`, the latter
        are of the next episode.
        """
        cfg = self.cfg
        pairs = torch.cat((state, next_state), dim=-1)
        within = dones == 0
        with torch.no_grad():
            style = compute_style_reward(self.discriminator(pairs)) * within
        self.replay.insert(pairs[within])
        task_part = cfg.task_weight * task_reward
        style_part = (
            (1.0 - cfg.task_weight) * cfg.style_weight * cfg.style_scale * style
        )
        count = torch.full_like(style[0], style.numel())
        self._sums += torch.stack(
            (count, task_part.sum(), style_part.sum(), within.sum(), style.sum())
        )
        return task_part + style_part

    def update(self) -> dict[str, float]:
        """Train the discriminator on replay and reference; return means for the log."""
        names = ("discriminator", "gradient_penalty", "expert_score", "policy_score")
        names = (*names, "accuracy")
        totals = torch.zeros(len(names), device=self.device)
        steps = self.num_updates if len(self.replay) else 0
        for _ in range(steps):
            expert = torch.cat(
                self.motions.sample_transitions(self.batch_size, self.generator), dim=-1
            ).to(self.device)
            policy = self.replay.sample(self.batch_size, self.generator)
            self.discriminator.update_normaliser(
                self._gather(torch.cat((expert, policy)))
            )
            losses = compute_losses(
                self.discriminator, expert, policy, self.cfg.gradient_penalty
            )
            self.optimizer.zero_grad()
            losses.total.backward()
            self._average_gradients()
            self.optimizer.step()
            totals += torch.stack(
                (
                    losses.least_squares,
                    losses.gradient_penalty,
                    losses.expert_score,
                    losses.policy_score,
                    losses.accuracy,
                )
            )
        means = (totals / max(steps, 1)).tolist()
        report = {f"amp_{name}": mean for name, mean in zip(names, means, strict=True)}
        self._watch_saturation(report["amp_expert_score"], report["amp_policy_score"])
        num_steps, task, style, num_pairs, raw = self._sums.tolist()
        self._sums.zero_()
        report["amp_task_part"] = task / max(num_steps, 1.0)
        report["amp_style_part"] = style / max(num_steps, 1.0)
        report["amp_style_reward"] = raw / max(num_pairs, 1.0)
        return report

    def _watch_saturation(self, expert: float, policy: float) -> None:
        limit = self.cfg.saturated_score
        saturated = expert > limit and policy < -limit
        self._saturated_iterations = self._saturated_iterations + 1 if saturated else 0
        if self._saturated_iterations >= self.cfg.saturation_patience:
            self._saturated_iterations = 0
            _log.warning(
                "The AMP discriminator has been saturated for %d iterations (score "
                "%.2f on reference motion, %.2f on the policy; a style reward near 0 "
                "teaches nothing). Raise gradient_penalty, lower learning_rate or "
                "updates_per_iteration, or check that motions and robot agree.",
                self.cfg.saturation_patience,
                expert,
                policy,
            )

    def _gather(self, pairs: torch.Tensor) -> torch.Tensor:
        """The samples of all processes, so that their normalisers stay equal."""
        if self._world_size == 1:
            return pairs
        parts = [torch.empty_like(pairs) for _ in range(self._world_size)]
        torch.distributed.all_gather(parts, pairs.contiguous())
        return torch.cat(parts)

    def _average_gradients(self) -> None:
        if self._world_size == 1:
            return
        for parameter in self.discriminator.parameters():
            if parameter.grad is not None:
                torch.distributed.all_reduce(parameter.grad)
                parameter.grad /= self._world_size

    def broadcast(self) -> None:
        """Give every process the discriminator of the first one."""
        for tensor in self.discriminator.state_dict().values():
            torch.distributed.broadcast(tensor, src=0)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to resume exactly."""
        return {
            "discriminator": self.discriminator.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "replay": self.replay.state_dict(),
            "generator": self.generator.get_state(),
            "saturated_iterations": self._saturated_iterations,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved state; only the first process takes its random state."""
        self.discriminator.load_state_dict(state["discriminator"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.replay.load_state_dict(state["replay"])
        self._saturated_iterations = state["saturated_iterations"]
        if self._rank == 0:
            self.generator.set_state(state["generator"].cpu())
