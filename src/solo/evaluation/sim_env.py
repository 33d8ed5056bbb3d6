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
from mjlab.tasks.velocity.mdp import UniformVelocityCommand, UniformVelocityCommandCfg

from solo.envs.commands_cfg import make_command
from solo.envs.depth_sensor_cfg import DepthSensorCfg
from solo.envs.locomotion_env_cfg import make_locomotion_env_cfg, make_simulation_cfg
from solo.envs.make import make_env
from solo.envs.mdp.terrain import grid_terrain
from solo.envs.names import COMMAND, FALL
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.protocols import Cell, Protocol
from solo.evaluation.rollout import LANES, StepReport
from solo.evaluation.starts import Start
from solo.terrains.scene import TerrainSceneCfg

GAIT = ("velocity_error", "single_stance", "foot_lift")
PENALTIES = ("feet_stumble", "foothold_grad_penalty")
MEASURES = (*GAIT, *PENALTIES)
"""Metrics and rewards that are averaged over the steps of a rollout, without weights.
Stance and lift tell a robot that walks from one that stands and shuffles."""

_BEGIN = "begin_rollouts"
_DIVERGED = "physics_diverged"
_SOLE_M = 0.15
"""The ground of a start is the highest point within this distance along x and y."""


def make_scene_cfg(protocol: Protocol, cell: Cell) -> TerrainSceneCfg:
    """A row of patches along +x: those to start on, and one to end on."""
    return TerrainSceneCfg(
        variants=(cell.terrain,),
        num_levels=protocol.num_patches + 1,
        patch_m=cell.patch_m,
        seed=protocol.terrain_seed,
        difficulty=cell.difficulty,
    )


def make_eval_env_cfg(
    source: PolicySource,
    protocol: Protocol,
    cell: Cell,
    num_slots: int,
    num_threads: int | None = None,
) -> ManagerBasedRlEnvCfg:
    """The environment of training without noise, pushes and randomisation."""
    timestep, decimation = source.physics
    sim = make_simulation_cfg(num_threads=num_threads)
    sim.mujoco = replace(sim.mujoco, timestep=timestep)
    cfg = make_locomotion_env_cfg(
        source.robot,
        stage=source.stage,
        num_envs=num_slots,
        terrain=make_scene_cfg(protocol, cell),
        sim=sim,
        depth=DepthSensorCfg.for_robot(source.robot, clean=True),
        seed=protocol.seed,
    )
    cfg.decimation = decimation
    cfg.auto_reset = False
    # The loop ends rollouts, one step earlier.
    cfg.episode_length_s = protocol.limits.time_s + 1.0
    cfg.curriculum = {}
    cfg.observations = {
        name: group for name, group in cfg.observations.items() if name in source.groups
    }
    for group in cfg.observations.values():
        group.enable_corruption = False
    cfg.commands = {COMMAND: PlannedCommandCfg(**vars(make_command("stress")))}
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
    cfg.metrics = {}
    cfg.scale_rewards_by_dt = False
    return cfg


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


@dataclass(kw_only=True)
class PlannedCommandCfg(UniformVelocityCommandCfg):
    """The stress command with forward velocities that are given, not drawn."""

    def build(self, env: ManagerBasedRlEnv) -> PlannedCommand:
        """Build the term."""
        return PlannedCommand(self, env)


class PlannedCommand(UniformVelocityCommand):
    """Straight ahead at `forward_m_s`, with the heading held along +x."""

    def __init__(self, cfg: PlannedCommandCfg, env: ManagerBasedRlEnv) -> None:
        super().__init__(cfg, env)
        self.forward_m_s = torch.zeros(self.num_envs, device=self.device)
        """Command of the next rollout of each slot, [B]."""
        self.is_heading_env[:] = True

    def _resample_command(self, env_ids: torch.Tensor) -> None:
        self.vel_command_b[env_ids] = 0.0
        self.vel_command_b[env_ids, 0] = self.forward_m_s[env_ids]


class SimEnv:
    """See `solo.evaluation.rollout.RolloutEnv`."""

    lanes = LANES

    def __init__(
        self, env: ManagerBasedRlEnv, base_height_m: float, clearance_m: float
    ) -> None:
        """Wrap an environment of `make_eval_env_cfg`.

        Args:
            env: The environment.
            base_height_m: Height of the base over the ground in the default pose.
            clearance_m: Height that robots are dropped from.
        """
        self.env = env
        self.num_slots, self.step_s = env.num_envs, env.step_dt
        self._lift_m = base_height_m + clearance_m
        self._terrain = grid_terrain(env)
        self.half_patch_m = self._terrain.cfg.scene.patch_m / 2
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
            self._place(slot, start.patch, start.offset_m)
            self._plan.joint_scale[slot] = torch.from_numpy(start.joint_scale)
            self._command.forward_m_s[slot] = start.forward_m_s
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
        manager = env.reward_manager
        # mjlab gives the values of a step for one environment at a time only.
        values = manager._step_reward.cpu().numpy().astype(np.float64)
        ends = env.termination_manager
        return StepReport(
            position_m=position[:, :2].cpu().numpy().astype(np.float64),
            has_fallen=ends.get_term(FALL).cpu().numpy(),
            has_diverged=ends.get_term(_DIVERGED).cpu().numpy(),
            measures={n: values[:, i] for i, n in enumerate(manager.active_terms)},
        )

    def close(self) -> None:
        """Free the simulation."""
        self.env.close()

    def _place(self, slot: int, patch: int, offset_m: np.ndarray) -> None:
        terrain = self._terrain
        assert terrain.env_origins is not None
        origin = terrain.terrain_scene.origins_m[patch, 0]
        terrain.env_origins[slot] = torch.from_numpy(origin)
        terrain.terrain_levels[slot] = patch
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
    cell: Cell,
    num_slots: int,
    num_threads: int | None = None,
) -> SimEnv:
    """Build the environment of a job; the number of slots is rounded up to `LANES`."""
    num_slots = -(-num_slots // LANES) * LANES
    cfg = make_eval_env_cfg(source, protocol, cell, num_slots, num_threads)
    return SimEnv(make_env(cfg), source.robot.base_height_m, protocol.start.clearance_m)
