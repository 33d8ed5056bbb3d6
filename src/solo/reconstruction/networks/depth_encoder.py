"""Depth images to grids of features: a small residual network.

He et al., "Deep Residual Learning for Image Recognition", arXiv 1512.03385. The SOLO
paper says "lightweight ResNet" and no more. Chosen here:

- A stem of stride 2 and one residual block per further channel width. At stride 16 an
  image of 64 x 113 becomes 4 x 8 places.
- No normalisation layers. Statistics over an image would take away how far the ground
  is, which is what a height is made of; statistics over a batch would make a frame's
  tokens depend on the other frames, and streaming differ from batches. With three
  blocks whose second convolution starts small, none are needed.
- A second channel marks valid pixels; invalid ones are 0 in the first, which is the
  middle of the range; the padding around the image looks the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

DEPTH_CENTRE = 0.5
"""Normalised depth that becomes 0: the ground ahead of a standing G1 is around it."""
DEPTH_SPREAD = 0.2
"""Normalised depth that becomes 1, about the spread over an image."""


class DepthEncoder(nn.Module):
    """Encodes images of one or more stacked frames."""

    def __init__(
        self,
        frames: int = 1,
        channels: Sequence[int] = (16, 32, 64, 64),
        strides: Sequence[int] = (2, 2, 2, 2),
    ) -> None:
        """Create the network; channels and strides are of the stem, then of each block.

        Frames are stacked as channels.
        """
        super().__init__()
        if len(channels) != len(strides) or len(channels) < 2:
            raise ValueError(
                f"DepthEncoder has {len(channels)} channels and {len(strides)} "
                "strides; give both for the stem and at least one block."
            )
        self.strides = tuple(strides)
        self.output_channels = channels[-1]
        self.stem = init_conv(
            nn.Conv2d(2 * frames, channels[0], 5, stride=strides[0], padding=2)
        )
        blocks = zip(channels[:-1], channels[1:], strides[1:], strict=True)
        self.blocks = nn.ModuleList(ResidualBlock(*sizes) for sizes in blocks)

    def grid(self, shape: tuple[int, int]) -> tuple[int, int]:
        """Rows and columns of the features of an image of a shape."""
        rows, columns = shape
        for stride in self.strides:
            rows, columns = -(-rows // stride), -(-columns // stride)
        return rows, columns

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Features [B, C, h, w] of images [B, frames, H, W]."""
        return self.pyramid(images)[-1]

    def pyramid(self, images: torch.Tensor) -> list[torch.Tensor]:
        """Features after the stem and after each block, fine to coarse."""
        features = [torch.relu_(self.stem(depth_channels(images)))]
        for block in self.blocks:
            features.append(block(features[-1]))
        return features


class ResidualBlock(nn.Module):
    """Two convolutions beside a shortcut; ``relu(shortcut(x) + conv(relu(conv(x))))``.

    The first convolution and the shortcut carry the stride.
    """

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1)
        init_conv(self.first)
        init_conv(self.second)
        with torch.no_grad():
            self.second.weight.mul_(0.1)  # The block begins close to its shortcut.
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = init_conv(nn.Conv2d(inputs, outputs, 1, stride=stride))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Features [B, outputs, h / stride, w / stride]."""
        branch = self.second(torch.relu_(self.first(x)))
        return torch.relu_(self.shortcut(x) + branch)


def depth_channels(images: torch.Tensor) -> torch.Tensor:
    """Depth around zero, and where it is valid, [B, 2 T, H, W].

    First the depths of images [B, T, H, W], 0 where invalid; then 1 where valid.
    """
    valid = (images > 0.0).to(images.dtype)
    depth = (images - DEPTH_CENTRE) * (valid / DEPTH_SPREAD)
    # Channels last, which the convolutions keep: a quarter less time for forward and
    # backward on a CPU. The parameters stay contiguous.
    channels = torch.cat([depth, valid], dim=1)
    return channels.contiguous(memory_format=torch.channels_last)


def init_conv(conv: nn.Conv2d) -> nn.Conv2d:
    """Initialise a convolution for a ReLU behind it."""
    nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
    assert conv.bias is not None
    nn.init.zeros_(conv.bias)
    return conv
