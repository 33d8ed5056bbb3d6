"""A model that takes the map as a plain list of heights: the laptop's critic.

What differs from the paper, which gives the critic the same backbone as the actor: a
value is a smooth function of the terrain, so an MLP over the kept cells serves, at a
fifth of the cost of a map encoder. ``near_x_m`` keeps all cells where feet land, where
centimetres decide whether a sole is over a hole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from rsl_rl.models import MLPModel
from rsl_rl.modules import HiddenState
from tensordict import TensorDict

from solo.networks.ame import AmeCfg
from solo.networks.ame_model import split_map_group
from solo.sensors.height_map import HeightMapCfg


class FlatMapModel(MLPModel):
    """rsl_rl model: vector groups and the cells of one map [B, Y, X], then an MLP."""

    def __init__(
        self,
        obs: TensorDict,
        obs_groups: dict[str, list[str]],
        obs_set: str,
        output_dim: int,
        ame_cfg: AmeCfg | Mapping[str, Any] | None = None,
        height_map_cfg: HeightMapCfg | Mapping[str, Any] | None = None,
        near_x_m: Sequence[float] | None = None,
        **head: Any,
    ) -> None:
        """Create the model; arguments as in `AmeModel`, those of the head as rsl_rl's.

        Of ``ame_cfg`` the stride of the map and the scale of heights are used. All
        cells whose centres are between the distances ``near_x_m`` ahead of the base are
        kept; of the others every n-th, as elsewhere.
        """
        self.ame_cfg = AmeCfg.of(ame_cfg)
        kept = kept_cells(
            HeightMapCfg.of(height_map_cfg), self.ame_cfg.map_stride, near_x_m
        )
        self.num_cells = len(kept)
        super().__init__(obs, obs_groups, obs_set, output_dim, **head)
        self.kept: torch.Tensor
        self.register_buffer("kept", torch.from_numpy(kept), persistent=False)

    def get_latent(
        self,
        obs: TensorDict,
        masks: torch.Tensor | None = None,
        hidden_state: HiddenState = None,
    ) -> torch.Tensor:
        """Input of the head [..., vectors + kept cells]."""
        del masks, hidden_state  # Without memory.
        vector = torch.cat([obs[group] for group in self.obs_groups], dim=-1)
        cfg = self.ame_cfg
        kept = obs[self.map_group].flatten(-2).index_select(-1, self.kept)
        relief = (kept + cfg.base_height_m).clamp(
            -cfg.height_limit_m, cfg.height_limit_m
        )
        return torch.cat([self.obs_normalizer(vector), relief / cfg.unit_m], dim=-1)

    def _get_obs_dim(
        self, obs: TensorDict, obs_groups: dict[str, list[str]], obs_set: str
    ) -> tuple[list[str], int]:
        self.map_group, vectors = split_map_group(obs, obs_groups[obs_set], obs_set)
        return vectors, sum(int(obs[group].shape[1]) for group in vectors)

    def _get_latent_dim(self) -> int:
        """Size of the head's input."""
        return self.obs_dim + self.num_cells


def kept_cells(
    window: HeightMapCfg, stride: int, near_x_m: Sequence[float] | None
) -> np.ndarray:
    """Indices into the flat map [Y * X]: every n-th cell, and all that are near."""
    is_kept = np.zeros(window.cells, dtype=bool)
    is_kept[::stride, ::stride] = True
    if near_x_m is not None:
        x = window.centres_h()[..., 0]
        is_kept |= (x > near_x_m[0]) & (x < near_x_m[1])
    return np.flatnonzero(is_kept)
