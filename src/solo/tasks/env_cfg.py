"""Build the environment configuration of a stage from a profile."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

from mjlab.envs import ManagerBasedRlEnvCfg
from mjlab.managers.curriculum_manager import CurriculumTermCfg
from mjlab.managers.event_manager import EventTermCfg
from mjlab.managers.observation_manager import ObservationTermCfg
from mjlab.managers.recorder_manager import RecorderTermCfg
from mjlab.managers.reward_manager import RewardTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.managers.termination_manager import TerminationTermCfg

from solo.envs import mdp
from solo.envs.events_cfg import PUSH
from solo.envs.grid_terrain import GridTerrainCfg
from solo.envs.locomotion_env_cfg import make_locomotion_env_cfg, make_simulation_cfg
from solo.envs.names import COMMAND, FEET_CONTACT
from solo.envs.observations_cfg import BLURRED_VELOCITY, Stage, make_blurred_velocity
from solo.envs.rewards_cfg import footprint
from solo.envs.terminal_observations import RECORDER, TerminalObservations
from solo.motions.catalogue import STAND, make_clips
from solo.motions.files import load_clip
from solo.motions.leg_ik import NoGaitError
from solo.motions.library import MotionLibrary
from solo.robots.robot_cfg import RobotCfg
from solo.sensors.height_map import HeightMapCfg
from solo.tasks.profiles import EaseInCfg, HolesCfg, Profile

FOOT_SCAN = HeightMapCfg(
    cells=(5, 14), cell_m=0.05, x_range_m=(-0.25, 0.45), y_range_m=(-0.125, 0.125)
)
"""Terrain heights around a foot that the critic sees: under it and ahead of it."""

STAGES: tuple[Stage, ...] = ("teacher", "student", "perceptive")


def make_stage_env_cfg(
    robot: RobotCfg,
    stage: Stage,
    profile: Profile,
    motions: MotionLibrary | None = None,
    *,
    num_envs: int | None = None,
    seed: int = 0,
    terrain_weights: Mapping[str, float] | None = None,
    **changes: Any,
) -> ManagerBasedRlEnvCfg:
    """Configure the environment of a stage; the sizes are the profile's, or as given.

    Episodes may start in ``motions``; without any, in those of `find_motions`, if the
    profile has such starts. Other changes are arguments of ``make_locomotion_env_cfg``.
    """
    timestep, decimation = profile.physics
    sim = make_simulation_cfg()
    sim.mujoco = replace(sim.mujoco, timestep=timestep)
    cfg = make_locomotion_env_cfg(
        robot,
        stage=stage,
        num_envs=num_envs or profile.stage(stage).num_envs,
        sim=sim,
        seed=seed,
        **changes,
    )
    cfg.decimation = decimation
    if stage != "teacher":
        cfg.recorders[RECORDER] = RecorderTermCfg(func=TerminalObservations)
    if profile.velocity_error > 0.0 and stage != "teacher":
        cfg.observations[BLURRED_VELOCITY] = make_blurred_velocity(
            profile.velocity_error
        )
    assert isinstance(cfg.scene.terrain, GridTerrainCfg)
    # A scene may lack terrains that the profile has weights for, not those asked for.
    of_profile = {
        name: weight
        for name, weight in profile.terrain_weights.items()
        if name in cfg.scene.terrain.scene.variants
    }
    cfg.scene.terrain.weights = dict(terrain_weights or of_profile)
    cfg.scene.terrain.max_init_terrain_level = profile.max_init_level
    cfg.scene.terrain.restart_level = profile.restart_level
    if profile.ease_in is not None:
        motions = motions or find_motions(robot, "cpu", profile.extra_motions)
        _add_ease_in(cfg, profile.ease_in, motions, robot)
        # Students need no support torque: the teacher labels their states even while
        # they fall.
        if profile.ease_in.assist and stage == "teacher":
            add_assist(cfg, robot)
    if profile.holes is not None:
        add_rows(cfg, profile.holes.along_rows)
        if stage == "teacher":
            add_soft_voids(cfg, profile.holes, robot)
    if profile.end_beyond_patch_m is not None and stage == "teacher":
        end_beyond_patch(cfg, profile.end_beyond_patch_m)
    return cfg


def make_motions(robot: RobotCfg, device: str, extras: bool = True) -> MotionLibrary:
    """The reference motions of a robot: the clips in its files, or synthesised ones.

    Synthesised ones are without standing, the gait that beginners fall back to; a prior
    must not praise it. The paper's set is walking forward and turning on the spot:
    without ``extras``.

    Raises:
        NoGaitError: It has no files, and legs for which no gait can be made.
        SoloError: A file cannot be read, or is of another robot.
    """
    if robot.motions:
        clips = [load_clip(path, robot) for path in robot.motions]
    else:
        clips = [c for c in make_clips(robot, extras=extras) if c.name != STAND]
    return MotionLibrary(clips, robot, device)


def find_motions(
    robot: RobotCfg, device: str, extras: bool = True
) -> MotionLibrary | None:
    """As `make_motions`; None if it has no files and no gait can be made."""
    try:
        return make_motions(robot, device, extras)
    except NoGaitError:
        return None


def end_beyond_patch(cfg: ManagerBasedRlEnvCfg, beyond_m: float) -> None:
    """End episodes a little beyond their patch; who falls there has not crossed it.

    The paper's curriculum, Isaac Lab's, asks for the distance alone. In the valley
    beyond the steepest stairs most robots fell, and were promoted for it.
    """
    cfg.terminations["left_patch"] = TerminationTermCfg(
        func=mdp.left_patch, time_out=True, params={"beyond_m": beyond_m}
    )
    cfg.curriculum["terrain_levels"].params["promote_fallen"] = False


def add_rows(cfg: ManagerBasedRlEnvCfg, share: float) -> None:
    """Let robots start and walk along the rows of stones; see `solo.envs.mdp.rows`."""
    command = cfg.commands[COMMAND]
    settings = {f.name: getattr(command, f.name) for f in fields(command)}
    cfg.commands[COMMAND] = mdp.RowCommandCfg(**settings, along_rows=share)
    cfg.events["start_on_row"] = EventTermCfg(
        func=mdp.start_on_row, mode="reset", params={"share": share}
    )


def add_soft_voids(cfg: ManagerBasedRlEnvCfg, holes: HolesCfg, robot: RobotCfg) -> None:
    """Fill holes at first, judge where feet land, and end episodes in open holes.

    The critic sees the ground around each foot and how much of each sole is over holes.
    Only the critic does, so deployment does not need them.
    """
    feet = SceneEntityCfg(
        "robot", body_names=tuple(f.body for f in robot.feet), preserve_order=True
    )
    soles = {"asset_cfg": feet, "footprint": footprint(robot.feet[0])}
    cfg.rewards[mdp.LANDING_COST] = RewardTermCfg(
        func=mdp.landing_cost,
        weight=holes.weight,
        params={**soles, "sensor_name": FEET_CONTACT},
    )
    cfg.observations["critic"].terms |= {
        "void_under_feet": ObservationTermCfg(
            func=mdp.void_under_feet, params=deepcopy(soles)
        ),
        "foot_scan": ObservationTermCfg(
            func=mdp.foot_scan, params={"asset_cfg": deepcopy(feet), "cfg": FOOT_SCAN}
        ),
    }
    cfg.terminations["foot_in_hole"] = TerminationTermCfg(
        func=mdp.foot_in_hole, params={"asset_cfg": deepcopy(feet)}
    )
    cfg.curriculum["terrain_levels"] = CurriculumTermCfg(
        func=mdp.soft_levels, params={"command_name": COMMAND, "voids": holes.soft}
    )


def add_assist(cfg: ManagerBasedRlEnvCfg, robot: RobotCfg) -> None:
    """Keep robots upright at first; see `solo.envs.mdp.upright_assist`."""
    bodies = tuple(dict.fromkeys((robot.base_body, robot.torso_body)))
    held = SceneEntityCfg("robot", body_names=bodies)
    cfg.events[mdp.ASSIST] = EventTermCfg(
        func=mdp.upright_assist,
        mode="step",
        params={"strength": 1.0, "asset_cfg": held},
    )
    cfg.curriculum["assist"] = CurriculumTermCfg(func=mdp.fade_assist)
    # With the support torque a robot could kneel for a whole episode.
    feet = SceneEntityCfg("robot", body_names=tuple(f.body for f in robot.feet))
    cfg.terminations["collapsed"] = TerminationTermCfg(
        func=mdp.collapsed,
        params={"min_height_m": 0.68 * robot.base_height_m, "asset_cfg": feet},
    )
    cfg.rewards["termination_penalty"].params["term_names"] += ("collapsed",)


def _add_ease_in(
    cfg: ManagerBasedRlEnvCfg,
    ease: EaseInCfg,
    motions: MotionLibrary | None,
    robot: RobotCfg,
) -> None:
    feet = SceneEntityCfg("robot", body_names=tuple(f.body for f in robot.feet))
    steps = {"sensor_name": FEET_CONTACT, "command_name": COMMAND, "asset_cfg": feet}
    cfg.rewards["swing_lift"] = RewardTermCfg(
        func=mdp.swing_lift, weight=0.0, params=steps
    )
    cfg.rewards["stride"] = RewardTermCfg(
        func=mdp.stride, weight=ease.stride_weight, params=deepcopy(steps)
    )
    cfg.rewards["progress"] = RewardTermCfg(
        func=mdp.progress,
        weight=ease.progress_weight,
        params={"command_name": COMMAND},
    )
    if motions is not None:
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
        "event/reset_base/velocity_range": {},
        f"event/{PUSH}/velocity_range": {},
    }
    if motions is not None:
        start["event/reset_to_reference/probability"] = ease.reference_start
    # Episodes start without roll and pitch; the rest of the pose range is unchanged.
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
