"""What the newest image measured over each cell of the map.

Beyond the paper (variants ``qr_evidence`` and ``start_evidence``). There, a network has
to learn from data which pixel, at which depth and tilt, lies over which cell; until it
has, its best answer on stepping stones is the void. Here every pixel of the newest
image is put onto the map. The camera's pose follows from gravity and the waist joints,
which are in proprioception, and from the nominal mount; what mount errors, latency and
noise do to it remains to be learned.

    image [B, H, W] -> points in the heading frame -> bins of 5 cm, the map's cells
    each cell gets its 3 x 3 bins: mean height, greatest height, seen;
    a query that answers a block of cells gets their bins and those around them

Nothing is kept between steps, so streaming needs no more state.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn.functional import unfold

from solo.networks.foot_view import tilt
from solo.reconstruction.networks.interface import ReconstructionIoCfg
from solo.sensors.depth.cfg import CameraMountCfg, DepthCameraCfg

_RELIEF_LIMITS = (-8.0, 4.0)
"""Heights over flat ground are clipped to this many `height_unit_m`: -2 m to 1 m."""


@dataclass(frozen=True)
class EvidenceCfg:
    """The nominal camera, and where proprioception tells its pose; the G1's."""

    camera: DepthCameraCfg = field(default_factory=DepthCameraCfg)
    """Intrinsics and range."""
    mount: CameraMountCfg = field(
        default_factory=lambda: CameraMountCfg("torso_link", (0.11, 0.0, 0.24), 52.0)
    )
    """Camera on the torso."""
    waist_pos_m: tuple[float, float, float] = (-0.0039635, 0.0, 0.044)
    """Where the axes of waist roll and pitch meet, turned by waist yaw, metres."""
    gravity: int = 3
    """First of the three numbers of projected gravity in a frame of proprioception."""
    waist: int = 21
    """First of waist yaw, roll and pitch, as offsets from zero, in the same."""
    frames: int = 6
    """Newest frames of proprioception that are averaged: less noise, and their middle
    is about as old as an image of mean latency."""
    hidden_dim: int = 64
    """Width of the MLP that describes the evidence to a query."""


class CellEvidence(nn.Module):
    """Puts the newest image onto the map. No parameters."""

    def __init__(
        self, cfg: EvidenceCfg, io: ReconstructionIoCfg, block: int = 1
    ) -> None:
        """Take camera, sizes and units; what asks is ``block`` cells wide."""
        super().__init__()
        self.cfg, self.io, self.block = cfg, io, block
        self.channels = 3 * (block + 2) ** 2
        """Numbers per block: mean, top and seen of its bins and those around it."""
        rays = cfg.camera.pixel_rays(io.depth_shape) * cfg.camera.max_range_m
        rotation = torch.from_numpy(cfg.mount.rotation_camera_to_body()).float()
        # They follow from the config, so checkpoints do not carry them.
        self.rays_cam: torch.Tensor
        self.mount_rotation: torch.Tensor
        rays = torch.from_numpy(rays.reshape(-1, 3).T).float().contiguous()
        self.register_buffer("rays_cam", rays, persistent=False)
        self.register_buffer("mount_rotation", rotation, persistent=False)

    def forward(
        self, image: torch.Tensor, proprioception: torch.Tensor
    ) -> torch.Tensor:
        """Evidence [B, blocks, channels] of images [B, H, W] and frames [B, T, P]."""
        pos, rotation = self.camera_pose_h(proprioception)
        depth = image.flatten(1).unsqueeze(1)  # [B, 1, H * W]
        points_h = (rotation @ self.rays_cam) * depth + pos.unsqueeze(2)
        return self.binned(points_h, image.flatten(1) > 0.0)

    def camera_pose_h(
        self, proprioception: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Where the camera is by proprioception [B, T, P], in the heading frame.

        Position from the base [B, 3], metres, and rotation camera-to-heading [B, 3, 3].
        """
        cfg = self.cfg
        frame = proprioception[:, -cfg.frames :].mean(dim=1)
        base = tilt(frame[:, cfg.gravity : cfg.gravity + 3])
        yaw, roll, pitch = frame[:, cfg.waist : cfg.waist + 3].unbind(1)
        turned = base @ _turn(2, yaw)
        torso = turned @ _turn(0, roll) @ _turn(1, pitch)
        pos = turned @ base.new_tensor(cfg.waist_pos_m)
        pos = pos + torso @ base.new_tensor(cfg.mount.pos_m)
        return pos, torso @ self.mount_rotation

    def binned(self, points_h: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
        """Mean and greatest height and whether there is any, in bins per block.

        Points [B, 3, N] are in the heading frame, metres from the base; those count
        that are valid [B, N]. Heights [B, blocks, channels] are over flat ground in
        `height_unit_m`, 0 if not seen. The bins are the cells of the map and a rim of
        one around it.
        """
        io, window = self.io, self.io.height_map
        rows, columns = window.cells[0] + 2, window.cells[1] + 2
        ix = torch.floor((points_h[:, 0] - window.x_range_m[0]) / window.cell_m) + 1.0
        iy = torch.floor((points_h[:, 1] - window.y_range_m[0]) / window.cell_m) + 1.0
        inside = (ix >= 0) & (ix < columns) & (iy >= 0) & (iy < rows) & valid
        # All that is outside falls into one more bin, which is dropped.
        num_bins = rows * columns
        index = torch.where(inside, iy * columns + ix, torch.full_like(ix, num_bins))
        index = index.long()
        relief = (points_h[:, 2] + io.base_height_m) / io.height_unit_m
        relief = relief.clamp(*_RELIEF_LIMITS)
        empty = relief.new_zeros(len(relief), num_bins + 1)
        count = empty.scatter_add(1, index, torch.ones_like(relief))
        seen = (count > 0.0).to(relief.dtype)
        mean = empty.scatter_add(1, index, relief) / count.clamp_min(1.0)
        lowest = torch.full_like(empty, _RELIEF_LIMITS[0])
        top = lowest.scatter_reduce(1, index, relief, "amax") * seen
        grid = torch.stack([mean, top, seen], dim=1)[:, :, :num_bins]
        grid = grid.unflatten(2, (rows, columns))
        return unfold(grid, self.block + 2, stride=self.block).transpose(1, 2)


def _turn(axis: int, angle: torch.Tensor) -> torch.Tensor:
    """Rotations [B, 3, 3] about a coordinate axis by angles [B]."""
    sin, cos = angle.sin(), angle.cos()
    one, zero = torch.ones_like(angle), torch.zeros_like(angle)
    rows = {
        0: (one, zero, zero, zero, cos, -sin, zero, sin, cos),
        1: (cos, zero, sin, zero, one, zero, -sin, zero, cos),
        2: (cos, -sin, zero, sin, cos, zero, zero, zero, one),
    }[axis]
    return torch.stack(rows, dim=1).unflatten(1, (3, 3))
