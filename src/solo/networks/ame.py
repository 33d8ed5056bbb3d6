"""Attention-based Map Encoder (AME): proprioception attends to the height map.

A convolution that keeps the resolution describes the ground around each cell; the
cell's coordinates are joined to its features, which makes it a token; proprioception is
the one query that attends over the tokens. He et al., "Attention-Based Map Encoding for
Learning Generalized Legged Locomotion", arXiv 2506.09588, used by the SOLO paper as the
backbone of teacher and student.

The SOLO paper gives no sizes for the encoder; the defaults are those of AME (two
convolutions of kernel 5 with 16 and 61 channels, 64 features, 16 heads). Stated in
neither, and chosen here:

- ReLU after both convolutions; with ELU they take 10 to 30 % longer on a CPU.
- Heights get a fixed offset and unit instead of running statistics. Zero is then flat
  ground under a standing robot, also in the padding around the map; statistics per cell
  would tell the convolution that equal ground differs from cell to cell, and running
  ones would shift under the policy while the curriculum changes the terrain, and differ
  between teacher, student and the map a reconstructor delivers.
- ``map_stride`` keeps every n-th cell and drops the others. The mean of the cells would
  show a slope where a stone ends, at a height that is nowhere; a kept cell is true. A
  reconstructor then also has to deliver the kept cells alone.

Beyond the paper, and off by default: ``strided`` lets the first convolution see all
cells although the tokens are as few, ``window_m`` gives each head a place to look at
(`solo.networks.attention`), ``value_dim`` lets a head report more of what it sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from rsl_rl.utils import resolve_nn_activation
from torch import nn

from solo.networks.attention import OneQueryAttention, Windows
from solo.sensors.height_map import HeightMapCfg

COORDINATES = 3
"""Features of a token that are its x, y, z; the convolution makes the others."""


@dataclass(frozen=True)
class AmeCfg:
    """Sizes of the map encoder; the defaults are the paper's."""

    dim: int = 64
    """Features of a token and of the output."""
    num_heads: int = 16
    """Attention heads. AME's author reports that fewer do not work."""
    hidden_channels: int = 16
    """Channels between the two convolutions; the second has ``dim`` - 3."""
    kernel_size: int = 5
    """Edge of both kernels, cells; odd, so that the resolution is kept."""
    map_stride: int = 1
    """Use every n-th cell of the map along both axes."""
    strided: bool = False
    """Whether the first convolution sees all cells and steps over n of them.

    Its kernel is then of 2 n cells, and a token lies in the middle of n x n cells and
    carries their mean height. Tokens are symmetric about y = 0, every n-th cell is not.
    """
    value_dim: int | None = None
    """Features that a head reports; None: ``dim`` / ``num_heads``."""
    window_m: float | None = None
    """Standard deviation of each head's window on the map at the start, metres; None:
    no windows."""
    activation: str = "relu"
    """Activation after each convolution, a name known to rsl_rl."""
    base_height_m: float = 0.757
    """Height of the base over flat ground when the robot stands, metres (G1)."""
    unit_m: float = 0.25
    """Length that becomes 1.0 in the coordinates of a token, metres.

    About the spread of heights on the paper's terrain, so that steps and stones are of
    order 1; the same for x, y, z, so that slopes keep their angle.
    """
    height_limit_m: float = 1.6
    """Heights are clipped to this distance from flat ground, metres.

    Not stated in the paper. Of its hardest stairs the window holds six risers, 1.5 m;
    its deepest holes are 1 m, and below, nothing is a foothold.
    """

    def __post_init__(self) -> None:
        if self.kernel_size % 2 == 0:
            raise ValueError(
                f"AmeCfg.kernel_size is {self.kernel_size}; it must be odd to keep the "
                "resolution of the map."
            )
        if self.dim <= COORDINATES or self.dim % self.num_heads != 0:
            raise ValueError(
                f"AmeCfg.dim is {self.dim} with {self.num_heads} heads; it must be a "
                f"multiple of num_heads and larger than {COORDINATES}."
            )
        if self.strided and self.map_stride % 2 != 0:
            raise ValueError(
                f"AmeCfg.strided is set with map_stride {self.map_stride}; it needs an "
                "even one, so that tokens lie in the middle of their cells."
            )
        if self.window_m is not None and self.window_m <= 0.0:
            raise ValueError(
                f"AmeCfg.window_m is {self.window_m}; it must be positive, or None for "
                "no windows."
            )
        if min(self.map_stride, self.hidden_channels) < 1 or self.unit_m <= 0.0:
            raise ValueError(
                f"AmeCfg has map_stride {self.map_stride}, hidden_channels "
                f"{self.hidden_channels}, unit_m {self.unit_m}; all must be positive."
            )

    @staticmethod
    def of(cfg: AmeCfg | Mapping[str, Any] | None) -> AmeCfg:
        """Accept the plain dict that rsl_rl's configs are made of."""
        return cfg if isinstance(cfg, AmeCfg) else AmeCfg(**(cfg or {}))


class AmeEncoder(nn.Module):
    """Encodes a height map as seen by a query."""

    def __init__(self, cfg: AmeCfg, height_map: HeightMapCfg, query_dim: int) -> None:
        """Create the encoder; the window is for the coordinates of the map's cells."""
        super().__init__()
        self.map_stride = cfg.map_stride
        self.base_height_m = cfg.base_height_m
        self.unit_m = cfg.unit_m
        self.height_limit_m = cfg.height_limit_m
        self.strided = cfg.strided
        stride, padding = cfg.map_stride, cfg.kernel_size // 2
        self.convolution = nn.Sequential(
            nn.Conv2d(1, cfg.hidden_channels, 2 * stride, stride, stride // 2)
            if cfg.strided
            else nn.Conv2d(1, cfg.hidden_channels, cfg.kernel_size, padding=padding),
            _activation(cfg.activation),
            nn.Conv2d(
                cfg.hidden_channels,
                cfg.dim - COORDINATES,
                cfg.kernel_size,
                padding=padding,
            ),
            _activation(cfg.activation),
        )
        self.query = nn.Linear(query_dim, cfg.dim)
        self.attention = OneQueryAttention(cfg.dim, cfg.num_heads, cfg.value_dim)
        centres = np.moveaxis(height_map.centres_h(), -1, 0).astype(np.float32)
        xy = self._per_token(torch.from_numpy(centres)) / cfg.unit_m
        self.cells: tuple[int, int] = (xy.shape[1], xy.shape[2])
        # Follows from the config, so checkpoints do not carry it. [2, Y', X']
        self.cell_xy: torch.Tensor
        self.register_buffer("cell_xy", xy, persistent=False)
        self.windows: Windows | None = None
        if cfg.window_m is not None:
            self.windows = Windows(
                query_dim, cfg.num_heads, cfg.window_m, xy, cfg.unit_m
            )

    def tokens(self, height_map: torch.Tensor) -> torch.Tensor:
        """Describe each cell of a map [B, Y, X], terrain minus base height, metres.

        Tokens [B, D, Y', X'] are of the kept cells; their last three features are x, y
        and z in units of ``unit_m``.
        """
        if not self.strided:
            height_map = self._per_token(height_map)
        relief = (height_map + self.base_height_m).clamp(
            -self.height_limit_m, self.height_limit_m
        )
        # Joined behind and moved to the front, the channel has the strides of
        # channels-last, which the convolutions keep: a tenth to a fifth less time for
        # forward and backward on a CPU. The parameters must stay contiguous, because
        # rsl_rl flattens their gradients when it averages over processes.
        z = (relief / self.unit_m).unsqueeze(-1).permute(0, 3, 1, 2)  # [B, 1, Y, X]
        features = self.convolution(z)
        if self.strided:
            z = self._per_token(z)
        xy = self.cell_xy.expand(z.shape[0], -1, -1, -1)
        return torch.cat([features, xy, z], dim=1)

    def _per_token(self, cells: torch.Tensor) -> torch.Tensor:
        """One value for each token [..., Y', X'] from one for each cell [..., Y, X]."""
        if self.strided:
            return nn.functional.avg_pool2d(cells, self.map_stride)
        return cells[..., :: self.map_stride, :: self.map_stride]

    def forward(
        self, query: torch.Tensor, height_map: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Encode the map.

        Args:
            query: Normalised proprioception and what is joined to it [B, query_dim].
            height_map: Terrain height minus base height [B, Y, X], metres.

        Returns:
            Features [B, D], and the attention on each kept cell [B, heads, Y', X'],
            which sums to 1 over the cells.
        """
        tokens = self.tokens(height_map)
        looks: torch.Tensor | None = None
        if self.windows is not None:
            looks = self.windows(query)
        features, weights = self.attention(self.query(query), tokens.flatten(2), looks)
        return features, weights.unflatten(2, self.cells)


def _activation(name: str) -> nn.Module:
    """Activation that overwrites its input where it can, which saves memory traffic."""
    activation = resolve_nn_activation(name)
    if hasattr(activation, "inplace"):
        activation.inplace = True  # type: ignore[assignment] - Not in nn.Module.
    return activation
