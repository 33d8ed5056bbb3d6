"""Tiny reconstructors and random windows."""

from __future__ import annotations

from typing import Any

import torch

from solo.reconstruction.networks import make_reconstructor
from solo.reconstruction.networks.evidence import EvidenceCfg
from solo.reconstruction.networks.interface import ReconstructionIoCfg
from solo.sensors.height_map import HeightMapCfg

NAMES = [
    "qr", "qr_evidence", "start", "start_evidence", "start_memory", "dpl", "dpl_memory",
]  # fmt: skip
IO = ReconstructionIoCfg(
    depth_shape=(16, 25),
    depth_frames=3,
    depth_stride=2,
    proprioception_dim=7,
    proprioception_frames=4,
    height_map=HeightMapCfg(
        cells=(4, 8), cell_m=0.2, x_range_m=(-0.3, 1.3), y_range_m=(-0.4, 0.4)
    ),
)
SIZES: dict[str, dict[str, Any]] = {
    "qr": {
        "dim": 16,
        "num_heads": 2,
        "encoder_layers": 2,
        "encoder_ff_dim": 32,
        "decoder_ff_dim": 32,
        "channels": (8, 12, 16),
        "strides": (2, 2, 2),
    },
    "start": {
        "channels": (8, 12, 16),
        "strides": (2, 2, 2),
        "squeeze_channels": 4,
        "depth_dim": 24,
        "proprioception_dim": 16,
        "hidden_dim": 32,
        "decoder_dim": 32,
        "unet_channels": (8, 12),
    },
    "dpl": {
        "channels": (8, 12, 16),
        "strides": (2, 2, 2),
        "dim": 16,
        "num_heads": 2,
        "ff_dim": 32,
        "hidden_dim": 32,
        "decoder_dim": 32,
        "unet_channels": (8, 12),
        "overlay_channels": 4,
    },
}
EVIDENCE = EvidenceCfg(gravity=0, waist=3, frames=2, hidden_dim=16)
SIZES["qr_evidence"] = {**SIZES["qr"], "evidence": EVIDENCE}
SIZES["start_evidence"] = {**SIZES["start"], "evidence": EVIDENCE}
SIZES["start_memory"], SIZES["dpl_memory"] = SIZES["start"], SIZES["dpl"]


def make_tiny(name: str, **changes: Any) -> Any:
    """A tiny reconstructor whose normaliser has moved away from its start."""
    model = make_reconstructor(name, **{"io": IO, **SIZES[name], **changes})
    dim = model.io.proprioception_dim
    model.set_statistics(torch.randn(dim), torch.rand(dim) + 0.5)
    return model


def make_windows(
    batch: int, io: ReconstructionIoCfg = IO
) -> tuple[torch.Tensor, torch.Tensor]:
    """Depth with a tenth of the pixels invalid, and proprioception."""
    depth = 0.1 + 0.9 * torch.rand(batch, io.depth_frames, *io.depth_shape)
    depth[torch.rand(depth.shape) < 0.1] = 0.0
    frames = torch.randn(batch, io.proprioception_frames, io.proprioception_dim)
    return depth, frames
