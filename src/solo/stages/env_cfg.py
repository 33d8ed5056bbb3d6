"""The environment of a stage, as a profile wants it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from mjlab.envs import ManagerBasedRlEnvCfg
from mjlab.managers.curriculum_manager import CurriculumTermCfg
from mjlab.managers.event_manager import EventTermCfg
from mjlab.managers.reward_manager import RewardTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.managers.termination_manager import TerminationTermCfg
from mjlab.sim import MujocoCfg

from solo.envs import mdp
from solo.envs.events_cfg import PUSH
from solo.envs.grid_terrain import GridTerrainCfg
from solo.envs.locomotion_env_cfg import make_locomotion_env_cfg, make_simulation_cfg
from solo.envs.names import COMMAND, FEET_CONTACT
from solo.envs.observations_cfg import BLURRED_VELOCITY, Stage, make_blurred_velocity
from solo.motions.library import MotionLibrary
from solo.robots.robot_cfg import RobotCfg
from solo.stages.profiles import EaseInCfg, Profile

STAGES: tuple[Stage, ...] = ("teacher", "student", "perceptive")


def make_stage_env_cfg(
    robot: RobotCfg,
    stage: Stage,
    profile: Profile,
    motions: MotionLibrary,
    *,
    num_envs: int | None = None,
    seed: int = 0,
    terrain_weights: Mapping[str, float] | None = None,
    **changes: Any,
) -> ManagerBasedRlEnvCfg:
    """Configure the environment of a stage.

    Args:
        robot: The robot.
        stage: Which stage.
        profile: Sizes.
        motions: Reference motions for the starts of episodes.
        num_envs: Other number of environments than the profile's.
        seed: Seed.
        terrain_weights: Robots on a terrain relative to the others; equal if None.
        **changes: Other arguments of ``make_locomotion_env_cfg``.
    """
    timestep, decimation = profile.physics
    sim = make_simulation_cfg()
    if timestep != sim.mujoco.timestep:
        sim = make_simulation_cfg(mujoco=_with_timestep(sim.mujoco, timestep))
    cfg = make_locomotion_env_cfg(
        robot,
        stage=stage,
        num_envs=num_envs or profile.num_envs[STAGES.index(stage)],
        sim=sim,
        seed=seed,
        **changes,
    )
    cfg.decimation = decimation
    if profile.velocity_error > 0.0 and stage != "teacher":
        cfg.observations[BLURRED_VELOCITY] = make_blurred_velocity(
            profile.velocity_error
        )
    assert isinstance(cfg.scene.terrain, GridTerrainCfg)
    cfg.scene.terrain.weights = dict(terrain_weights or {})
    cfg.scene.terrain.max_init_terrain_level = profile.max_init_level
    if profile.ease_in is not None:
        _add_ease_in(cfg, profile.ease_in, motions, robot)
        # Who has a teacher need not be held: falling, too, it is told what to do.
        if profile.ease_in.assist and stage == "teacher":
            add_assist(cfg, robot)
    return cfg


def add_assist(cfg: ManagerBasedRlEnvCfg, robot: RobotCfg) -> None:
    """Hold robots upright at first; see `solo.envs.mdp.assist`."""
    held = SceneEntityCfg("robot", body_names=(robot.base_body, robot.torso_body))
    cfg.events[mdp.ASSIST] = EventTermCfg(
        func=mdp.upright_assist,
        mode="step",
        params={"strength": 1.0, "asset_cfg": held},
    )
    cfg.curriculum["assist"] = CurriculumTermCfg(func=mdp.fade_assist)
    # A robot that is held upright can rest on its knees for a whole episode.
    feet = SceneEntityCfg("robot", body_names=tuple(f.body for f in robot.feet))
    cfg.terminations["collapsed"] = TerminationTermCfg(
        func=mdp.collapsed,
        params={"min_height_m": 0.68 * robot.base_height_m, "asset_cfg": feet},
    )
    cfg.rewards["termination_penalty"].params["term_names"] += ("collapsed",)


def _with_timestep(cfg: MujocoCfg, timestep: float) -> MujocoCfg:
    return replace(cfg, timestep=timestep)


def _add_ease_in(
    cfg: ManagerBasedRlEnvCfg, ease: EaseInCfg, motions: MotionLibrary, robot: RobotCfg
) -> None:
    feet = SceneEntityCfg("robot", body_names=tuple(f.body for f in robot.feet))
    steps = {"sensor_name": FEET_CONTACT, "command_name": COMMAND, "asset_cfg": feet}
    cfg.rewards["swing_lift"] = RewardTermCfg(
        func=mdp.swing_lift, weight=0.0, params=steps
    )
    cfg.rewards["stride"] = RewardTermCfg(
        func=mdp.stride, weight=ease.stride_weight, params=deepcopy(steps)
    )
    cfg.events["reset_to_reference"] = EventTermCfg(
        func=mdp.reset_to_reference,
        mode="reset",
        params={"motions": motions, "probability": ease.reference_start / 2},
    )
    start: dict[str, Any] = {
        "command/lin_vel_x": ease.lin_vel_x,
        "command/lin_vel_y": ease.lin_vel_y,
        "command/ang_vel_z": ease.ang_vel_z,
        "reward/foothold_grad_penalty": ease.foothold_weight,
        "event/reset_to_reference/probability": ease.reference_start,
        "event/reset_base/velocity_range": {},
        f"event/{PUSH}/velocity_range": {},
    }
    # Roll and pitch at the start of an episode; the rest of the pose stays as it is.
    pose = dict(cfg.events["reset_base"].params["pose_range"])
    start["event/reset_base/pose_range"] = {
        **pose, "roll": (0.0, 0.0), "pitch": (0.0, 0.0)
    }  # fmt: skip
    start["event/reset_joints/scale"] = (0.9, 1.1)
    swing = {"reward/swing_lift": ease.swing_weight, "reward/stride": 0.0}
    for name, values, env_steps in (
        ("ease_in", start, ease.env_steps),
        ("swing_fades", swing, ease.swing_env_steps),
    ):
        cfg.curriculum[name] = CurriculumTermCfg(
            func=mdp.ease_in,
            params={"start": values, "env_steps": env_steps, "command_name": COMMAND},
        )
