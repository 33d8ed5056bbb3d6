"""Settings of the adversarial motion prior, and what it asks of reference motions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch


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
    """Extra factor on the style reward. Not in the paper; 1 = per step (see `amp`)."""
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
