"""The local height map: the ground around the robot, in its heading frame.

Boxes that stand on the ground are part of it; depth cameras see them too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numba import njit

from solo.terrains.grid import HeightGrid


@dataclass(frozen=True)
class HeightMapCfg:
    """The window of ground the policy sees, in the heading frame of the base.

    Cell ``[iy, ix]`` has its centre at ``x = x_range_m[0] + (ix + 0.5) * cell_m`` and
    ``y = y_range_m[0] + (iy + 0.5) * cell_m``: index ``[0, 0]`` is behind on the right,
    the last index is ahead on the left.
    """

    cells: tuple[int, int] = (16, 32)
    """Number of cells along y and along x, as in the shape of the map."""
    cell_m: float = 0.05
    """Edge of one square cell, metres."""
    x_range_m: tuple[float, float] = (-0.3, 1.3)
    """Rear and front edge of the window, metres ahead of the base.

    Not stated in the paper, which gives only 32 cells; chosen because it covers the
    next two steps ahead and the trailing foot behind.
    """
    y_range_m: tuple[float, float] = (-0.4, 0.4)
    """Right and left edge of the window, metres to the left of the base.

    Not stated in the paper, which gives only 16 cells; chosen because it is symmetric.
    """

    def __post_init__(self) -> None:
        for axis, count, (low, high) in (
            ("y", self.cells[0], self.y_range_m),
            ("x", self.cells[1], self.x_range_m),
        ):
            if not math.isclose(high - low, count * self.cell_m, abs_tol=1e-9):
                raise ValueError(
                    f"HeightMapCfg.{axis}_range_m spans {high - low:g} m but {count} "
                    f"cells of {self.cell_m:g} m span {count * self.cell_m:g} m. "
                    f"Change {axis}_range_m, cells or cell_m so that they agree."
                )

    @staticmethod
    def of(cfg: HeightMapCfg | Mapping[str, Any] | None) -> HeightMapCfg:
        """Accept a plain dict, and undo the lists that YAML and JSON make of tuples."""
        if isinstance(cfg, HeightMapCfg):
            return cfg
        values: dict[str, Any] = dict(cfg or {})
        values = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return HeightMapCfg(**values)

    def centres_h(self) -> np.ndarray:
        """Cell centres (x, y) in the heading frame, metres [Y, X, 2]."""
        y = self.y_range_m[0] + (np.arange(self.cells[0]) + 0.5) * self.cell_m
        x = self.x_range_m[0] + (np.arange(self.cells[1]) + 0.5) * self.cell_m
        return np.stack(np.broadcast_arrays(x[None, :], y[:, None]), axis=-1)


class HeightMap:
    """Reads a window of the height grid for many robots at once.

    A cell of the map takes the height of the grid cell that its centre lies in; there
    is no interpolation. Outside the grid it reads the nearest border cell. On CPU a
    compiled loop does it four times as fast as tensor operations, which serve CUDA.
    Where the centre of a cell is under a box, the cell takes the top of the box.
    """

    def __init__(self, grid: HeightGrid, cfg: HeightMapCfg, device: str) -> None:
        self.cfg = cfg
        self._grid = grid
        self._centres_h = cfg.centres_h().reshape(-1, 2).astype(np.float32)  # [Y*X, 2]
        self._units = torch.tensor(grid.units, device=device)
        self._centres = torch.tensor(self._centres_h, device=device)

    def sample(
        self, pos_w: torch.Tensor, quat_w: torch.Tensor, boxes: Boxes | None = None
    ) -> torch.Tensor:
        """Terrain height over the base [B, Y, X], metres.

        Of the base orientations [B, 4], wxyz, only the yaw is used.
        """
        if pos_w.device.type == "cpu":
            grid = self._grid
            heights = torch.empty(len(pos_w), len(self._centres_h))
            _sample(
                pos_w.numpy(),
                quat_w.numpy(),
                self._centres_h,
                grid.units,
                *grid.corner_xy_m,
                grid.cell_m,
                grid.unit_m,
                heights.numpy(),
            )
        else:
            heights = self.sample_with_tensors(pos_w, quat_w)
        if boxes is not None:
            top_w = boxes.top_w(*self._centres_w(pos_w, quat_w))
            heights = torch.maximum(heights, top_w - pos_w[:, 2:3])
        return heights.unflatten(1, self.cfg.cells)

    def sample_with_tensors(
        self, pos_w: torch.Tensor, quat_w: torch.Tensor
    ) -> torch.Tensor:
        """The same as [B, Y*X], with tensor operations for any device."""
        grid, units = self._grid, self._units
        x_w, y_w = self._centres_w(pos_w, quat_w)
        i = ((x_w - grid.corner_xy_m[0]) / grid.cell_m).floor().long()
        j = ((y_w - grid.corner_xy_m[1]) / grid.cell_m).floor().long()
        i, j = i.clamp_(0, units.shape[0] - 1), j.clamp_(0, units.shape[1] - 1)
        return units[i, j] * grid.unit_m - pos_w[:, 2:3]

    def _centres_w(
        self, pos_w: torch.Tensor, quat_w: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """World x and y of the cells' centres, [B, Y*X] each."""
        centres = self._centres
        w, x, y, z = quat_w.unbind(-1)
        cos, sin = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z)
        norm = torch.sqrt(cos * cos + sin * sin).clamp_min(1e-9)
        cos, sin = (cos / norm)[:, None], (sin / norm)[:, None]
        x_w = pos_w[:, 0:1] + cos * centres[:, 0] - sin * centres[:, 1]
        y_w = pos_w[:, 1:2] + sin * centres[:, 0] + cos * centres[:, 1]
        return x_w, y_w


@njit(nogil=True, cache=True)
def _sample(
    pos_w: Any,
    quat_w: Any,
    centres_h: Any,
    units: Any,
    x0: float,
    y0: float,
    cell_m: float,
    unit_m: float,
    out: Any,
) -> None:
    per_cell = 1.0 / cell_m
    last_i, last_j = units.shape[0] - 1.0, units.shape[1] - 1.0
    reach = 0.0  # Of the window around the base, in cells.
    for n in range(centres_h.shape[0]):
        reach = max(reach, math.hypot(centres_h[n, 0], centres_h[n, 1]) * per_cell)
    for b in range(pos_w.shape[0]):
        w, x, y, z = quat_w[b, 0], quat_w[b, 1], quat_w[b, 2], quat_w[b, 3]
        # Direction of the base's x axis in the plane, without a detour over the angle.
        cos, sin = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z)
        norm = max(math.sqrt(cos * cos + sin * sin), 1e-9)
        cos, sin = cos / norm * per_cell, sin / norm * per_cell
        i0, j0 = (pos_w[b, 0] - x0) * per_cell, (pos_w[b, 1] - y0) * per_cell
        base_z = pos_w[b, 2]
        if reach < i0 < last_i - reach and reach < j0 < last_j - reach:
            for n in range(centres_h.shape[0]):
                i = int(i0 + cos * centres_h[n, 0] - sin * centres_h[n, 1])
                j = int(j0 + sin * centres_h[n, 0] + cos * centres_h[n, 1])
                out[b, n] = units[i, j] * unit_m - base_z
        else:  # Part of the window is outside the grid.
            for n in range(centres_h.shape[0]):
                x_cell = i0 + cos * centres_h[n, 0] - sin * centres_h[n, 1]
                y_cell = j0 + sin * centres_h[n, 0] + cos * centres_h[n, 1]
                i = int(min(max(x_cell, 0.0), last_i))
                j = int(min(max(y_cell, 0.0), last_j))
                out[b, n] = units[i, j] * unit_m - base_z


@dataclass(frozen=True, eq=False)
class Boxes:
    """K boxes in the world of each of B robots."""

    pos_w: torch.Tensor
    """Centres [B, K, 3], world, metres."""
    rotation_w: torch.Tensor
    """Rotations box-to-world [B, K, 3, 3]; the columns are the box's axes."""
    half_m: torch.Tensor
    """Half of the extents along the box's axes [K, 3], metres; the same for all."""

    def __getitem__(self, robots: slice) -> Boxes:
        """The boxes of some robots."""
        return Boxes(self.pos_w[robots], self.rotation_w[robots], self.half_m)

    def top_w(self, x_w: torch.Tensor, y_w: torch.Tensor) -> torch.Tensor:
        """Height of the highest surface of a box at places [B, N], or minus infinity.

        A vertical line is inside a box between the last pair of faces that it enters
        and the first that it leaves; where it leaves, upwards, is the answer. So it is
        exact for tilted boxes, too.
        """
        xy = torch.stack([x_w, y_w], dim=-1)[:, None]  # [B, 1, N, 2]
        offset = xy - self.pos_w[:, :, None, :2]  # [B, K, N, 2]
        # The line in the box's frame: at height z above the centre, start + z * up.
        start = offset @ self.rotation_w[:, :, :2]  # [B, K, N, 3]
        up = self.rotation_w[:, :, None, 2]  # [B, K, 1, 3]
        up = torch.where(up.abs() < 1e-9, 1e-9, up)
        half = self.half_m[:, None]  # [K, 1, 3]
        a, b = (-half - start) / up, (half - start) / up
        enters = torch.minimum(a, b).amax(dim=-1)  # [B, K, N]
        leaves = torch.maximum(a, b).amin(dim=-1)
        top = self.pos_w[:, :, None, 2] + leaves
        return top.where(enters <= leaves, -torch.inf).amax(dim=1)
