"""The simulation as the rollout loop wants it: slots that begin as they are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from mjlab.managers.event_manager import EventTermCfg
from mjlab.managers.reward_manager import RewardTermCfg
from mjlab.utils.lab_api.math import euler_xyz_from_quat

from solo.envs.grid_terrain import grid_terrain
from solo.envs.locomotion_env_cfg import (
    make_locomotion_env_cfg,
    make_simulation_cfg,
    stress_command,
)
from solo.envs.make import make_env
from solo.envs.mdp.soft_voids import FootVoids
from solo.envs.mdp.voids import foot_poses
from solo.envs.names import COMMAND, FALL
from solo.envs.obstacle import ObstacleCfg, add_obstacle
from solo.evaluation.mdp import (
    LineCommandCfg,
    PlannedCommand,
    PlannedCommandCfg,
    Track,
    base_motion,
    change_legs,
    put_obstacle,
)
from solo.evaluation.protocols import EvalCell, Protocol, Start
from solo.evaluation.rollout import LANES, PolicySource, StepReport
from solo.results import Landing
from solo.robots.robot_cfg import RobotCfg
from solo.terrains.scene import VOID_VARIANTS
from solo.terrains.strips.strip import StripSceneCfg

GAIT = ("velocity_error", "single_stance", "foot_lift")
PENALTIES = ("feet_stumble", "foothold_grad_penalty")
"""Metrics and rewards that are averaged over the steps of a rollout, without weights.
Stance and lift tell a robot that walks from one that stands and shuffles."""

MOTION = ("moved_forward", "moved_sideways", "turned")
"""Mean motion of the base, m/s and rad/s, where a protocol asks for it."""

_BEGIN = "begin_rollouts"
_DIVERGED = "physics_diverged"
_CHANGE_LEGS = "change_legs"
_PUT_OBSTACLE = "put_obstacle"
_SOLE_M = 0.15
"""The ground of a start is the highest point within this distance along x and y."""


def make_eval_env_cfg(
    source: PolicySource,
    protocol: Protocol,
    cell: EvalCell,
    num_slots: int,
    num_threads: int | None = None,
) -> ManagerBasedRlEnvCfg:
    """The environment of training without noise, pushes and randomisation."""
    scene, limits = protocol.scene(cell), protocol.limits_of(cell)
    timestep, decimation = source.physics
    sim = make_simulation_cfg(num_threads=num_threads)
    sim.mujoco = replace(sim.mujoco, timestep=timestep)
    cfg = make_locomotion_env_cfg(
        source.robot,
        stage=source.stage,
        num_envs=num_slots,
        terrain=scene,
        sim=sim,
        depth=source.robot.depth_sensor(clean=True),
        seed=protocol.seed,
    )
    cfg.decimation = decimation
    cfg.auto_reset = False
    # The loop ends rollouts, one step earlier.
    cfg.episode_length_s = limits.time_s + 1.0
    cfg.curriculum = {}
    cfg.observations = {
        name: group for name, group in cfg.observations.items() if name in source.groups
    }
    for group in cfg.observations.values():
        group.enable_corruption = False
    command = LineCommandCfg if protocol.follows_line else PlannedCommandCfg
    cfg.commands = {COMMAND: command(**vars(stress_command()))}
    cfg.events = {
        _BEGIN: EventTermCfg(
            func=put_at_start,
            mode="reset",
            params={"plan": Plan.empty(num_slots, len(source.robot.joint_names))},
        )
    }
    terms = {name: cfg.metrics[name] for name in GAIT}
    terms |= {name: cfg.rewards[name] for name in PENALTIES}
    cfg.rewards = {
        name: RewardTermCfg(func=term.func, weight=1.0, params=term.params)
        for name, term in terms.items()
    }
    if protocol.measures_motion:
        cfg.rewards |= {
            name: RewardTermCfg(func=base_motion, weight=1.0, params={"axis": axis})
            for axis, name in enumerate(MOTION)
        }
    cfg.metrics = {}
    cfg.scale_rewards_by_dt = False
    if isinstance(scene, StripSceneCfg):
        _add_legs(cfg, scene, protocol.turns(cell))
    return cfg


def _add_legs(
    cfg: ManagerBasedRlEnvCfg,
    scene: StripSceneCfg,
    turns: Sequence[tuple[float, float]] | None,
) -> None:
    """Add what strips have besides ground: the obstacle, and the way to the next."""
    at_m = scene.strips[0].obstacle_at_m
    if at_m is not None:
        add_obstacle(cfg, ObstacleCfg())
        cfg.events[_PUT_OBSTACLE] = EventTermCfg(
            func=put_obstacle, mode="reset", params={"at_m": at_m}
        )
    if turns is not None:
        cfg.events[_CHANGE_LEGS] = EventTermCfg(
            func=change_legs, mode="step", params={"track": Track.of(turns)}
        )


@dataclass(eq=False)
class Plan:
    """Where the robot of each slot begins next; B slots."""

    position_w: torch.Tensor
    """Base, [B, 3]."""
    joint_scale: torch.Tensor
    """Of the default pose, [B, joints]."""

    @staticmethod
    def empty(num_slots: int, num_joints: int) -> Plan:
        """Default poses at the world's origin."""
        return Plan(torch.zeros(num_slots, 3), torch.ones(num_slots, num_joints))


def put_at_start(
    env: ManagerBasedRlEnv, env_ids: torch.Tensor | None, plan: Plan
) -> None:
    """Put robots where the plan says: upright, facing +x, at rest."""
    ids = torch.arange(env.num_envs) if env_ids is None else env_ids
    robot, rows = env.scene["robot"], ids.cpu()
    pose = torch.zeros(len(ids), 7)
    pose[:, :3], pose[:, 3] = plan.position_w[rows], 1.0
    robot.write_root_link_pose_to_sim(pose.to(env.device), env_ids=ids)
    rest = torch.zeros(len(ids), 6, device=env.device)
    robot.write_root_link_velocity_to_sim(rest, env_ids=ids)
    joints = robot.data.default_joint_pos[ids] * plan.joint_scale[rows].to(env.device)
    low, high = robot.data.soft_joint_pos_limits[ids].unbind(dim=-1)
    robot.write_joint_state_to_sim(
        joints.clamp(low, high), torch.zeros_like(joints), env_ids=ids
    )


class Footsteps:
    """Finds the touch-downs of a step beside holes."""

    def __init__(self, env: ManagerBasedRlEnv) -> None:
        # This term knows feet and soles.
        params = env.reward_manager.get_term_cfg("foothold_grad_penalty").params
        self._env, self._terrain = env, grid_terrain(env)
        self._sensor = env.scene[params["sensor_name"]]
        self._feet = params["asset_cfg"]
        scene = self._terrain.terrain_scene
        self._voids = FootVoids(scene, params["footprint"], env.device)

    def landings(self) -> list[tuple[int, Landing]]:
        """Environment and touch-down of each foot that has just come down."""
        landed = self._sensor.compute_first_contact(self._env.step_dt)
        pos_w, quat_w = (part[landed] for part in foot_poses(self._env, self._feet))
        slots = landed.nonzero()[:, 0]
        over = self._voids.share(pos_w, quat_w)
        shifted = self._voids.shifted_share(pos_w, quat_w)
        yaw = euler_xyz_from_quat(quat_w)[2]
        origins = self._terrain.env_origins
        assert origins is not None
        place = (pos_w - origins[slots])[:, :2]
        rows = torch.column_stack((place, yaw, over, shifted)).tolist()
        return [
            (slot, Landing(*row))
            for slot, row in zip(slots.tolist(), rows, strict=True)
            if row[3] + row[4] > 0.0
        ]


class SimEnv:
    """See `solo.evaluation.rollout.RolloutEnv`."""

    lanes = LANES

    def __init__(
        self,
        env: ManagerBasedRlEnv,
        robot: RobotCfg,
        protocol: Protocol,
        cell: EvalCell,
    ) -> None:
        """Wrap the environment of a job, see `make_eval_env_cfg`."""
        self.env = env
        self.num_slots, self.step_s = env.num_envs, env.step_dt
        self._lift_m = robot.base_height_m + protocol.start.clearance_m
        self._terrain = grid_terrain(env)
        self.half_patch_m = protocol.half_width_m(cell)
        turns = protocol.turns(cell)
        self.track = None if turns is None else Track.of(turns)
        """How patches follow each other, if they are the legs of one way."""
        has_holes = cell.terrain in {*self._terrain.variant_names} & {*VOID_VARIANTS}
        self._feet = Footsteps(env) if has_holes else None
        # mjlab copies the configuration.
        self._plan: Plan = env.event_manager.get_term_cfg(_BEGIN).params["plan"]
        command = env.command_manager.get_term(COMMAND)
        assert isinstance(command, PlannedCommand)
        self._command = command
        self._must_reset = np.zeros(self.num_slots, dtype=bool)
        for slot in range(self.num_slots):  # Those that wait stand on the first patch.
            self._place(slot, 0, np.zeros(2))
        env.reset()

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        """Begin rollouts in some slots."""
        for slot, start in zip(slots, starts, strict=True):
            self._place(slot, start.patch, start.offset_m, start.column)
            self._plan.joint_scale[slot] = torch.from_numpy(start.joint_scale)
            command, turn = self._command, start.turn_rad_s
            command.forward_m_s[slot] = start.forward_m_s
            command.sideways_m_s[slot] = start.sideways_m_s
            command.turn_rad_s[slot] = torch.nan if turn is None else turn
        self._reset(np.asarray(slots))

    def observations(self) -> Any:
        """Observation groups by name."""
        return self.env.obs_buf

    def step(self, actions: torch.Tensor) -> StepReport:
        """One control step; slots whose robot has fallen and that wait begin anew."""
        waiting = np.flatnonzero(self._must_reset)
        if len(waiting):
            self._reset(waiting)
        env = self.env
        _, _, terminated, truncated, _ = env.step(actions)
        self._must_reset = (terminated | truncated).cpu().numpy().astype(bool)
        origins = self._terrain.env_origins
        assert origins is not None
        position = env.scene["robot"].data.root_link_pos_w - origins
        position_m = position[:, :2].cpu().numpy().astype(np.float64)
        if self.track is not None:
            position_m[:, 0] += self.track.begins_m[self._terrain.terrain_levels.cpu()]
        manager = env.reward_manager
        # mjlab gives the values of a step for one environment at a time only.
        values = manager._step_reward.cpu().numpy().astype(np.float64)
        ends = env.termination_manager
        return StepReport(
            position_m=position_m,
            has_fallen=ends.get_term(FALL).cpu().numpy(),
            has_diverged=ends.get_term(_DIVERGED).cpu().numpy(),
            measures={n: values[:, i] for i, n in enumerate(manager.active_terms)},
            landings=None if self._feet is None else self._feet.landings(),
        )

    def close(self) -> None:
        """Free the simulation."""
        self.env.close()

    def _place(
        self, slot: int, patch: int, offset_m: np.ndarray, column: int = 0
    ) -> None:
        terrain = self._terrain
        assert terrain.env_origins is not None
        origin = terrain.terrain_scene.origins_m[patch, column]
        terrain.env_origins[slot] = torch.from_numpy(origin)
        terrain.terrain_levels[slot], terrain.terrain_types[slot] = patch, column
        x, y = origin[:2] + offset_m
        sole = np.linspace(-_SOLE_M, _SOLE_M, 7)
        ground = terrain.grid.surface_at(*np.meshgrid(x + sole, y + sole))
        position = np.array([x, y, ground.max() + self._lift_m])
        self._plan.position_w[slot] = torch.from_numpy(position)

    def _reset(self, slots: np.ndarray) -> None:
        self.env.reset(env_ids=torch.from_numpy(slots).to(self.env.device))
        self._must_reset[slots] = False


def make_sim_env(
    source: PolicySource,
    protocol: Protocol,
    cell: EvalCell,
    num_slots: int,
    num_threads: int | None = None,
) -> SimEnv:
    """Build the environment of a job; the number of slots is rounded up to `LANES`."""
    num_slots = -(-num_slots // LANES) * LANES
    cfg = make_eval_env_cfg(source, protocol, cell, num_slots, num_threads)
    return SimEnv(make_env(cfg), source.robot, protocol, cell)
