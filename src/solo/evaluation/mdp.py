"""Terms of evaluation environments: commands along a line, legs of a way, an obstacle.

Strips may follow one another as the legs of a way. They lie side by side in the world.
A robot that comes over the finish line of one is moved to the start line of the next by
one rigid transformation: its place and heading relative to the first line become those
relative to the second, turned by the bend that the way has there. Joints, velocities,
memory and histories go along, so on level ground the robot notices nothing but the
command, which now asks for a turn. Both lines therefore have level ground around them,
farther than the robot can see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.tasks.velocity.mdp import UniformVelocityCommand, UniformVelocityCommandCfg
from mjlab.utils.lab_api.math import quat_mul

from solo.envs.grid_terrain import grid_terrain
from solo.envs.obstacle import place_obstacle

LOOK_AHEAD_M = 2.0
"""The robot is sent towards the point of the line this far ahead."""


@dataclass(kw_only=True)
class PlannedCommandCfg(UniformVelocityCommandCfg):
    """The stress command with forward velocities that are given, not drawn."""

    def build(self, env: ManagerBasedRlEnv) -> PlannedCommand:
        """Build the term."""
        return PlannedCommand(self, env)


class PlannedCommand(UniformVelocityCommand):
    """`forward_m_s` and `sideways_m_s`; the heading is held along +x, or turns."""

    def __init__(self, cfg: PlannedCommandCfg, env: ManagerBasedRlEnv) -> None:
        super().__init__(cfg, env)
        self.forward_m_s = torch.zeros(self.num_envs, device=self.device)
        """Command of the next rollout of each slot, [B]."""
        self.sideways_m_s = torch.zeros_like(self.forward_m_s)
        """The same to the left, [B]."""
        self.turn_rad_s = torch.full_like(self.forward_m_s, torch.nan)
        """The same to turn by, to the left, [B]; NaN holds the heading."""
        self.is_heading_env[:] = True

    def _resample_command(self, env_ids: torch.Tensor) -> None:
        turn = self.turn_rad_s[env_ids]
        self.is_heading_env[env_ids] = turn.isnan()
        self.vel_command_b[env_ids, 0] = self.forward_m_s[env_ids]
        self.vel_command_b[env_ids, 1] = self.sideways_m_s[env_ids]
        self.vel_command_b[env_ids, 2] = turn.nan_to_num(0.0)


def base_motion(env: ManagerBasedRlEnv, axis: int) -> torch.Tensor:
    """How the base moves forward, sideways (m/s) or turns (rad/s): axis 0 to 2, [B]."""
    data = env.scene["robot"].data
    if axis == 2:
        return data.root_link_ang_vel_b[:, 2]
    return data.root_link_lin_vel_b[:, axis]


def steer(
    lateral_m: torch.Tensor, heading: torch.Tensor, forward_m_s: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Speed and heading [B] to command, to come back to a line along +x.

    The heading is that of the point on the line `LOOK_AHEAD_M` in front: 0 on the line
    and 45 degrees to the right when it is as far away on the left (``lateral_m``). The
    speed on the straight is reduced by the cosine of the turn that is left to do, to 0
    from 90 degrees on, so sharp turns are made on the spot.
    """
    wanted = -torch.atan2(lateral_m, torch.full_like(lateral_m, LOOK_AHEAD_M))
    return forward_m_s * torch.cos(wanted - heading).clamp(min=0.0), wanted


@dataclass(kw_only=True)
class LineCommandCfg(PlannedCommandCfg):
    """Follow the centre line of the strip that the robot is on."""

    def build(self, env: ManagerBasedRlEnv) -> LineCommand:
        """Build the term."""
        return LineCommand(self, env)


class LineCommand(PlannedCommand):
    """`steer`, with the line through the robot's origin along +x.

    The heading becomes a yaw rate as in training.
    """

    def _update_command(self, env_ids: torch.Tensor | None = None) -> None:
        data = self.robot.data
        lateral = (data.root_link_pos_w - self._env.scene.env_origins)[:, 1]
        speed, self.heading_target = steer(lateral, data.heading_w, self.forward_m_s)
        self.vel_command_b[:, 0] = speed
        super()._update_command(env_ids)


@dataclass(frozen=True, eq=False)
class Track:
    """How strips follow each other; L legs."""

    lengths_m: np.ndarray
    """From start line to finish line, [L]."""
    turns_rad: np.ndarray
    """Bend behind each leg, positive to the left, [L]; the last one is not used."""

    @staticmethod
    def of(legs: Sequence[tuple[float, float]]) -> Track:
        """From the length and the bend of each leg."""
        lengths_m, turns_rad = np.array(legs, dtype=np.float64).T
        return Track(lengths_m, turns_rad)

    @property
    def begins_m(self) -> np.ndarray:
        """Place of each start line along the way, [L]."""
        return np.concatenate([[0.0], np.cumsum(self.lengths_m)[:-1]])


def change_legs(
    env: ManagerBasedRlEnv, env_ids: torch.Tensor | None, track: Track
) -> None:
    """Move robots that have come over a finish line to the start of the next leg.

    Runs at the end of a step, before poses and observations are computed. The level of
    a robot is the number of its leg.
    """
    del env_ids
    terrain, robot = grid_terrain(env), env.scene["robot"]
    assert terrain.env_origins is not None
    pose_adr = robot.indexing.free_joint_q_adr
    pose = env.sim.data.qpos[:, pose_adr]  # Bodies are a physics step behind it.
    legs = terrain.terrain_levels
    walked = pose[:, 0] - terrain.env_origins[:, 0]
    lengths = torch.as_tensor(track.lengths_m, device=walked.device)
    is_over = (walked > lengths[legs]) & (legs < len(lengths) - 1) & ~env.reset_buf
    ids = is_over.nonzero().flatten()
    if len(ids) == 0:
        return
    finishes = _finishes_w(env, track)[legs[ids]].to(pose.dtype)
    turns = torch.as_tensor(track.turns_rad, device=walked.device)[legs[ids]]
    legs[ids] += 1
    assert terrain.terrain_origins is not None
    terrain.env_origins[ids] = terrain.terrain_origins[legs[ids], 0]
    new_pose, new_velocity = move(
        pose[ids],
        env.sim.data.qvel[ids][:, robot.indexing.free_joint_v_adr],
        finishes,
        terrain.env_origins[ids],
        -turns.to(pose.dtype),
    )
    env.sim.data.qpos[ids[:, None], pose_adr] = new_pose
    env.sim.data.qvel[ids[:, None], robot.indexing.free_joint_v_adr] = new_velocity


def move(
    pose: torch.Tensor,
    velocity: torch.Tensor,
    from_w: torch.Tensor,
    to_w: torch.Tensor,
    yaw: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Turn free bodies about the vertical through one point and take it to another.

    Poses [N, 7] are position and orientation wxyz. Velocities [N, 6] are MuJoCo's:
    linear in the world and angular in the body. Points are [N, 3], angles [N].
    """
    cos, sin = torch.cos(yaw), torch.sin(yaw)
    zero = torch.zeros_like(yaw)
    offset = pose[:, :3] - from_w
    half = torch.stack([torch.cos(yaw / 2), zero, zero, torch.sin(yaw / 2)], dim=-1)
    position = to_w + _turn(offset, cos, sin)
    quat = quat_mul(half, pose[:, 3:])
    linear = _turn(velocity[:, :3], cos, sin)
    return (
        torch.cat([position, quat], dim=-1),
        torch.cat([linear, velocity[:, 3:]], dim=-1),
    )


def _turn(vector: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    x, y, z = vector.unbind(-1)
    return torch.stack([cos * x - sin * y, sin * x + cos * y, z], dim=-1)


def _finishes_w(env: ManagerBasedRlEnv, track: Track) -> torch.Tensor:
    """Middle of each finish line on the ground, [L, 3]."""
    terrain = grid_terrain(env)
    points = terrain.terrain_scene.origins_m[:, 0].copy()
    points[:, 0] += track.lengths_m
    points[:, 2] = terrain.grid.height_at(points[:, 0], points[:, 1])
    return torch.from_numpy(points).to(env.device)


def put_obstacle(
    env: ManagerBasedRlEnv, env_ids: torch.Tensor | None, at_m: float
) -> None:
    """Put the movable obstacle on the centre line of each robot's strip."""
    ids = torch.arange(env.num_envs, device=env.device) if env_ids is None else env_ids
    position = env.scene.env_origins[ids].clone()
    position[:, 0] += at_m
    x, y = position[:, :2].double().cpu().numpy().T
    ground = grid_terrain(env).grid.height_at(x, y)
    position[:, 2] = torch.from_numpy(ground).to(position)
    place_obstacle(env, ids, position, torch.zeros_like(position[:, 0]))
