"""How much a policy explores that goes on from another one."""

from __future__ import annotations

import torch
from rsl_rl.models import MLPModel

from solo.errors import SoloError

NOISE = "distribution.std_param"
"""Name of the deviations of the actions [joints] in an actor's parameters."""


@torch.no_grad()
def set_action_noise(actor: MLPModel, mean_std: float) -> None:
    """Scale the deviations of all actions to a mean, keeping their proportions.

    Learning lowers them by itself, but at a laptop's number of iterations it hardly
    begins to, and robots that stagger learn to avoid stairs.

    Raises:
        SoloError: The mean is not positive.
    """
    if mean_std <= 0.0:
        raise SoloError(
            f"--action-noise is {mean_std:g}; it must be above 0. Typical: 0.2 to 1."
        )
    std = dict(actor.named_parameters())[NOISE]
    std.mul_(mean_std / std.mean())
