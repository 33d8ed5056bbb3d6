"""Starts and commands along the rows of stones and straight over gaps.

Not in the paper, where robots start near the centre of a patch with any heading.
Stones lie in rows along x, one of them on the centre line. From 30 cm beside it, or
across the rows, a straight walk leads over holes however well the feet are placed, and
beginners learn to stay put.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.tasks.velocity.mdp import UniformVelocityCommand, UniformVelocityCommandCfg
from mjlab.utils.lab_api.math import quat_apply, quat_from_euler_xyz, quat_mul

from solo.envs.grid_terrain import grid_terrain, on_terrains
from solo.envs.mdp.soft_voids import yaw_of
from solo.envs.mdp.voids import find_soft_voids
from solo.terrains.patch import PLATFORM_M
from solo.terrains.scene import VOID_VARIANTS

STONES = tuple(name for name in VOID_VARIANTS if name.startswith("stones"))
"""Terrain variants with rows of stones."""


def start_on_row(
    env: ManagerBasedRlEnv,
    env_ids: torch.Tensor | None,
    share: float,
    beside_m: float = 0.1,
    aside_rad: float = 0.05,
    reach_m: float = 3.0,
) -> None:
    """Let a share of the robots on stones start on the middle row, facing along it.

    Where the holes of a patch are still filled (`solo.envs.mdp.soft_voids`) they start
    anywhere on the row, up to ``reach_m`` from its centre, and walk towards it and
    beyond. From the platform alone beginners would see few holes: they fall where the
    first ones come into view. Robots on other patches stay on the platform and face
    either way. Everything else about their state is kept.
    """
    ids = torch.arange(env.num_envs, device=env.device) if env_ids is None else env_ids
    ids = ids[on_terrains(env, ids, STONES)]
    chosen = torch.rand(len(ids), device=env.device) < share
    ids = ids[chosen]
    if len(ids) == 0:
        return
    draw = torch.rand(len(ids), 4, device=env.device) * 2.0 - 1.0
    # Of qpos and qvel: the pose has been written, but nothing computed from it.
    pose, velocity = env.sim.data.qpos[ids, :7], env.sim.data.qvel[ids, :6]
    place, origin = pose[:, :3].clone(), env.scene.env_origins[ids]
    place[:, 1] = origin[:, 1] + beside_m * draw[:, 0]
    ahead = draw[:, 1]
    if (voids := find_soft_voids(env)) is not None:
        terrain = grid_terrain(env)
        filled = voids.is_filled(
            terrain.terrain_levels[ids], terrain.terrain_types[ids]
        )
        spread = torch.where(filled, reach_m * draw[:, 2], 0.0)
        place[:, 0] += spread
        ahead = torch.where(spread.abs() > PLATFORM_M / 2.0, -spread, ahead)
    along = torch.where(ahead < 0.0, math.pi, 0.0) + aside_rad * draw[:, 3]
    zero = torch.zeros_like(along)
    turn = quat_from_euler_xyz(zero, zero, along - yaw_of(pose[:, 3:]))
    orientation = quat_mul(turn, pose[:, 3:])
    robot = env.scene["robot"]
    robot.write_root_link_pose_to_sim(torch.cat([place, orientation], 1), env_ids=ids)
    # Linear velocities are in the world, angular ones in the base.
    spin = quat_apply(orientation, velocity[:, 3:])
    moved = torch.cat([quat_apply(turn, velocity[:, :3]), spin], dim=1)
    robot.write_root_link_velocity_to_sim(moved, env_ids=ids)


class RowCommand(UniformVelocityCommand):
    """mjlab's command; on terrain with holes most robots walk along an axis."""

    cfg: RowCommandCfg

    def _resample_command(self, env_ids: torch.Tensor) -> None:
        super()._resample_command(env_ids)
        draws = torch.rand(len(env_ids), device=self.device)
        has_holes = on_terrains(self._env, env_ids, VOID_VARIANTS)
        ids = env_ids[has_holes & (draws < self.cfg.along_rows)]
        # Stones have rows along x alone.
        step = torch.where(on_terrains(self._env, ids, STONES), math.pi, math.pi / 2.0)
        # Of qpos: at a reset the pose has been written, but nothing computed from it.
        yaw = yaw_of(self._env.sim.data.qpos[ids, 3:7])
        self.heading_target[ids] = (yaw / step).round() * step
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
