"""Fourier encoding of places on the map.

Tancik et al., "Fourier Features Let Networks Learn High Frequency Functions in Low
Dimensional Domains", arXiv 2006.10739. The SOLO paper gives 12 frequencies. Not stated,
and chosen here:

- x and y are divided by the same length, half the longer side of the window, so that
  equal distances have equal encodings along both axes; x is then in [-1, 1].
- The frequencies grow geometrically from half a period per unit to the highest that
  the cells can carry, half a period per cell. Twelve doublings would go 128 times
  beyond it, where neighbours no longer resemble each other.
- The coordinates themselves are features too.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from solo.networks.reconstruction.interface import ReconstructionIoCfg


class FourierEncoding(nn.Module):
    """Encodes places (x, y) in metres, heading frame."""

    def __init__(self, io: ReconstructionIoCfg, num_frequencies: int = 12) -> None:
        """Choose origin, unit and frequencies from the window and its cells."""
        super().__init__()
        window = io.height_map
        (x_low, x_high), (y_low, y_high) = window.x_range_m, window.y_range_m
        unit = max(x_high - x_low, y_high - y_low) / 2.0
        top = unit / (window.cell_m * io.map_stride)  # Half periods per unit.
        steps = torch.arange(num_frequencies) / max(num_frequencies - 1, 1)
        origin = torch.tensor([x_low + x_high, y_low + y_high]) / 2.0
        self.unit_m = unit
        self.dim = 2 + 4 * num_frequencies
        # They follow from the config, so checkpoints do not carry them.
        self.origin_m: torch.Tensor
        self.frequencies: torch.Tensor
        self.register_buffer("origin_m", origin, persistent=False)
        self.register_buffer("frequencies", math.pi * top**steps, persistent=False)

    def forward(self, xy_m: torch.Tensor) -> torch.Tensor:
        """Encode places.

        Args:
            xy_m: Places [..., 2], metres.

        Returns:
            [..., 2 + 4 K]: x and y, then sines of x and of y, cosines of x and of y at
            each of the K frequencies.
        """
        places = (xy_m - self.origin_m) / self.unit_m
        angles = (places.unsqueeze(-1) * self.frequencies).flatten(-2)  # [..., 2 K]
        return torch.cat([places, angles.sin(), angles.cos()], dim=-1)
