"""One robot that a bundle walks over a terrain, step by step, again and again.

Everything goes through the runtime of the robot (`solo.evaluation.bundle`): its
observation windows, its ONNX policy and its safety checks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from mjlab.envs.mdp import push_by_setting_velocity

from solo.algorithms.perception import DEPTH, TRUE_MAP
from solo.demo.ground import Ground
from solo.demo.moment import Moment, Perception, cell_points_w
from solo.deploy.bundle_policy import BundlePolicy
from solo.deploy.command import CommandCfg
from solo.envs.make import make_env
from solo.envs.mdp.terrain import grid_terrain
from solo.envs.names import COMMAND
from solo.errors import SoloError
from solo.evaluation.bundle import DAMPED, BundleRollouts, bundle_source
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.rollout import StepReport, classify
from solo.evaluation.sim_env import SimEnv, make_eval_env_cfg
from solo.evaluation.starts import draw_start
from solo.evaluation.strip_env import make_strip_env_cfg
from solo.evaluation.strips_command import LineCommand, LineCommandCfg
from solo.sensors.perception_cfg import HeightMapCfg
from solo.terrains.scene import TerrainScene
from solo.terrains.strip import StripSceneCfg

SAFETY_STOP, LEFT_TERRAIN = "safety_stop", "left_terrain"
"""Ends that the evaluation does not have: the runtime had taken control from the policy
and the robot did not fall for `_DAMPED_S`; it came to the edge of the world."""

_DAMPED_S = 2.0
_FOREVER_S = 1e6


@dataclass(kw_only=True)
class DriveCommandCfg(LineCommandCfg):
    """Follow the line, or whoever drives."""

    def build(self, env: ManagerBasedRlEnv) -> DriveCommand:
        """Build the term."""
        return DriveCommand(self, env)


class DriveCommand(LineCommand):
    """The command of the course unless somebody drives."""

    wanted: tuple[float, float, float] | None = None
    """vx, vy, wz of who drives; m/s, m/s, rad/s."""

    def _update_command(self, env_ids: torch.Tensor | None = None) -> None:
        if self.wanted is None:
            super()._update_command(env_ids)
        else:
            self.vel_command_b[:] = torch.tensor(self.wanted, device=self.device)


def open_bundle(path: Path) -> PolicySource:
    """The policy of the demo.

    Raises:
        SoloError: It is not there, or is no bundle that can be simulated.
    """
    if path.suffix != ".onnx" or not path.is_file():
        found = "is no bundle" if path.exists() else "does not exist"
        raise SoloError(
            f"The policy {str(path)!r} {found}. Give a bundle *.onnx; `solo export` "
            "makes one of a perceptive run."
        )
    return bundle_source(path)


class Walk:
    """The simulation of the demo; not thread-safe."""

    def __init__(self, source: PolicySource, ground: Ground) -> None:
        """Build the simulation and begin the first attempt.

        Args:
            source: From `open_bundle`.
            ground: Where to walk.
        """
        self.source, self.ground = source, ground
        env = make_env(_make_cfg(source, ground))
        self.env, self.step_s = env, env.step_dt
        clearance_m = ground.protocol.start.clearance_m
        self._sim = SimEnv(env, source.robot.base_height_m, clearance_m)
        policy, command = source.make(env), env.command_manager.get_term(COMMAND)
        assert isinstance(policy, BundleRollouts)
        assert isinstance(command, DriveCommand)
        self._policy, self._command = policy, command
        term = env.observation_manager.get_term_cfg(TRUE_MAP, TRUE_MAP)
        self.map_cfg: HeightMapCfg = term.params["cfg"]
        self._centres_h = self.map_cfg.centres_h()
        self.perception: Perception | None = None
        """Of the policy's last step; None before the first."""
        self.attempts = 0
        self.begin()

    @property
    def terrain(self) -> TerrainScene:
        """What is walked on."""
        return grid_terrain(self.env).terrain_scene

    @property
    def command_range(self) -> CommandCfg:
        """Velocity commands that the policy was trained with."""
        runtime = self._policy.runtime(0)
        assert runtime is not None
        return runtime.cfg.command

    def drive(self, wanted: tuple[float, float, float] | None) -> None:
        """Command vx, vy, wz from the next step on; None follows the course again."""
        self._command.wanted = wanted

    def push(self, velocity_m_s: tuple[float, float]) -> None:
        """Add a velocity to the base's, world x and y, as the pushes of training do."""
        x, y = velocity_m_s
        push_by_setting_velocity(self.env, None, {"x": (x, x), "y": (y, y)})

    @torch.inference_mode()
    def begin(self) -> None:
        """Begin an attempt: at rest near the start, with a new runtime."""
        ground, num_joints = self.ground, len(self.source.robot.joint_names)
        start = draw_start(ground.protocol, ground.cell, self.attempts, num_joints)
        self._sim.begin([0], [start])
        self._policy.begin([0], [start])
        self.attempts += 1
        self._steps = self._damped_steps = 0

    @torch.inference_mode()
    def step(self) -> Moment:
        """One control step. If it is the end of the attempt, `begin` comes next."""
        observations, data = self._sim.observations(), self.env.scene["robot"].data
        qpos = self.env.sim.data.qpos[0].cpu().double().numpy().copy()
        velocity = torch.cat(
            [data.root_link_lin_vel_b[0, :2], data.root_link_ang_vel_b[0, 2:]]
        )
        velocity = velocity.cpu().double().numpy()
        command = self._command.command[0].cpu().double().numpy().copy()
        begin = time.perf_counter()
        actions, measures = self._policy.act(observations)
        policy_s = time.perf_counter() - begin
        is_damped = bool(measures[DAMPED][0])
        if not is_damped:
            self.perception = self._perceive(observations, qpos)
        report = self._sim.step(actions)
        step_s = time.perf_counter() - begin

        self._steps += 1
        self._damped_steps += is_damped
        return Moment(
            seconds=(self._steps - 1) * self.step_s,
            qpos=qpos,
            position_m=qpos[:2] - self.terrain.origins_m[0, 0, :2],
            command=command,
            velocity=velocity,
            map_error_m=np.nan if is_damped else float(measures["height_map_l1_m"][0]),
            policy_s=policy_s,
            step_s=step_s,
            end=self._find_end(report),
        )

    def close(self) -> None:
        """Free the simulation."""
        self._sim.close()

    def _find_end(self, report: StepReport) -> str | None:
        """Why the attempt is over; who drives may go anywhere and take any time."""
        is_driven = self._command.wanted is not None
        outcome = classify(
            report,
            np.array([0 if is_driven else self._steps]),
            round(self.ground.time_s / self.step_s),
            self.ground.finish_m,
            np.inf if is_driven else self.ground.half_width_m,
        )[0]
        if outcome is not None:
            return outcome.value
        if bool(self.env.reset_buf[0]):
            return LEFT_TERRAIN
        is_down = self._damped_steps * self.step_s >= _DAMPED_S
        return SAFETY_STOP if is_down else None

    def _perceive(
        self, observations: Mapping[str, torch.Tensor], qpos: np.ndarray
    ) -> Perception:
        runtime = self._policy.runtime(0)
        assert runtime is not None
        assert isinstance(runtime.policy, BundlePolicy)
        view = runtime.policy.view
        assert view is not None
        max_m = self.source.robot.depth_camera.max_range_m
        return Perception(
            depth_m=observations[DEPTH][0, -1].cpu().numpy() * max_m,
            true_m=observations[TRUE_MAP][0].cpu().numpy().copy(),
            seen_m=view.height_map,
            attention=view.attention,
            points_w=cell_points_w(view.height_map, self._centres_h, qpos),
        )


def _make_cfg(source: PolicySource, ground: Ground) -> ManagerBasedRlEnvCfg:
    """The evaluation's environment for one robot that may be driven."""
    if isinstance(ground.scene, StripSceneCfg):
        cfg = make_strip_env_cfg(source, ground.protocol, ground.scene, 1, 1)
    else:
        cfg = make_eval_env_cfg(source, ground.protocol, ground.cell, 1, 1)
    cfg.commands = {COMMAND: DriveCommandCfg(**vars(cfg.commands[COMMAND]))}
    cfg.episode_length_s = _FOREVER_S
    return cfg
