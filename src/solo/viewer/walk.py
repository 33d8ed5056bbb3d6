"""Robots that a policy walks over a terrain, step by step, again and again.

One of them is watched. A bundle goes through the runtime of the robot
(`solo.evaluation.bundle`): its observation windows, its ONNX policy and its safety
checks. Checkpoints and agents act in the simulation directly.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from mjlab.envs.mdp import push_by_setting_velocity

from solo.deploy.bundle.policy import BundlePolicy
from solo.deploy.command import CommandCfg
from solo.envs.grid_terrain import grid_terrain
from solo.envs.make import make_env
from solo.envs.mdp.depth import depth_images
from solo.envs.names import COMMAND
from solo.envs.observations_cfg import make_observations
from solo.evaluation.bundle import DAMPED, BundleRollouts
from solo.evaluation.mdp import LineCommand, LineCommandCfg
from solo.evaluation.policies import NetworkPolicy, PerceptivePolicy
from solo.evaluation.protocols import Start
from solo.evaluation.rollout import LANES, Policy, PolicySource, StepReport, classify
from solo.evaluation.sim_env import SimEnv, make_eval_env_cfg
from solo.networks.ame import AmeEncoder
from solo.pictures.images import Perception, cell_points_w
from solo.reconstruction.perceiver import DEPTH, TRUE_MAP
from solo.sensors.height_map import HeightMapCfg
from solo.terrains.scene import TerrainScene
from solo.viewer.ground import Ground

SAFETY_STOP, LEFT_TERRAIN = "safety_stop", "left_terrain"
"""Ends that the evaluation does not have: the runtime had taken control from the policy
and the robot did not fall for `_DAMPED_S`; it came to the edge of the world."""

END_WORDS = {
    "success": "finished",
    "fall": "fell",
    "time_out": "too slow",
    "left_patch": "left the path",
    "left_terrain": "left the terrain",
    "safety_stop": "stopped by the runtime",
    "diverged": "physics diverged",
}
"""End of an attempt to how people say it."""

_DAMPED_S = 2.0
_FOREVER_S = 1e6


@dataclass(frozen=True, eq=False)
class Moment:
    """One control step: the state that was acted in, and what came of it."""

    seconds: float
    """Simulated time since the start of the attempt."""
    qpos: np.ndarray
    """The robot's, [7 + joints], and the obstacle's behind it if there is one, [7]."""
    position_m: np.ndarray
    """Base from the start of the terrain, along and across, [2]."""
    command: np.ndarray
    """vx, vy, wz, [3]."""
    velocity: np.ndarray
    """Actual velocity, vx, vy, wz in the base's frame, [3]."""
    map_error_m: float
    """Mean error of the reconstructed map; NaN when none was reconstructed."""
    policy_s: float
    """What the policy took, for all robots."""
    step_s: float
    """What all took: policy, physics and camera."""
    end: str | None
    """How the attempt ended with this step; None if it goes on."""
    others: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    """States of the other robots, [R, 7 + joints (+ 7)]."""
    other_ends: tuple[str, ...] = ()
    """How attempts of others ended with this step."""


@dataclass(kw_only=True)
class DriveCommandCfg(LineCommandCfg):
    """Follow the line; one robot may be driven."""

    def build(self, env: ManagerBasedRlEnv) -> DriveCommand:
        """Build the term."""
        return DriveCommand(self, env)


class DriveCommand(LineCommand):
    """The command of the course; the first robot's may be another."""

    wanted: tuple[float, float, float] | None = None
    """vx, vy, wz of the first robot; m/s, m/s, rad/s."""

    def _update_command(self, env_ids: torch.Tensor | None = None) -> None:
        super()._update_command(env_ids)
        if self.wanted is not None:
            self.vel_command_b[0] = torch.tensor(self.wanted, device=self.device)


class Insight:
    """What a policy made of the last observations: its map, and where it looks."""

    def __init__(self, policy: Policy) -> None:
        """Listen to the map encoder of a network, if the policy has one."""
        self._policy = policy
        self._blocks: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._reconstructs = isinstance(policy, BundleRollouts | PerceptivePolicy)
        if isinstance(policy, NetworkPolicy | PerceptivePolicy):
            for module in policy.model.modules():
                if isinstance(module, AmeEncoder):
                    module.register_forward_hook(self._listen)

    def forget(self) -> None:
        """The policy acts next."""
        self._blocks.clear()

    def look(self, slot: int) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The reconstructed map [Y, X] and the attention [Y', X'], each if there is."""
        if isinstance(self._policy, BundleRollouts):
            runtime = self._policy.runtime(slot)
            assert runtime is not None
            assert isinstance(runtime.policy, BundlePolicy)
            view = runtime.policy.view
            return (None, None) if view is None else (view.height_map, view.attention)
        if not self._blocks:
            return None, None
        block, row = divmod(slot, LANES)
        map_m, attention = (part[row].cpu().numpy() for part in self._blocks[block])
        return map_m if self._reconstructs else None, attention.mean(axis=0)

    def _listen(self, module: object, args: tuple, output: tuple) -> None:
        # A symmetric network has the mirror images behind the states.
        self._blocks.append((args[1], output[1]))


class Walk:
    """The simulation that is watched; not thread-safe. The first robot is watched."""

    def __init__(
        self,
        source: PolicySource,
        ground: Ground,
        num_robots: int = 1,
        depth_errors: bool = False,
    ) -> None:
        """Build the simulation and begin the first attempts; robots do not meet.

        Depth may have the camera errors of training.
        """
        self.source, self.ground, self.num_robots = source, ground, num_robots
        env = make_env(_make_cfg(source, ground, num_robots, depth_errors))
        self.env, self.step_s = env, env.step_dt
        self._sim = SimEnv(env, source.robot, ground.protocol, ground.cell)
        command = env.command_manager.get_term(COMMAND)
        assert isinstance(command, DriveCommand)
        self._policy, self._command = source.make(env), command
        self._insight = Insight(self._policy)
        manager = env.observation_manager
        self.map_cfg: HeightMapCfg = manager.get_term_cfg(TRUE_MAP, TRUE_MAP).params[
            "cfg"
        ]
        self._centres_h = self.map_cfg.centres_h()
        camera = manager.get_term_cfg(DEPTH, DEPTH).func
        assert isinstance(camera, depth_images)
        self._camera, self._depth_errors = camera, depth_errors
        self.perception: Perception | None = None
        """Of the policy's last step; None before the first."""
        self._attempts = np.zeros(num_robots, dtype=int)
        self._steps = np.zeros(num_robots, dtype=int)
        self._damped_steps = np.zeros(num_robots, dtype=int)
        self.begin(range(num_robots))

    @property
    def terrain(self) -> TerrainScene:
        """What is walked on."""
        return grid_terrain(self.env).terrain_scene

    @property
    def command_range(self) -> CommandCfg:
        """Velocity commands that the policy was trained with."""
        if isinstance(self._policy, BundleRollouts):
            runtime = self._policy.runtime(0)
            assert runtime is not None
            return runtime.cfg.command
        return CommandCfg()

    @property
    def leg_begins_m(self) -> np.ndarray:
        """Where the legs of the way begin along it, [L]; one leg on most terrains."""
        track = self._sim.track
        return np.zeros(1) if track is None else track.begins_m

    def drive(self, wanted: tuple[float, float, float] | None) -> None:
        """Command vx, vy, wz from the next step on; None follows the course again."""
        self._command.wanted = wanted

    def push(self, velocity_m_s: tuple[float, float]) -> None:
        """Add a velocity to the base's, world x and y, as the pushes of training do."""
        (x, y), watched = velocity_m_s, torch.zeros(1, dtype=torch.long)
        push_by_setting_velocity(
            self.env, watched.to(self.env.device), {"x": (x, x), "y": (y, y)}
        )

    @torch.inference_mode()
    def begin(self, slots: Sequence[int] = (0,)) -> None:
        """Begin attempts: at rest near the start, with nothing remembered."""
        starts, chosen = [self._draw_start(slot) for slot in slots], list(slots)
        self._sim.begin(chosen, starts)
        self._policy.begin(chosen, starts)
        self._attempts[chosen] += 1
        self._steps[chosen] = self._damped_steps[chosen] = 0

    @torch.inference_mode()
    def step(self) -> Moment:
        """One control step. If it ends the attempt of the first robot, `begin` comes
        next; the others begin again by themselves.
        """
        observations, data = self._sim.observations(), self.env.scene["robot"].data
        states = self.env.sim.data.qpos.cpu().double().numpy().copy()
        velocity = torch.cat(
            [data.root_link_lin_vel_b[0, :2], data.root_link_ang_vel_b[0, 2:]]
        )
        velocity = velocity.cpu().double().numpy()
        command = self._command.command[0].cpu().double().numpy().copy()
        position_m = self._position_m(states[0])
        self._insight.forget()
        begin = time.perf_counter()
        actions, measures = self._policy.act(observations)
        policy_s = time.perf_counter() - begin
        is_damped = measures.get(DAMPED, np.zeros(self.num_robots)) > 0.0
        if not is_damped[0]:
            self.perception = self._perceive(observations, states[0])
        report = self._sim.step(actions)
        step_s = time.perf_counter() - begin

        self._steps += 1
        self._damped_steps += is_damped
        end, *ends = self._find_ends(report)
        others = [slot for slot, other in enumerate(ends, 1) if other is not None]
        if others:
            self.begin(others)
        errors = measures.get("height_map_l1_m", np.full(self.num_robots, np.nan))
        return Moment(
            seconds=(self._steps[0] - 1) * self.step_s,
            qpos=states[0],
            position_m=position_m,
            command=command,
            velocity=velocity,
            map_error_m=np.nan if is_damped[0] else float(errors[0]),
            policy_s=policy_s,
            step_s=step_s,
            end=end,
            others=states[1:],
            other_ends=tuple(other for other in ends if other is not None),
        )

    def close(self) -> None:
        """Free the simulation."""
        self._sim.close()

    def _draw_start(self, slot: int) -> Start:
        """Robots take turns at the starts of the protocol."""
        ground, num_joints = self.ground, len(self.source.robot.joint_names)
        index = slot + self.num_robots * int(self._attempts[slot])
        return ground.protocol.draw_start(ground.cell, index, num_joints)

    def _position_m(self, qpos: np.ndarray) -> np.ndarray:
        """Along and across the way of the first robot, [2]."""
        terrain = grid_terrain(self.env)
        assert terrain.env_origins is not None
        position = qpos[:2] - terrain.env_origins[0, :2].cpu().double().numpy()
        if self._sim.track is not None:
            position[0] += self.leg_begins_m[int(terrain.terrain_levels[0])]
        return position

    def _find_ends(self, report: StepReport) -> list[str | None]:
        """Why attempts are over; a driven robot may go anywhere and take any time."""
        steps, half_width_m = self._steps, self._sim.half_patch_m
        max_steps = round(self.ground.time_s / self.step_s)
        outcomes = classify(
            report, steps, max_steps, self.ground.finish_m, half_width_m
        )
        if self._command.wanted is not None:
            free = (np.zeros_like(steps), max_steps, self.ground.finish_m, np.inf)
            outcomes[0] = classify(report, *free)[0]
        is_down = self._damped_steps * self.step_s >= _DAMPED_S
        ends: list[str | None] = []
        for slot, outcome in enumerate(outcomes):
            if outcome is not None:
                ends.append(outcome.value)
            elif bool(self.env.reset_buf[slot]):
                ends.append(LEFT_TERRAIN)
            else:
                ends.append(SAFETY_STOP if is_down[slot] else None)
        return ends

    def _perceive(
        self, observations: Mapping[str, torch.Tensor], qpos: np.ndarray
    ) -> Perception:
        seen_m, attention = self._insight.look(0)
        true_m = observations[TRUE_MAP][0].cpu().numpy().copy()
        acted_on_m = true_m if seen_m is None else seen_m
        max_m = self.source.robot.depth_camera.max_range_m
        return Perception(
            depth_m=observations[DEPTH][0, -1].cpu().numpy() * max_m,
            true_m=true_m,
            points_w=cell_points_w(acted_on_m, self._centres_h, qpos),
            seen_m=seen_m,
            attention=attention,
            clean_depth_m=self._clean_depth() if self._depth_errors else None,
        )

    def _clean_depth(self) -> np.ndarray:
        """The first robot's image without errors, [H, W]."""
        camera = self._camera
        pos_w, rotation_w = camera.camera_pose_w()
        radii = torch.tensor([link.radius for link in camera.cfg.self_view])
        boxes = camera.boxes_w()
        image_m = camera.camera.render(
            pos_w[:1],
            rotation_w[:1],
            camera.links_w()[:1],
            radii.to(pos_w.device),
            boxes=None if boxes is None else boxes[:1],
        )[0]
        # Where corruption follows, the term's camera renders what is too near, too.
        nearest_m = camera.cfg.camera.min_range_m
        return image_m.where(image_m >= nearest_m, 0.0).cpu().numpy()


def _make_cfg(
    source: PolicySource, ground: Ground, num_robots: int, depth_errors: bool
) -> ManagerBasedRlEnvCfg:
    """The evaluation's environment with camera and map, and robots that are driven."""
    num_threads = 1 if num_robots == 1 else None
    cfg = make_eval_env_cfg(
        source, ground.protocol, ground.cell, num_robots, num_threads
    )
    depth = source.robot.depth_sensor(clean=not depth_errors)
    groups = make_observations(source.robot, "perceptive", depth)
    cfg.observations |= {name: groups[name] for name in (DEPTH, TRUE_MAP)}
    cfg.commands = {COMMAND: DriveCommandCfg(**vars(cfg.commands[COMMAND]))}
    cfg.episode_length_s = _FOREVER_S
    return cfg
