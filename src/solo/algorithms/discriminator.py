"""The AMP discriminator: tells reference transitions from the policy's.

It scores a pair of successive AMP states (s, s'); least-squares targets are +1 for
reference motion and -1 for the policy. Peng et al., "AMP: Adversarial Motion Priors
for Stylized Physics-Based Character Control", 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from rsl_rl.modules import EmpiricalNormalization
from torch import nn

NORMALISED_LIMIT = 10.0
"""Normalised inputs are clipped here, so that one exploding state cannot decide."""


class Discriminator(nn.Module):
    """A score per transition, with the normalisation of its inputs inside.

    Both states of a pair pass the same normaliser: a state must look the same as s
    and as s'.
    """

    def __init__(self, state_dim: int, hidden_dims: Sequence[int]) -> None:
        super().__init__()
        if not hidden_dims:
            raise ValueError("The discriminator needs at least one hidden layer.")
        self.state_dim = state_dim
        self.normaliser = EmpiricalNormalization(state_dim, until=int(1e8))
        layers: list[nn.Module] = []
        width = 2 * state_dim
        for hidden in hidden_dims:
            layers += [nn.Linear(width, hidden), nn.ReLU()]
            width = hidden
        self.trunk = nn.Sequential(*layers)
        self.head = nn.Linear(width, 1)

    def normalise(self, pairs: torch.Tensor) -> torch.Tensor:
        """Normalise pairs [N, 2 D] by the statistics of single states."""
        states = pairs.reshape(-1, self.state_dim)
        limit = NORMALISED_LIMIT
        return self.normaliser(states).clamp(-limit, limit).reshape(pairs.shape)

    def update_normaliser(self, pairs: torch.Tensor) -> None:
        """Take pairs [N, 2 D] into the running statistics (in train mode only)."""
        self.normaliser.update(pairs.reshape(-1, self.state_dim))

    def score(self, normalised_pairs: torch.Tensor) -> torch.Tensor:
        """Score [N] of pairs [N, 2 D] that are normalised already."""
        return self.head(self.trunk(normalised_pairs)).squeeze(-1)

    def forward(self, pairs: torch.Tensor) -> torch.Tensor:
        """Score [N] of raw pairs [N, 2 D]."""
        return self.score(self.normalise(pairs))


def compute_style_reward(score: torch.Tensor) -> torch.Tensor:
    """Style reward in [0, 1]: 1 at the expert target +1, 0 at the policy target -1."""
    return (1.0 - 0.25 * (score - 1.0).square()).clamp(min=0.0)


@dataclass
class DiscriminatorLosses:
    """The parts of one discriminator step; `total` carries the gradient."""

    total: torch.Tensor
    least_squares: torch.Tensor
    """Mean of the two squared distances to the targets."""
    gradient_penalty: torch.Tensor
    """Mean squared norm of the input gradient at expert samples, unweighted."""
    expert_score: torch.Tensor
    policy_score: torch.Tensor
    accuracy: torch.Tensor
    """Share of samples whose score has the right sign."""


def compute_losses(
    discriminator: Discriminator,
    expert: torch.Tensor,
    policy: torch.Tensor,
    gradient_penalty: float,
) -> DiscriminatorLosses:
    """Least-squares GAN loss with a gradient penalty on the expert samples.

    The penalty is `gradient_penalty * mean ||d score / d x||^2` with x the normalised
    input: it keeps the score flat around the reference motion, so that a policy close
    to it still earns reward. Pairs [N, 2 D] are raw; the normaliser is not changed.
    """
    with torch.no_grad():
        expert = discriminator.normalise(expert)
        policy = discriminator.normalise(policy)
    expert.requires_grad_(True)
    expert_score = discriminator.score(expert)
    policy_score = discriminator.score(policy)
    least_squares = 0.5 * (
        (expert_score - 1.0).square().mean() + (policy_score + 1.0).square().mean()
    )
    (gradient,) = torch.autograd.grad(expert_score.sum(), expert, create_graph=True)
    penalty = gradient.square().sum(dim=-1).mean()
    right = torch.cat((expert_score > 0, policy_score < 0)).float()
    return DiscriminatorLosses(
        total=least_squares + gradient_penalty * penalty,
        least_squares=least_squares.detach(),
        gradient_penalty=penalty.detach(),
        expert_score=expert_score.detach().mean(),
        policy_score=policy_score.detach().mean(),
        accuracy=right.mean(),
    )


class ReplayBuffer:
    """Keeps the newest `capacity` rows of width D, in one preallocated tensor.

    Old policies stay in the buffer for a while, so the discriminator does not forget
    what they looked like (Peng et al. 2021, section 5.4).
    """

    def __init__(self, capacity: int, width: int, device: str = "cpu") -> None:
        if capacity < 1:
            raise ValueError(f"Replay capacity is {capacity}; it must be at least 1.")
        self._rows = torch.zeros(capacity, width, device=device)
        self._size = 0
        self._cursor = 0

    def __len__(self) -> int:
        return self._size

    @property
    def capacity(self) -> int:
        """The largest number of rows it holds."""
        return self._rows.shape[0]

    @property
    def rows(self) -> torch.Tensor:
        """The rows held now, [len, D]; a view, in no particular order."""
        return self._rows[: self._size]

    def insert(self, rows: torch.Tensor) -> None:
        """Add rows [N, D]; the oldest rows make room for them."""
        rows = rows[-self.capacity :]
        count = rows.shape[0]
        until_end = min(count, self.capacity - self._cursor)
        self._rows[self._cursor : self._cursor + until_end] = rows[:until_end]
        self._rows[: count - until_end] = rows[until_end:]
        self._cursor = (self._cursor + count) % self.capacity
        self._size = min(self._size + count, self.capacity)

    def sample(self, count: int, generator: torch.Generator) -> torch.Tensor:
        """Draw rows [count, D] uniformly, with replacement."""
        if self._size == 0:
            raise RuntimeError("The replay buffer is empty; insert transitions first.")
        ids = torch.randint(
            self._size, (count,), generator=generator, device=self._rows.device
        )
        return self._rows[ids]

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint needs: the rows held and where the next one goes."""
        return {"rows": self.rows.clone(), "cursor": self._cursor}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved state; the capacity must be the same once it is full."""
        rows, cursor = state["rows"], state["cursor"]
        size, width = rows.shape
        fits = size == self.capacity or (size < self.capacity and cursor == size)
        if not fits or width != self._rows.shape[1]:
            raise ValueError(
                f"The saved replay has {size} rows of width {width}; this buffer holds "
                f"{self.capacity} rows of width {self._rows.shape[1]}. Resume with the "
                "replay_capacity and motions the run was started with."
            )
        self._rows[:size] = rows
        self._size, self._cursor = size, cursor % self.capacity
