"""Velocity commands that lead along the rows of stones and straight over gaps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.tasks.velocity.mdp import UniformVelocityCommand, UniformVelocityCommandCfg

from solo.envs.mdp.terrain import grid_terrain
from solo.terrains.voids import VOID_VARIANTS


class RowCommand(UniformVelocityCommand):
    """mjlab's command; on terrain with holes most robots walk along an axis.

    Not in the paper. Stones lie in rows along the axes of a patch. A random
    heading asks for footholds that do not exist, and teaches robots to stay put.
    """

    cfg: RowCommandCfg

    def _resample_command(self, env_ids: torch.Tensor) -> None:
        super()._resample_command(env_ids)
        terrain = grid_terrain(self._env)
        columns = [
            c for c, name in enumerate(terrain.variant_names) if name in VOID_VARIANTS
        ]
        has_holes = torch.zeros(len(terrain.variant_names), dtype=torch.bool)
        has_holes[columns] = True
        draws = torch.rand(len(env_ids), device=self.device)
        here = has_holes.to(self.device)[terrain.terrain_types[env_ids]]
        ids = env_ids[here & (draws < self.cfg.along_rows)]
        quarter = math.pi / 2.0
        # Of qpos: at a reset the pose has been written, but nothing computed from it.
        w, x, y, z = self._env.sim.data.qpos[ids, 3:7].unbind(-1)
        yaw = torch.atan2(2.0 * (x * y + w * z), 1.0 - 2.0 * (y * y + z * z))
        self.heading_target[ids] = (yaw / quarter).round() * quarter
        speeds = torch.empty(len(ids), device=self.device)
        self.vel_command_b[ids, 0] = speeds.uniform_(*self.cfg.forward_m_s)
        self.vel_command_b[ids, 1] = 0.0
        self.is_standing_env[ids] = False


@dataclass(kw_only=True)
class RowCommandCfg(UniformVelocityCommandCfg):
    """Settings of `RowCommand`."""

    along_rows: float = 0.9
    """Share of the robots on terrain with holes that walk along an axis."""
    forward_m_s: tuple[float, float] = (0.4, 1.0)
    """Their forward command; that of the paper's stress test."""

    def build(self, env: ManagerBasedRlEnv) -> RowCommand:
        return RowCommand(self, env)
