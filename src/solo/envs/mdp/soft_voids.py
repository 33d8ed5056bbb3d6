"""Soft voids: holes that robots see and pay for before they can fall into them.

Not in the paper, where stones and gaps are learned from falls, with more samples than a
laptop has. Here the height field of a patch with holes begins filled up,
while height map, depth images and rewards show the true ground. The holes of a patch
open when its robots both place their feet and get across; they are filled again when
robots no longer get across. Misses alone must not open them: a robot that stays on the
platform misses nothing.

There is nothing in between. With holes of 5 to 25 cm on the way robots learn to wade:
they step into holes and climb out of them.

Only the physics of the native backend is changed, in place. A patch with open holes is
the compiled one to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.grid_terrain import TERRAIN, grid_terrain
from solo.errors import SoloError
from solo.sensors.height_map import HeightMap, HeightMapCfg
from solo.sim.native import NativeSimulation
from solo.terrains.grid import HeightGrid
from solo.terrains.scene import VOID_VARIANTS, TerrainScene, void_mask


@dataclass(frozen=True)
class SoftVoidsCfg:
    """When the holes of a patch open."""

    max_misses: float = 0.30
    """Share of touch-downs beside holes that may miss."""
    min_crossings: float = 0.70
    """Share of episodes that must get across."""
    fill_below: float = 0.20
    """Share of crossings below which open holes are filled again."""
    episodes: int = 32
    """Episodes on a patch before it is judged again."""


MISS_SHARE = 1.0 / 3.0
"""Share of a sole over holes at touch-down that is a miss."""

EDGE_M = 0.05
"""Ground this far below the highest point under a sole does not carry it."""

SHIFTS_M = (-0.25, -0.15, -0.05, 0.05, 0.15, 0.25)
"""A foot shifted along its own x by these lands where a blind robot might."""

PLACES_M = (*((x, 0.0) for x in SHIFTS_M), *((0.0, y) for y in (-0.2, -0.1, 0.1, 0.2)))
"""Places around a foot, along its own x and y, with which its own is compared."""


class FootVoids:
    """How much of each sole is over a hole, now or if the foot were elsewhere."""

    def __init__(
        self, scene: TerrainScene, footprint: HeightMapCfg, device: str
    ) -> None:
        mask = void_mask(scene).astype(np.int16)
        grid = HeightGrid(mask, scene.grid.corner_xy_m, unit_m=1.0)
        self._map = HeightMap(grid, footprint, device)
        self._ground = HeightMap(scene.grid, footprint, device)

    def share(
        self, pos_w: torch.Tensor, quat_w: torch.Tensor, shift_m: float = 0.0
    ) -> torch.Tensor:
        """Share of soles over holes, from 0 to 1; or of soles so far ahead of them.

        Feet are positions [..., 3] and orientations [..., 4], wxyz.
        """
        lead = pos_w.shape[:-1]
        pos, quat = pos_w.reshape(-1, 3), quat_w.reshape(-1, 4)
        if shift_m != 0.0:
            pos = _moved(pos, quat, shift_m)
        depth = self._map.sample(pos.contiguous(), quat.contiguous())
        return (depth + pos[:, 2, None, None]).mean(dim=(1, 2)).view(lead)

    def unsupported(self, pos_w: torch.Tensor, quat_w: torch.Tensor) -> torch.Tensor:
        """Share of soles [N] over holes, or `EDGE_M` below their highest point.

        Arguments as in `share`.
        """
        pos, quat = pos_w.contiguous(), quat_w.contiguous()
        ground = self._ground.sample(pos, quat).flatten(1)
        below = ground < ground.amax(dim=1, keepdim=True) - EDGE_M
        return torch.maximum(below.float().mean(dim=1), self.share(pos, quat))

    def unsupported_around(
        self, pos_w: torch.Tensor, quat_w: torch.Tensor
    ) -> torch.Tensor:
        """Mean of the same soles at `PLACES_M`."""
        shares = [
            self.unsupported(_moved(pos_w, quat_w, *place), quat_w)
            for place in PLACES_M
        ]
        return torch.stack(shares).mean(dim=0)

    def shifted_share(self, pos_w: torch.Tensor, quat_w: torch.Tensor) -> torch.Tensor:
        """Mean share of the same soles at `SHIFTS_M`: what landing anywhere gives."""
        shares = [self.share(pos_w, quat_w, shift) for shift in SHIFTS_M]
        return torch.stack(shares).mean(dim=0)


def _moved(
    pos: torch.Tensor, quat: torch.Tensor, ahead_m: float, aside_m: float = 0.0
) -> torch.Tensor:
    """Positions [N, 3] moved ahead and to the left, by their yaw [N, 4]."""
    yaw = yaw_of(quat)
    cos, sin = torch.cos(yaw), torch.sin(yaw)
    pos = pos.clone()
    pos[:, 0] += ahead_m * cos - aside_m * sin
    pos[:, 1] += ahead_m * sin + aside_m * cos
    return pos


def yaw_of(quat: torch.Tensor) -> torch.Tensor:
    """Yaw [N] of quaternions [N, 4], wxyz."""
    w, x, y, z = quat.unbind(-1)
    return torch.atan2(2.0 * (x * y + w * z), 1.0 - 2.0 * (y * y + z * z))


class SoftVoids:
    """Which patches have filled holes, and the count of steps that decides it."""

    def __init__(self, env: ManagerBasedRlEnv, cfg: SoftVoidsCfg) -> None:
        if not isinstance(env.sim, NativeSimulation):
            raise SoloError(
                "Soft voids change the height field of the native backend, which runs "
                "on CPU. Train on CPU, or use a profile without them."
            )
        self.cfg = cfg
        self._model: mujoco.MjModel = env.sim.mj_model
        terrain = grid_terrain(env)
        self._scene = scene = terrain.terrain_scene
        self.columns = [
            c for c, name in enumerate(scene.cfg.variants) if name in VOID_VARIANTS
        ]
        shape = scene.origins_m.shape[:2]
        self.filled = np.zeros(shape, dtype=bool)
        self.filled[:, self.columns] = True
        # Since the last judgement: episodes, crossings, touch-downs, misses.
        self.counts = np.zeros((4, *shape))
        self._true = self._field().copy()
        self.write()

    def is_filled(self, levels: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """Whether patches have holes that are filled."""
        filled = torch.from_numpy(self.filled)[levels.cpu(), columns.cpu()]
        return filled.to(levels.device)

    def count(
        self,
        levels: torch.Tensor,
        columns: torch.Tensor,
        crossed: torch.Tensor,
        landings: torch.Tensor,
        misses: torch.Tensor,
    ) -> None:
        """Count episodes [N] that have ended on patches, then judge the patches.

        ``landings`` are touch-downs beside holes, ``misses`` those of them that missed.
        """
        ones = torch.ones_like(landings)
        where = (levels.cpu().numpy(), columns.cpu().numpy())
        for row, values in enumerate((ones, crossed.float(), landings, misses)):
            np.add.at(self.counts[row], where, values.cpu().numpy())
        for level in range(len(self.filled)):
            for column in self.columns:
                if self.counts[0, level, column] >= self.cfg.episodes:
                    self._judge(level, column)

    def _judge(self, level: int, column: int) -> None:
        episodes, crossings, landings, misses = self.counts[:, level, column]
        self.counts[:, level, column] = 0.0
        cfg, crossed = self.cfg, crossings / episodes
        if self.filled[level, column]:
            places_feet = landings > 0 and misses / landings < cfg.max_misses
            changes = crossed >= cfg.min_crossings and places_feet
        else:
            changes = crossed < cfg.fill_below
        if changes:
            self.filled[level, column] ^= True
            self._write_patch(level, column)

    def state(self) -> dict[str, Any]:
        """State needed to resume."""
        return {"filled": self.filled.tolist(), "counts": self.counts.tolist()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a saved state, and the height field with it."""
        self.filled[:] = state["filled"]
        self.counts[:] = state["counts"]
        self.write()

    def write(self) -> None:
        """Fill or open the holes of all patches."""
        for level in range(len(self.filled)):
            for column in self.columns:
                self._write_patch(level, column)

    def _write_patch(self, level: int, column: int) -> None:
        """Write a patch into the height field, in place: all workers share it.

        MuJoCo's compiler stretches heights to [0, 1], so they are written in its units.
        The outermost vertices forget the next patch, towards which they may slope by up
        to a centimetre.
        """
        field, grid = self._field(), self._scene.grid
        first_x, first_y = (s.start for s in self._scene.patch_cells(0, 0))
        cells_x, cells_y = self._scene.patch_cells(level, column)
        # The field begins one vertex into the second cell before the first patch.
        x, y = 2 * (cells_x.start - first_x) + 3, 2 * (cells_y.start - first_y) + 3
        units = grid.units[cells_x, cells_y]
        here = (slice(y, y + 2 * units.shape[1]), slice(x, x + 2 * units.shape[0]))
        if not self.filled[level, column]:
            field[here] = self._true[here]
            return
        solid = HeightGrid(np.maximum(units, 0), (0.0, 0.0))
        low_m = float(self._model.geom(TERRAIN).pos[2])
        range_m = float(self._model.hfield_size[0, 2])
        field[here] = (solid.surface_vertices().T - low_m) / range_m

    def _field(self) -> np.ndarray:
        """The compiled height field, [rows along y, columns along x]; a view."""
        rows, columns = int(self._model.hfield_nrow[0]), int(self._model.hfield_ncol[0])
        return self._model.hfield_data[: rows * columns].reshape(rows, columns)
