"""U-Net that sharpens a rough map.

Ronneberger et al., "U-Net", arXiv 1505.04597, at the size of a height map. It gives a
correction, small at first, which the caller adds to the rough map.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn
from torch.nn.functional import interpolate


class UNet(nn.Module):
    """Halves the resolution level by level and comes back with shortcuts."""

    def __init__(
        self,
        inputs: int = 1,
        channels: Sequence[int] = (16, 32, 64),
        bottleneck_inputs: int = 0,
    ) -> None:
        """Create the network.

        Args:
            inputs: Channels of the map and what is laid over it.
            channels: Channels per level, fine to coarse.
            bottleneck_inputs: Channels joined at the coarsest level.
        """
        super().__init__()
        self.enter = _conv_pair(inputs, channels[0], 1)
        pairs = list(pairwise(channels))
        self.down = nn.ModuleList(_conv_pair(fine, coarse, 2) for fine, coarse in pairs)
        self.join = None
        if bottleneck_inputs > 0:
            self.join = _conv(channels[-1] + bottleneck_inputs, channels[-1], 1)
        self.up = nn.ModuleList(_conv(coarse, fine, 1) for fine, coarse in pairs)
        self.merge = nn.ModuleList(_conv(2 * fine, fine, 1) for fine, _ in pairs)
        self.leave = nn.Conv2d(channels[0], 1, 1)
        nn.init.normal_(self.leave.weight, std=0.01)
        assert self.leave.bias is not None
        nn.init.zeros_(self.leave.bias)

    def forward(
        self, maps: torch.Tensor, bottleneck: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Correction of a map.

        Args:
            maps: Map and what is laid over it [B, inputs, Y, X].
            bottleneck: Features [B, bottleneck_inputs, y, x] to join at the coarsest
                level, resized to it.

        Returns:
            [B, 1, Y, X].
        """
        features = [torch.relu_(self.enter(maps))]
        for down in self.down:
            features.append(torch.relu_(down(features[-1])))
        x = features.pop()
        if self.join is not None and bottleneck is not None:
            joined = torch.cat([x, resize(bottleneck, x.shape[-2:])], dim=1)
            x = x + torch.relu_(self.join(joined))
        for up, merge in zip(reversed(self.up), reversed(self.merge), strict=True):
            fine = features.pop()
            raised = torch.relu_(up(interpolate(x, size=fine.shape[-2:])))
            x = fine + torch.relu_(merge(torch.cat([raised, fine], dim=1)))
        return self.leave(x)


def resize(images: torch.Tensor, size: Sequence[int]) -> torch.Tensor:
    """Bilinear resampling of [B, C, y, x] to another size."""
    return interpolate(images, size=tuple(size), mode="bilinear", align_corners=False)


def _conv(inputs: int, outputs: int, stride: int) -> nn.Conv2d:
    conv = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1)
    nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
    assert conv.bias is not None
    nn.init.zeros_(conv.bias)
    return conv


def _conv_pair(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    first, second = _conv(inputs, outputs, stride), _conv(outputs, outputs, 1)
    return nn.Sequential(first, nn.ReLU(inplace=True), second)
