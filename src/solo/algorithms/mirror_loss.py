"""rsl_rl's symmetry extension at less than half of its cost.

rsl_rl appends the mirror image of every sample, and then runs the actor once more on
the augmented mini-batch, with gradient, only to log how symmetric it is. Here every
second sample gets an image, and the log uses the output that the actor has just
computed for the same mini-batch.
"""

from __future__ import annotations

from typing import Any

import torch
from rsl_rl.extensions import Symmetry
from rsl_rl.models import MLPModel
from rsl_rl.storage import RolloutStorage
from torch.nn.functional import mse_loss
from typing_extensions import override


class LeanSymmetry(Symmetry):
    """Mirror images for half of a mini-batch; mirror loss where it is asked for."""

    @override
    def augment_batch(
        self, batch: RolloutStorage.Batch, original_batch_size: int
    ) -> None:
        """Append the images of the first half: mini-batches are shuffled already."""
        if self.use_mirror_loss or not self.use_data_augmentation:
            super().augment_batch(batch, original_batch_size)
            return
        half = original_batch_size // 2
        observations, actions = batch.observations, batch.actions
        assert observations is not None
        assert actions is not None
        both, both_actions = self.data_augmentation_func(
            env=self.env, obs=observations[:half], actions=actions[:half]
        )
        images: Any = torch.cat((observations, both[half:]))  # Of a TensorDict.
        batch.observations = images
        batch.actions = torch.cat((actions, both_actions[half:]))
        for name in ("old_actions_log_prob", "values", "advantages", "returns"):
            values = getattr(batch, name)
            setattr(batch, name, torch.cat((values, values[:half])))

    @override
    def compute_loss(
        self, actor: MLPModel, batch: RolloutStorage.Batch, original_batch_size: int
    ) -> torch.Tensor:
        """Squared distance of the mirrored states' actions to the mirrored actions."""
        if self.use_mirror_loss or not self.use_data_augmentation:
            return super().compute_loss(actor, batch, original_batch_size)
        half = original_batch_size // 2
        mean = actor.output_mean.detach()
        _, mirrored = self.data_augmentation_func(
            env=self.env, obs=None, actions=mean[:half]
        )
        return mse_loss(mean[original_batch_size:], mirrored[half:])
