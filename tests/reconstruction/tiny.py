"""Recordings of a few small images, and a network that learns from them in no time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from solo.reconstruction.cfg import CollectCfg, FitCfg
from solo.reconstruction.data.recorder import ShardPlan, Step, collect

IMAGE = (32, 57)


class NoiseSampler:
    """Random images and maps; counts how many shards it was asked for."""

    name = "noise"

    def __init__(self, reset_at: int | None = None, fail_at: int | None = None) -> None:
        self.reset_at, self.fail_at = reset_at, fail_at
        self.shards = 0

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "robot": "g1"}

    def sample(self, plan: ShardPlan, num_steps: int) -> Iterator[Step]:
        if self.shards == self.fail_at:
            raise KeyboardInterrupt
        self.shards += 1
        generator = torch.Generator().manual_seed(sum(plan.seed) + plan.scene.seed)
        num = len(plan.columns)
        delay = torch.arange(num) % 4
        for k in range(num_steps):
            is_first = torch.full((num,), k in (0, self.reset_at))
            if k == self.reset_at:
                delay = (delay + 1) % 4
            velocity = torch.rand(num, 3, generator=generator)
            yield Step(
                depth_m=3.0 * torch.rand(num, *IMAGE, generator=generator),
                proprioception=torch.randn(num, 84, generator=generator),
                height=-velocity[:, :1, None].expand(num, 16, 32),
                velocity=velocity,
                is_first=is_first,
                delay=delay,
            )


def small_cfg(**changes: Any) -> CollectCfg:
    """Two shards of three robots and thirty steps."""
    values: dict[str, Any] = {
        "frames": 180,
        "robots": 3,
        "steps": 30,
        "terrain_seeds": (0, 1),
        "variants": ("flat", "stairs_up_25"),
        "num_levels": 2,
        "sets": 2,
        "repeats": 1,
    }
    return CollectCfg(**{**values, **changes})


def record(folder: Path, *splits: str, **changes: Any) -> Path:
    """Record splits of noise."""
    for split in splits:
        collect(small_cfg(split=split, **changes), NoiseSampler(), folder)
    return folder


class TinyReconstructor(nn.Module):
    """A linear map of the last frame of proprioception and the mean of each image."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.map = nn.Linear(84 + 4, 16 * 32)
        self.velocity = nn.Linear(84 + 4, 3)

    def forward(
        self,
        depth: torch.Tensor,
        proprioception: torch.Tensor,
        state: None = None,
        frame_of: torch.Tensor | None = None,
    ) -> tuple[dict[str, torch.Tensor], None]:
        depth = depth if frame_of is None else depth[frame_of]
        seen = torch.cat([proprioception[:, -1], depth.mean(dim=(2, 3))], dim=1)
        seen = self.drop(seen)
        height = self.map(seen).unflatten(1, (16, 32))
        return {"height": height, "velocity": self.velocity(seen)}, state


def tiny_model(cfg: FitCfg) -> nn.Module:
    """Stands in for the networks."""
    del cfg
    return TinyReconstructor()


def same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether two state dictionaries are equal bit by bit."""
    return all(np.array_equal(first[k], second[k]) for k in {*first, *second})
