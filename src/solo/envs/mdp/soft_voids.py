"""Soft voids: holes that robots see and pay for before they can fall into them.

Not in the paper, where stones and gaps are learned from falls, with more samples than a
laptop has. Here the height field of a patch with holes begins filled up,
while height map, depth images and rewards show the true ground. The holes of a patch
get deeper, rung by rung, when its robots both place their feet and get across; they get
shallower again when robots no longer get across. Misses alone must not open the gate:
a robot that stays on the platform misses nothing.

Only the physics of the native backend is changed, in place. A patch at the last rung is
the compiled one to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.mdp.terrain import grid_terrain
from solo.errors import SoloError
from solo.sensors.height_map import HeightMap, HeightMapCfg
from solo.sim.native import NativeSimulation
from solo.terrains.geometry import TERRAIN
from solo.terrains.grid import HeightGrid
from solo.terrains.scene import TerrainScene
from solo.terrains.voids import VOID_VARIANTS, fill_voids, void_mask


@dataclass(frozen=True)
class SoftVoidsCfg:
    """When the holes of a patch get deeper."""

    rungs_m: tuple[float, ...] = (0.0, 0.05, 0.10, 0.15, 0.25)
    """Depth of the holes at each rung, metres, from filled; at one more rung they are
    as deep as they are seen."""
    max_misses: tuple[float, ...] = (0.6, 0.6, 0.5, 0.4, 0.4)
    """Share of touch-downs beside holes that may miss for the next rung, from each.

    Crossings decide: a robot that misses a deep hole does not cross. With 0.1 for all
    rungs, gaps of level 0 stayed filled although every robot crossed them: a narrow gap
    under the middle of a sole counts as a miss. With 0.3 from holes of 5 cm on, stones
    stayed there for 1.5 M samples: 85 % crossed, 45 % of the landings missed, and
    nothing made misses worth avoiding.
    """
    min_crossings: float = 0.70
    """Share of episodes that must get across for the next rung."""
    back_below: float = 0.40
    """Share of crossings below which a patch goes back a rung."""
    episodes: int = 16
    """Episodes on a patch before it is judged again."""

    def __post_init__(self) -> None:
        if not self.rungs_m or self.rungs_m[0] != 0.0:
            raise ValueError(
                f"SoftVoidsCfg.rungs_m is {self.rungs_m}; it must begin with 0, filled."
            )
        # Runs of 0.1.0 have one number for all rungs.
        misses: tuple[float, ...] | float = self.max_misses
        if isinstance(misses, float):
            object.__setattr__(self, "max_misses", (misses,) * len(self.rungs_m))
        elif len(misses) != len(self.rungs_m):
            raise ValueError(
                f"SoftVoidsCfg.max_misses has {len(misses)} numbers for "
                f"{len(self.rungs_m)} rungs; give one for each."
            )


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
        """Share of soles over holes, from 0 to 1.

        Args:
            pos_w: Positions of the feet [..., 3].
            quat_w: Orientations of the feet [..., 4], wxyz.
            shift_m: Look this far ahead of the foot, along its heading.
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
    """Depth of the holes of each patch, and the count of steps that decide it."""

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
        num_levels, num_columns = scene.origins_m.shape[:2]
        shape = (num_levels, num_columns)
        self.rungs = np.zeros(shape, dtype=np.int64)
        # Since the last judgement: episodes, crossings, touch-downs, misses.
        self.counts = np.zeros((4, *shape))
        self.rungs[:, [c for c in range(num_columns) if c not in self.columns]] = -1
        self._true = self._field().copy()
        self.write()

    def is_deep(self, levels: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """Whether patches are as deep as they are seen; those without holes are."""
        last = len(self.cfg.rungs_m)
        rungs = torch.from_numpy(self.rungs)[levels.cpu(), columns.cpu()]
        return ((rungs == last) | (rungs < 0)).to(levels.device)

    def is_filled(self, levels: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """Whether the holes of patches are filled; those without holes are not."""
        rungs = torch.from_numpy(self.rungs)[levels.cpu(), columns.cpu()]
        return (rungs == 0).to(levels.device)

    def count(
        self,
        levels: torch.Tensor,
        columns: torch.Tensor,
        crossed: torch.Tensor,
        landings: torch.Tensor,
        misses: torch.Tensor,
    ) -> None:
        """Count episodes that have ended on patches, then judge the patches.

        Args:
            levels: Level of each [N].
            columns: Column of each [N].
            crossed: Whether the robot got across, bool [N].
            landings: Touch-downs beside holes [N].
            misses: Those of them that missed [N].
        """
        ones = torch.ones_like(landings)
        where = (levels.cpu().numpy(), columns.cpu().numpy())
        for row, values in enumerate((ones, crossed.float(), landings, misses)):
            np.add.at(self.counts[row], where, values.cpu().numpy())
        for level in range(len(self.rungs)):
            for column in self.columns:
                if self.counts[0, level, column] >= self.cfg.episodes:
                    self._judge(level, column)

    def _judge(self, level: int, column: int) -> None:
        episodes, crossings, landings, misses = self.counts[:, level, column]
        self.counts[:, level, column] = 0.0
        cfg, rung = self.cfg, int(self.rungs[level, column])
        allowed = cfg.max_misses[min(rung, len(cfg.max_misses) - 1)]
        places_feet = landings > 0 and misses / landings < allowed
        if crossings / episodes >= cfg.min_crossings and places_feet:
            rung = min(rung + 1, len(cfg.rungs_m))
        elif crossings / episodes < cfg.back_below:
            rung = max(rung - 1, 0)
        if rung != self.rungs[level, column]:
            self.rungs[level, column] = rung
            self._write_patch(level, column)

    def state(self) -> dict[str, Any]:
        """State needed to resume."""
        return {"rungs": self.rungs.tolist(), "counts": self.counts.tolist()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a saved state, and the height field with it."""
        self.rungs[:] = state["rungs"]
        self.counts[:] = state["counts"]
        self.write()

    def write(self) -> None:
        """Make the holes of all patches as deep as their rungs say."""
        for level in range(len(self.rungs)):
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
        rung = int(self.rungs[level, column])
        units = grid.units[cells_x, cells_y]
        here = (slice(y, y + 2 * units.shape[1]), slice(x, x + 2 * units.shape[0]))
        if rung == len(self.cfg.rungs_m):
            field[here] = self._true[here]
            return
        depth_units = round(self.cfg.rungs_m[rung] / grid.unit_m)
        solid = HeightGrid(fill_voids(units, depth_units), (0.0, 0.0))
        low_m = float(self._model.geom(TERRAIN).pos[2])
        range_m = float(self._model.hfield_size[0, 2])
        field[here] = (solid.surface_vertices().T - low_m) / range_m

    def _field(self) -> np.ndarray:
        """The compiled height field, [rows along y, columns along x]; a view."""
        rows, columns = int(self._model.hfield_nrow[0]), int(self._model.hfield_ncol[0])
        return self._model.hfield_data[: rows * columns].reshape(rows, columns)
