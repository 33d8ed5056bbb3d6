"""START-style reconstructor: CNN on stacked frames, GRU, dense decoder, U-Net.

After the terrain reconstruction of Yu et al., "START: Traversing Sparse Footholds With
Terrain Reconstruction", arXiv 2512.13153, in the size of the SOLO paper's comparison
(0.62 M parameters). Layer sizes are stated in neither paper.

What differs from START: four frames instead of two, as in the SOLO paper's window; the
same residual blocks, normalisation of inputs and units of output as the Query
Reconstructor; no loss on the rough map, see `dense`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from solo.reconstruction.networks.dense import DenseCfg, DenseReconstructor, UNet
from solo.reconstruction.networks.depth_encoder import DepthEncoder
from solo.reconstruction.networks.evidence import CellEvidence, EvidenceCfg
from solo.reconstruction.networks.interface import make_frame_mlp


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
