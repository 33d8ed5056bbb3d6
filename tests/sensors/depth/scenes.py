"""Depth images with a known content, for the tests of corruption."""

from __future__ import annotations

import torch

from solo.sensors.depth.cfg import DepthCameraCfg

CAMERA = DepthCameraCfg()
H, W = CAMERA.output_height, CAMERA.output_width


def per_env(value: float, num: int = 1) -> torch.Tensor:
    return torch.full((num,), value)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def plane(z: float, num: int = 1) -> torch.Tensor:
    return torch.full((num, H, W), z)


def legs_and_step(num: int = 1) -> torch.Tensor:
    """A floor seen at a slant, a step in it, two poles, a near thing and a hole."""
    disparity = torch.linspace(1 / 2.6, 1 / 0.9, H)[:, None].expand(H, W)
    depth = (1.0 / disparity).clone()
    depth[:20] += 0.1
    depth[:, 40:50] = 0.7
    depth[50:, 80:95] = 0.35
    depth[30:34, 60:64] = 0.0
    return depth.expand(num, H, W).clone()
