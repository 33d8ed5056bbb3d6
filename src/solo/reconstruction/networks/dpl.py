"""DPL-style reconstructor: proprioception asks the depth tokens; GRU, decoder, U-Net.

After the reconstructor of Sun et al., "DPL: Depth-only Perceptive Humanoid Locomotion
via Realistic Depth Synthesis and Cross-Attention Terrain Reconstruction", arXiv
2510.07152, in the size of the SOLO paper's comparison (0.78 M parameters). Widths and
heads are stated in neither paper.

What differs from DPL: the windows are the SOLO paper's (4 images, 10 steps of
proprioception, instead of 5 and 50); each step of proprioception is a query of its own
and the GRU joins their answers; no loss on the rough map, see `dense`.

Depth enters the refinement twice: fine features of the newest image over the rough map,
coarse ones at the bottom of the U-Net. They are turned so that image and map agree: up
in the image is ahead, left is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from solo.reconstruction.networks.dense import (
    DenseCfg,
    DenseReconstructor,
    UNet,
    resize,
)
from solo.reconstruction.networks.depth_encoder import DepthEncoder
from solo.reconstruction.networks.interface import make_frame_mlp
from solo.reconstruction.networks.transformer import AttentionLayer


@dataclass(frozen=True, kw_only=True)
class DplCfg(DenseCfg):
    """Sizes of the DPL-style reconstructor."""

    channels: tuple[int, ...] = (16, 32, 64, 80)
    hidden_dim: int = 192
    dim: int = 96
    """Features of depth tokens and queries."""
    num_heads: int = 8
    """Attention heads."""
    ff_dim: int = 224
    """Width of the feed-forward network after the attention."""
    overlay_channels: int = 8
    """Channels of depth laid over the rough map."""


class DplReconstructor(DenseReconstructor):
    """DPL-style."""

    def __init__(self, cfg: DplCfg | None = None) -> None:
        """Create the network."""
        cfg = cfg or DplCfg()
        io, dim = cfg.io, cfg.dim
        super().__init__(cfg, dim)
        self.encoder = DepthEncoder(1, cfg.channels, cfg.strides)
        rows, columns = self.encoder.grid(io.depth_shape)
        self.token_projection = nn.Linear(self.encoder.output_channels, dim)
        self.token_norm = nn.LayerNorm(dim)
        tokens = (io.depth_frames, rows * columns, dim)
        self.token_embedding = nn.Parameter(0.5 * torch.randn(*tokens))
        self.proprioception_mlp = make_frame_mlp(
            io.proprioception_dim, cfg.proprioception_hidden_dim, dim
        )
        self.ask = AttentionLayer(dim, cfg.num_heads, cfg.ff_dim)
        self.evidence_norm = nn.LayerNorm(dim)
        self.overlay = nn.Conv2d(cfg.channels[1], cfg.overlay_channels, 1)
        self.unet = UNet(
            1 + cfg.overlay_channels, cfg.unet_channels, self.encoder.output_channels
        )

    def gather(
        self,
        depth: torch.Tensor,
        proprioception: torch.Tensor,
        frames: torch.Tensor,
        frame_of: torch.Tensor | None,
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """What each step of proprioception finds in the depth tokens."""
        if frame_of is None:
            frame_of = torch.arange(depth.shape[0] * depth.shape[1])
            frame_of = frame_of.view(depth.shape[:2]).to(depth.device)
            depth = depth.flatten(0, 1)
        pyramid = self.encoder.pyramid(depth.unsqueeze(1))
        tokens = self.token_projection(pyramid[-1].flatten(2).transpose(1, 2))
        tokens = self.token_norm(tokens)[frame_of]  # [B, T, N, D]
        tokens = (tokens + self.token_embedding).flatten(1, 2)
        queries = self.proprioception_mlp(self.normalizer(frames))
        answers = self.ask(queries, tokens)
        last = frame_of[:, -1]
        newest = [
            image_to_map(features[last]) for features in (pyramid[1], pyramid[-1])
        ]
        return self.evidence_norm(answers), tuple(newest)

    def refine(
        self, rough: torch.Tensor, context: tuple[torch.Tensor, ...]
    ) -> torch.Tensor:
        """Correction from the rough map and the newest image."""
        fine, coarse = context
        overlay = resize(self.overlay(fine), self.io.height_map.cells)
        return self.unet(torch.cat([rough, overlay], dim=1), coarse)


def image_to_map(features: torch.Tensor) -> torch.Tensor:
    """Turn features of an image as the map lies.

    Args:
        features: [B, C, h, w]; row 0 is far, column 0 is left.

    Returns:
        [B, C, w, h]; row 0 is right, column 0 is near, as ``m[iy, ix]``.
    """
    return features.transpose(2, 3).flip(2, 3)
