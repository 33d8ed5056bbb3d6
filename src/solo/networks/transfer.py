"""Stage 2 begins with the teacher's eyes: copy what fits of its map encoder."""

from __future__ import annotations

import torch

from solo.networks.ame_model import AmeModel


@torch.no_grad()
def copy_matching(student: AmeModel, teacher: AmeModel) -> list[str]:
    """Copy the shape-compatible encoder parameters of a teacher into a student.

    Action head, memory and action noise of the student stay as they are. The
    normaliser is copied where both models see the same quantities in the same order,
    because the query was learned on vectors normalised so; it takes the teacher's
    sample count along, which keeps it from moving away from under the query.

    Args:
        student: Receives the values, in place.
        teacher: Is read.

    Returns:
        Names of the student's parameters and buffers that now equal the teacher's.
    """
    pairs = _same_shape(student.encoder, teacher.encoder, "encoder")
    if student.foot_view is not None and teacher.foot_view is not None:
        pairs |= _same_shape(student.foot_view, teacher.foot_view, "foot_view")
    if _quantities(student) == _quantities(teacher):
        pairs |= _same_shape(
            student.obs_normalizer, teacher.obs_normalizer, "obs_normalizer"
        )
    for target, source in pairs.values():
        target.copy_(source)
    return list(pairs)


def _same_shape(
    target: torch.nn.Module, source: torch.nn.Module, prefix: str
) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """State entries of two modules that agree in name and shape."""
    values = source.state_dict()
    return {
        f"{prefix}.{name}": (value, values[name])
        for name, value in target.state_dict().items()
        if name in values and values[name].shape == value.shape
    }


def _quantities(model: AmeModel) -> list[tuple[str, int]]:
    """Vector groups and sizes; the teacher's groups are the clean twins of others."""
    return [
        (group.removeprefix("teacher_"), size)
        for group, size in model.group_dims.items()
    ]
