"""Strips one after another as the legs of a way, and the obstacle on a strip.

Legs lie side by side in the world. A robot that comes over the finish line of one is
moved to the start line of the next by one rigid transformation: its place and heading
relative to the first line become those relative to the second, turned by the bend that
the way has there. Joints, velocities, memory and histories go along, so on level ground
the robot notices nothing but the command, which now asks for a turn. Both lines
therefore have level ground around them, farther than the robot can see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.utils.lab_api.math import quat_mul

from solo.envs.mdp.terrain import grid_terrain
from solo.envs.obstacle import place_obstacle


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

    Args:
        pose: Position and orientation wxyz, [N, 7].
        velocity: MuJoCo's: linear in the world and angular in the body, [N, 6].
        from_w: Points, [N, 3].
        to_w: Where the points come to lie, [N, 3].
        yaw: Angles, [N].

    Returns:
        Pose and velocity afterwards.
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
