"""The reconstructors that the paper compares its own with: START-style and DPL-style.

Both are in the size of the SOLO paper's comparison and have no loss on the rough map,
see `dense`. Layer sizes are stated in none of the papers.

**START-style** (0.62 M parameters): a CNN on stacked frames, GRU, dense decoder, U-Net.
After the terrain reconstruction of Yu et al., "START: Traversing Sparse Footholds With
Terrain Reconstruction", arXiv 2512.13153. What differs: four frames instead of two, as
in the SOLO paper's window; the same residual blocks, normalisation of inputs and units
of output as the Query Reconstructor.

**DPL-style** (0.78 M parameters): proprioception asks the depth tokens; GRU, decoder,
U-Net. After the reconstructor of Sun et al., "DPL: Depth-only Perceptive Humanoid
Locomotion via Realistic Depth Synthesis and Cross-Attention Terrain Reconstruction",
arXiv 2510.07152. What differs: the windows are the SOLO paper's (4 images, 10 steps of
proprioception, instead of 5 and 50); each step of proprioception is a query of its own
and the GRU joins their answers. Depth enters the refinement twice: fine features of the
newest image over the rough map, coarse ones at the bottom of the U-Net. They are turned
so that image and map agree: up in the image is ahead, left is left.
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
from solo.reconstruction.networks.evidence import CellEvidence, EvidenceCfg
from solo.reconstruction.networks.interface import make_frame_mlp
from solo.reconstruction.networks.transformer import AttentionLayer


@dataclass(frozen=True, kw_only=True)
class StartCfg(DenseCfg):
    """Sizes of the START-style reconstructor."""

    channels: tuple[int, ...] = (32, 32, 64, 64)
    hidden_dim: int = 152
    squeeze_channels: int = 16
    """Channels to which the coarsest features are reduced before they are flattened.

    Flattened and not averaged: where something is seen is what a map is about.
    """
    depth_dim: int = 128
    """Features of depth that the memory reads."""
    proprioception_dim: int = 64
    """Features of proprioception that the memory reads."""
    evidence: EvidenceCfg | None = None
    """Lay over the rough map what was measured there (variant ``start_evidence``)."""


class StartReconstructor(DenseReconstructor):
    """START-style."""

    def __init__(self, cfg: StartCfg | None = None) -> None:
        """Create the network."""
        cfg = cfg or StartCfg()
        super().__init__(cfg, cfg.depth_dim + cfg.proprioception_dim)
        io = cfg.io
        self.encoder = DepthEncoder(io.depth_frames, cfg.channels, cfg.strides)
        rows, columns = self.encoder.grid(io.depth_shape)
        self.depth_head = nn.Sequential(
            nn.Conv2d(self.encoder.output_channels, cfg.squeeze_channels, 1),
            nn.ReLU(inplace=True),
            nn.Flatten(),
            nn.Linear(cfg.squeeze_channels * rows * columns, cfg.depth_dim),
            nn.ReLU(inplace=True),
        )
        self.proprioception_mlp = make_frame_mlp(
            io.proprioception_dim, cfg.proprioception_hidden_dim, cfg.proprioception_dim
        )
        self.evidence = None
        if cfg.evidence is not None:
            self.evidence = CellEvidence(cfg.evidence, io)
        inputs = 1 if self.evidence is None else 1 + self.evidence.channels
        self.unet = UNet(inputs, cfg.unet_channels)

    def gather(
        self,
        depth: torch.Tensor,
        proprioception: torch.Tensor,
        frames: torch.Tensor,
        frame_of: torch.Tensor | None,
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """Each step of proprioception beside what the stacked images show."""
        if frame_of is not None:
            depth = depth[frame_of]
        seen = self.depth_head(self.encoder(depth))  # [B, depth_dim]
        felt = self.proprioception_mlp(self.normalizer(frames))  # [B, steps, features]
        seen = seen.unsqueeze(1).expand(-1, felt.shape[1], -1)
        read = torch.cat([seen, felt], dim=-1)
        if self.evidence is None:
            return read, ()
        measured = self.evidence(depth[:, -1], proprioception).transpose(1, 2)
        return read, (measured.unflatten(2, self.io.height_map.cells),)

    def refine(
        self, rough: torch.Tensor, context: tuple[torch.Tensor, ...]
    ) -> torch.Tensor:
        """Correction from the rough map, and what was measured over it if known."""
        return self.unet(torch.cat([rough, *context], dim=1))


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
    """Turn features [B, C, h, w] of an image as the map lies, [B, C, w, h].

    Row 0 of the image is far, column 0 left; row 0 of the map is right, column 0 near.
    """
    return features.transpose(2, 3).flip(2, 3)
