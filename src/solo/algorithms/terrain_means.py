"""Means over the environments of each terrain, for the log."""

from __future__ import annotations

from typing import Any, Protocol

import torch


class Terrain(Protocol):
    """What is read of an environment's terrain."""

    terrain_types: torch.Tensor
    """Column of each environment [B]."""
    variant_names: tuple[str, ...]
    """Name of each column."""


def terrain_of(env: Any) -> Terrain | None:
    """The terrain of an environment of ours; None if there is none."""
    scene = getattr(getattr(env, "unwrapped", None), "scene", None)
    terrain = getattr(scene, "terrain", None)
    return terrain if hasattr(terrain, "variant_names") else None


def mean_per_terrain(values: torch.Tensor, terrain: Terrain | None) -> dict[str, float]:
    """Mean of values [..., B] over the environments of each terrain, by its name."""
    if terrain is None:
        return {}
    columns = terrain.terrain_types.to(values.device)
    means = values.reshape(-1, values.shape[-1]).mean(dim=0)
    num = len(terrain.variant_names)
    sums = means.new_zeros(num).index_add_(0, columns, means)
    counts = torch.bincount(columns, minlength=num)
    return {
        name: total / count
        for name, total, count in zip(
            terrain.variant_names, sums.tolist(), counts.tolist(), strict=True
        )
        if count
    }
