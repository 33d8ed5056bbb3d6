"""The velocity of the base with an error, as a student with eyes will have it.

The perceptive student acts on an estimated velocity. A student that has only known the
true one loses its gait at the first estimates. And there is a trap: its actions tell
the true velocity, and are part of proprioception. A reconstructor that learns beside it
reads the velocity there, and is right only until the student acts on what the
reconstructor says. With an error, neither can rely on the other.
"""

from __future__ import annotations

import math

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.envs import mdp as mjlab_mdp
from mjlab.managers.observation_manager import ObservationTermCfg

KEEP = 0.9
"""Part of the error that is left after a control step: it stays alike for 0.2 s."""


class blurred_velocity:
    """Linear velocity of the base [B, 3], m/s, with an error that wanders."""

    def __init__(self, cfg: ObservationTermCfg, env: ManagerBasedRlEnv) -> None:
        del cfg
        self.error = torch.zeros(env.num_envs, 3, device=env.device)
        """[B, 3], m/s."""

    def __call__(self, env: ManagerBasedRlEnv, std: float) -> torch.Tensor:
        """The velocity of now; each call is one control step of the error.

        Args:
            env: The environment.
            std: Standard deviation of the error along each axis, m/s.
        """
        fresh = math.sqrt(1.0 - KEEP**2) * std * torch.randn_like(self.error)
        self.error = KEEP * self.error + fresh
        return mjlab_mdp.base_lin_vel(env) + self.error

    def peek(
        self, env: ManagerBasedRlEnv, env_ids: torch.Tensor, std: float
    ) -> torch.Tensor:
        """The velocity of some robots [n, 3]; the error stays as it is."""
        del std
        return (mjlab_mdp.base_lin_vel(env) + self.error)[env_ids]
