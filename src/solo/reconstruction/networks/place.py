"""Places on the map: the code of cell queries, and where a visual token looks.

`FourierEncoding` is the paper's code of cells. `PlaceEmbedding` is not in the paper.
There, a token knows where it is in the image but has to learn from
data which place on the ground that is at which depth, and cell queries have to learn to
find it. Here each token is told its place in the code that the cell queries use. The
camera is taken to be mounted exactly and the robot to stand upright; what follows from
tilt and steps since the frame remains to be learned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn.functional import avg_pool2d

from solo.reconstruction.networks.interface import ReconstructionIoCfg
from solo.sensors.depth.cfg import CameraMountCfg, DepthCameraCfg


class FourierEncoding(nn.Module):
    """Encodes places (x, y) in metres, heading frame.

    Tancik et al., "Fourier Features Let Networks Learn High Frequency Functions in Low
    Dimensional Domains", arXiv 2006.10739. The SOLO paper gives 12 frequencies. Not
    stated, and chosen here:

    - x and y are divided by the same length, half the longer side of the window, so
      that equal distances have equal encodings along both axes; x is then in [-1, 1].
    - The frequencies grow geometrically from half a period per unit to the highest
      that the queries can carry, half a period per query. Twelve doublings would go 128
      times beyond it, where neighbours no longer resemble each other.
    - The coordinates themselves are features too.
    """

    def __init__(self, io: ReconstructionIoCfg, num_frequencies: int = 12) -> None:
        """Choose origin, unit and frequencies from the window and its cells."""
        super().__init__()
        window = io.height_map
        (x_low, x_high), (y_low, y_high) = window.x_range_m, window.y_range_m
        unit = max(x_high - x_low, y_high - y_low) / 2.0
        spacing_m = window.cell_m * io.query_block
        top = unit / spacing_m  # Half periods per unit.
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


@dataclass(frozen=True)
class PlaceCfg:
    """The nominal camera, seen from the base; the defaults are the G1's."""

    camera: DepthCameraCfg = field(default_factory=DepthCameraCfg)
    """Intrinsics and range."""
    camera_pos_b_m: tuple[float, float, float] = (0.106, 0.0, 0.284)
    """Optical centre in the base frame of the robot in its default pose, metres."""
    pitch_down_deg: float = 52.0
    """Angle of the optical axis below the horizontal, degrees."""


class PlaceEmbedding(nn.Module):
    """Adds to the tokens of an image the places they look at."""

    def __init__(
        self,
        cfg: PlaceCfg,
        io: ReconstructionIoCfg,
        encoding: FourierEncoding,
        stride: int,
        dim: int,
    ) -> None:
        """Create the embedding.

        Args:
            cfg: The camera.
            io: Sizes of images and map.
            encoding: Code of places, shared with the cell queries.
            stride: Pixels between two tokens; even.
            dim: Features of a token.
        """
        super().__init__()
        if stride % 2 != 0:
            raise ValueError(
                f"Stride of the tokens is {stride} pixels; it must be even."
            )
        self.stride, self.encoding = stride, encoding
        self.height_unit_m, self.base_height_m = io.height_unit_m, io.base_height_m
        self.projection = nn.Linear(encoding.dim + 1, dim)
        points, centre = _rays_b(cfg, io.depth_shape)
        # They follow from the config, so checkpoints do not carry them.
        self.rays_b: torch.Tensor
        self.centre_b: torch.Tensor
        self.register_buffer(
            "rays_b", points * cfg.camera.max_range_m, persistent=False
        )
        self.register_buffer("centre_b", centre, persistent=False)

    def places(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean point that each token's pixels see.

        Args:
            images: Normalised depth [B, H, W], 0 where invalid.

        Returns:
            Points [B, N, 3] in the base frame, metres, and which share of the token's
            pixels is valid [B, N, 1]; without any the point is the camera.
        """
        depth = images.unsqueeze(1)  # [B, 1, H, W]
        valid = (depth > 0.0).to(depth.dtype)
        # Convolutions of stride s with odd kernels put token k over pixel s * k.
        window = (self.stride + 1, self.stride, self.stride // 2)
        share = avg_pool2d(valid, *window)
        offset = avg_pool2d(depth * self.rays_b, *window) / share.clamp_min(1e-6)
        points = offset.flatten(2).transpose(1, 2) + self.centre_b
        return points, share.flatten(2).transpose(1, 2)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Features [B, N, D] to add to the tokens of images [B, H, W]."""
        points, share = self.places(images)
        relief = (points[..., 2:] + self.base_height_m) / self.height_unit_m
        features = torch.cat([self.encoding(points[..., :2]), relief], dim=-1)
        return self.projection(features) * (share > 0.0).to(features.dtype)


def _rays_b(cfg: PlaceCfg, shape: tuple[int, int]) -> tuple[torch.Tensor, torch.Tensor]:
    """What one metre of depth is in the base frame [3, H, W], and the camera [3]."""
    mount = CameraMountCfg("base", cfg.camera_pos_b_m, cfg.pitch_down_deg)
    rays = cfg.camera.pixel_rays(shape) @ mount.rotation_camera_to_body().T
    return torch.from_numpy(rays).float().permute(2, 0, 1), torch.tensor(mount.pos_m)
