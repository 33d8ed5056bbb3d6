"""The simulation on strips, alone or one after another as the legs of a way.

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
from typing import Any

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from mjlab.managers.event_manager import EventTermCfg
from mjlab.utils.lab_api.math import quat_mul

from solo.envs.grid_terrain import GridTerrainCfg
from solo.envs.make import make_env
from solo.envs.mdp.terrain import grid_terrain
from solo.envs.names import COMMAND
from solo.envs.obstacle import ObstacleCfg, add_obstacle, place_obstacle
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.protocols import Cell, Protocol
from solo.evaluation.rollout import LANES, StepReport
from solo.evaluation.sim_env import SimEnv, make_eval_env_cfg
from solo.evaluation.starts import Start
from solo.evaluation.strips_command import LineCommandCfg
from solo.terrains.strip import StripSceneCfg

_CHANGE_LEGS = "change_legs"
_PUT_OBSTACLE = "put_obstacle"
_ANY_GROUND = Cell("flat", 0.0, 0, 8.0)
"""Stands in for the strips until they are put into the configuration."""


@dataclass(frozen=True, eq=False)
class Track:
    """How strips follow each other; L legs."""

    lengths_m: np.ndarray
    """From start line to finish line, [L]."""
    turns_rad: np.ndarray
    """Bend behind each leg, positive to the left, [L]; the last one is not used."""

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


class StripEnv:
    """See `solo.evaluation.rollout.RolloutEnv`; x goes on from leg to leg."""

    lanes = LANES

    def __init__(self, sim: SimEnv, track: Track, half_width_m: float) -> None:
        """Wrap a simulation on strips.

        Args:
            sim: The simulation.
            track: How the strips follow each other.
            half_width_m: How far from the centre line a robot may get.
        """
        self.sim, self.env = sim, sim.env
        self.num_slots, self.step_s = sim.num_slots, sim.step_s
        self.half_patch_m = half_width_m
        self._begins_m = track.begins_m

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        """Begin rollouts in some slots; the patch of a start is a leg."""
        self.sim.begin(slots, starts)

    def observations(self) -> Any:
        """Observation groups by name."""
        return self.sim.observations()

    def step(self, actions: torch.Tensor) -> StepReport:
        """One control step of all slots."""
        report = self.sim.step(actions)
        legs = grid_terrain(self.env).terrain_levels.cpu().numpy()
        position = report.position_m.copy()
        position[:, 0] += self._begins_m[legs]
        return StepReport(
            position, report.has_fallen, report.has_diverged, report.measures
        )

    def close(self) -> None:
        """Free the simulation."""
        self.sim.close()


def make_strip_env_cfg(
    source: PolicySource,
    protocol: Protocol,
    scene: StripSceneCfg,
    num_slots: int,
    num_threads: int | None = None,
    track: Track | None = None,
) -> ManagerBasedRlEnvCfg:
    """Configure the environment of a job; see `make_strip_env`."""
    cfg = make_eval_env_cfg(source, protocol, _ANY_GROUND, num_slots, num_threads)
    terrain = cfg.scene.terrain
    assert isinstance(terrain, GridTerrainCfg)
    terrain.scene = scene
    cfg.commands = {COMMAND: LineCommandCfg(**vars(cfg.commands[COMMAND]))}
    at_m = scene.strips[0].obstacle_at_m
    if at_m is not None:
        add_obstacle(cfg, ObstacleCfg())
        cfg.events[_PUT_OBSTACLE] = EventTermCfg(
            func=put_obstacle, mode="reset", params={"at_m": at_m}
        )
    if track is not None:
        cfg.events[_CHANGE_LEGS] = EventTermCfg(
            func=change_legs, mode="step", params={"track": track}
        )
    return cfg


def make_strip_env(
    source: PolicySource,
    protocol: Protocol,
    scene: StripSceneCfg,
    half_width_m: float,
    num_slots: int,
    num_threads: int | None = None,
    track: Track | None = None,
) -> StripEnv:
    """Build the environment of a job.

    Args:
        source: The policy to come, which decides what is observed.
        protocol: With the limits of the job.
        scene: The strips.
        half_width_m: How far from the centre line a robot may get.
        num_slots: Rounded up to a multiple of `LANES`.
        num_threads: Threads of the physics.
        track: How strips follow each other; each is a way of its own if left out.
    """
    num_slots = -(-num_slots // LANES) * LANES
    cfg = make_strip_env_cfg(source, protocol, scene, num_slots, num_threads, track)
    env = make_env(cfg)
    sim = SimEnv(env, source.robot.base_height_m, protocol.start.clearance_m)
    num_strips = len(scene.strips)
    alone = Track(np.zeros(num_strips), np.zeros(num_strips))
    return StripEnv(sim, track or alone, half_width_m)
