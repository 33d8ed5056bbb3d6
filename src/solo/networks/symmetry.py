"""Policies that are symmetric by construction: the mean of one and its mirror image.

With M the mirror at the robot's x-z plane,

    a_sym(s) = (a(s) + M a(M s)) / 2    so that    a_sym(M s) = M a_sym(s)

exactly, whatever a has learned. Both halves are rows of one batch, the state first and
its image after it; a memory keeps a state for each, side by side.

Not in the paper. A policy that is nearly symmetric still walks a curve: a teacher whose
actions were off by 0.05 rad from their images ended 1 m beside a straight line of 5 m.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn


class Mirror(nn.Module):
    """Doubles batches and folds outputs; has no weights, and nothing is saved of it."""

    def __init__(self, vector: Mapping[str, Any], actions: Mapping[str, Any]) -> None:
        """Take the maps of the vector groups, one after the other, and of the output.

        Each has ``source`` and ``signs``: image i is sign i times source i.
        """
        super().__init__()
        self.vector_source, self.vector_signs = self._keep("vector", vector)
        self.action_source, self.action_signs = self._keep("action", actions)
        self.plain = {"vector": _plain(vector), "actions": _plain(actions)}

    def _keep(
        self, name: str, signed: Mapping[str, Any]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        source, signs = torch.tensor(signed["source"]), torch.tensor(signed["signs"])
        self.register_buffer(f"{name}_source", source, persistent=False)
        self.register_buffer(f"{name}_signs", signs, persistent=False)
        return source, signs

    def both(
        self, vector: torch.Tensor, height_map: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Vectors [..., 2 B, D] and maps [..., 2 B, Y, X]: states, then images."""
        image = vector.index_select(-1, self.vector_source) * self.vector_signs
        maps = torch.cat([height_map, height_map.flip(-2)], dim=-3)
        return torch.cat([vector, image], dim=-2), maps

    def fold(self, output: torch.Tensor) -> torch.Tensor:
        """Outputs [..., B, A] from those of states and images [..., 2 B, A]."""
        own, image = output.chunk(2, dim=-2)
        mirrored = image.index_select(-1, self.action_source) * self.action_signs
        return 0.5 * (own + mirrored)


def split_state(state: torch.Tensor) -> torch.Tensor:
    """States of a memory as it wants them, [layers, 2 B, H], from [layers, B, 2 H]."""
    own, image = state.chunk(2, dim=-1)
    return torch.cat([own, image], dim=1)


def join_state(state: torch.Tensor) -> torch.Tensor:
    """The inverse of `split_state`: one row per robot, as rsl_rl wants them."""
    own, image = state.chunk(2, dim=1)
    return torch.cat([own, image], dim=-1)


def _plain(signed: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    return {"source": list(signed["source"]), "signs": list(signed["signs"])}
