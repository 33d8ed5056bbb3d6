"""The local height map: the ground around the robot, in its heading frame."""

from __future__ import annotations

import torch

from solo.sensors.perception_cfg import HeightMapCfg
from solo.terrains.grid import HeightGrid


class HeightMap:
    """Reads a window of the height grid for many robots at once.

    A cell of the map takes the height of the grid cell that its centre lies in; there
    is no interpolation. Outside the grid it reads the nearest border cell.
    """

    def __init__(self, grid: HeightGrid, cfg: HeightMapCfg, device: str) -> None:
        self.cfg = cfg
        self._cell_m, self._unit_m = grid.cell_m, grid.unit_m
        self._corner = grid.corner_xy_m
        self._num_x, self._num_y = grid.units.shape
        self._units = torch.tensor(grid.units, device=device).flatten()
        centres = torch.tensor(cfg.centres_h(), dtype=torch.float32, device=device)
        x, y = (centres.reshape(-1, 2) / grid.cell_m).unbind(-1)
        # Cell centres in units of grid cells, with a row of ones for the translation.
        self._centres = torch.stack([x, y, torch.ones_like(x)])  # [3, Y*X]

    def sample(self, pos_w: torch.Tensor, quat_w: torch.Tensor) -> torch.Tensor:
        """Terrain height relative to the base, metres.

        Args:
            pos_w: Base positions [B, 3].
            quat_w: Base orientations [B, 4], wxyz; only the yaw is used.

        Returns:
            Heights [B, Y, X], negative where the ground is below the base.
        """
        w, x, y, z = quat_w.unbind(-1)
        # Heading of the base's x axis in the plane, without a detour over the angle.
        cos, sin = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z)
        norm = torch.sqrt(cos * cos + sin * sin).clamp_min(1e-9)
        cos, sin = cos / norm, sin / norm
        offset_x = (pos_w[:, 0] - self._corner[0]) / self._cell_m
        offset_y = (pos_w[:, 1] - self._corner[1]) / self._cell_m
        i = torch.stack([cos, -sin, offset_x], dim=-1) @ self._centres  # [B, Y*X]
        j = torch.stack([sin, cos, offset_y], dim=-1) @ self._centres
        i = i.clamp_(0, self._num_x - 1).to(torch.int32)
        j = j.clamp_(0, self._num_y - 1).to(torch.int32)
        units = self._units[i.mul_(self._num_y).add_(j)]
        heights = units.to(torch.float32).mul_(self._unit_m).sub_(pos_w[:, 2:3])
        return heights.unflatten(1, self.cfg.cells)
