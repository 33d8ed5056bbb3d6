"""The auxiliary loss of TA-MSE, placed into rsl_rl's PPO update without copying it.

rsl_rl's `PPO.update` has one place where an extension adds a loss that is computed from
the mini-batch and the actor: its symmetry extension. `TeacherMatching` stands there and
has the same four members; a symmetry extension, if configured, is called from inside.
At that place the actor's distribution is already that of the mini-batch, with gradient,
so the loss costs no forward pass.

The teacher's actions travel as one more observation group of the rollout storage:
rsl_rl then shuffles, splits and pads them exactly as the observations they belong to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from rsl_rl.extensions import Symmetry
from rsl_rl.models import MLPModel
from rsl_rl.storage import RolloutStorage
from rsl_rl.utils import unpad_trajectories

TEACHER_ACTION = "teacher_action"
"""Name of the group with the teacher's mean actions [B, joints] in the storage."""


DISTANCES = ("radians", "raw", "mean")
"""Readings of the distance between two actions; see `make_joint_weights`."""


def make_joint_weights(
    distance: str, action_scale: Sequence[float] | None, num_joints: int
) -> torch.Tensor:
    """Factors [joints] on the difference of two actions, before it is squared.

    The paper's equations have the squared norm of the difference, and its actions are
    joint offsets. The readings in `DISTANCES`:

    - ``radians``, the default: the distance between joint offsets. An action times the
      scale of its joint, radians per unit of action, is the offset.
    - ``raw``: between the network's outputs. On the G1, 3 to 8 times as large,
      depending on the joint.
    - ``mean``: raw, as a mean over joints, as the name MSE says.
    """
    if distance not in DISTANCES:
        raise ValueError(
            f"The distance is {distance!r}; allowed are {', '.join(DISTANCES)}."
        )
    if distance != "radians":
        weight = 1.0 if distance == "raw" else num_joints**-0.5
        return torch.full((num_joints,), weight)
    if action_scale is None or len(action_scale) != num_joints:
        found = "none" if action_scale is None else len(action_scale)
        raise ValueError(
            f"A distance in radians needs the action scale of {num_joints} joints, "
            f"found {found}. Give action_scale, or distance='raw'."
        )
    return torch.tensor(action_scale, dtype=torch.float32)


def compute_disagreement(
    student: torch.Tensor, teacher: torch.Tensor, joint_weights: torch.Tensor
) -> torch.Tensor:
    """Squared distance [...] of two mean actions [..., joints]."""
    return (joint_weights * (student - teacher)).square().sum(dim=-1)


class TeacherMatching:
    """Adds `weight * E[disagreement]` to PPO's loss; only measures it at weight 0."""

    mirror_loss_coeff = 1.0
    """Weights are applied here already: there may be two losses."""

    def __init__(
        self,
        weight: float,
        joint_weights: torch.Tensor,
        symmetry: Symmetry | None = None,
    ) -> None:
        """Wrap rsl_rl's extension, if any; the weight is the paper's lambda."""
        self.weight = weight
        self.joint_weights = joint_weights
        self.symmetry = symmetry
        self.use_mirror_loss = weight > 0.0 or (
            symmetry is not None and symmetry.use_mirror_loss
        )
        self._totals: dict[str, float] = {}
        self._count = 0

    def augment_batch(
        self, batch: RolloutStorage.Batch, original_batch_size: int
    ) -> None:
        """Take the teacher's actions out of the observations, then mirror the rest."""
        assert batch.observations is not None
        teacher = cast(torch.Tensor, batch.observations.pop(TEACHER_ACTION))
        if batch.masks is not None:
            # Padded trajectories back to [T, B, joints], as the actor's output.
            teacher = cast(torch.Tensor, unpad_trajectories(teacher, batch.masks))
        batch.privileged_actions = teacher
        if self.symmetry is not None:
            self.symmetry.augment_batch(batch, original_batch_size)

    def compute_loss(
        self, actor: MLPModel, batch: RolloutStorage.Batch, original_batch_size: int
    ) -> torch.Tensor:
        """The weighted sum of all auxiliary losses, on the samples as visited."""
        assert batch.privileged_actions is not None
        student = actor.output_mean[:original_batch_size]
        if self.weight == 0.0:
            student = student.detach()
        matching = compute_disagreement(
            student, batch.privileged_actions, self.joint_weights
        ).mean()
        total = self.weight * matching
        self._count += 1
        self._add("teacher_mse", matching)
        if self.symmetry is not None:
            mirror = self.symmetry.compute_loss(actor, batch, original_batch_size)
            self._add("symmetry", mirror)
            if self.symmetry.use_mirror_loss:
                total = total + self.symmetry.mirror_loss_coeff * mirror
        return total

    def _add(self, name: str, loss: torch.Tensor) -> None:
        self._totals[name] = self._totals.get(name, 0.0) + loss.item()

    def pop_means(self) -> dict[str, float]:
        """Mean of each loss, unweighted, since the last call."""
        means = {name: total / self._count for name, total in self._totals.items()}
        self._totals, self._count = {}, 0
        return means
