"""rsl_rl's symmetry extension without a pass through the actor that is only logged.

rsl_rl measures how far the actor is from being symmetric by running it once more on the
augmented mini-batch, with gradient, even where nothing is learned from it. At that
place the actor's output for the very same mini-batch is still there.
"""

from __future__ import annotations

import torch
from rsl_rl.extensions import Symmetry
from rsl_rl.models import MLPModel
from rsl_rl.storage import RolloutStorage
from torch.nn.functional import mse_loss
from typing_extensions import override


class LeanSymmetry(Symmetry):
    """Mirror augmentation, and mirror loss where it is asked for."""

    @override
    def compute_loss(
        self, actor: MLPModel, batch: RolloutStorage.Batch, original_batch_size: int
    ) -> torch.Tensor:
        """Squared distance of the mirrored states' actions to the mirrored actions."""
        if self.use_mirror_loss or not self.use_data_augmentation:
            return super().compute_loss(actor, batch, original_batch_size)
        mean = actor.output_mean.detach()
        _, mirrored = self.data_augmentation_func(
            env=self.env, obs=None, actions=mean[:original_batch_size]
        )
        return mse_loss(mean[original_batch_size:], mirrored[original_batch_size:])
