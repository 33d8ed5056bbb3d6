"""The environment all tasks start from: a robot that walks over the paper's terrain.

Velocity commands in, 25 joint offsets out, 50 Hz over 200 Hz physics. Terms that mjlab
has are mjlab's. What is here is enough to step, measure and watch; the paper's reward
and randomisation tables are laid over it by the tasks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mjlab.envs import ManagerBasedRlEnvCfg
from mjlab.envs import mdp as mjlab_mdp
from mjlab.envs.mdp import dr
from mjlab.envs.mdp.actions import JointPositionActionCfg
from mjlab.managers.curriculum_manager import CurriculumTermCfg
from mjlab.managers.event_manager import EventTermCfg
from mjlab.managers.metrics_manager import MetricsTermCfg
from mjlab.managers.observation_manager import ObservationGroupCfg, ObservationTermCfg
from mjlab.managers.reward_manager import RewardTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.managers.termination_manager import TerminationTermCfg
from mjlab.scene import SceneCfg
from mjlab.sensor import ContactMatch, ContactSensorCfg
from mjlab.sim import MujocoCfg
from mjlab.tasks.velocity import mdp as velocity_mdp
from mjlab.tasks.velocity.mdp import UniformVelocityCommandCfg
from mjlab.utils.noise import UniformNoiseCfg
from mjlab.viewer import ViewerConfig

from solo.envs import mdp
from solo.envs.grid_terrain import GridTerrainCfg
from solo.robots.build import make_entity_cfg
from solo.robots.robot_cfg import RobotCfg
from solo.sim.native import SoloSimulationCfg
from solo.terrains.scene import TerrainSceneCfg

COMMAND = "twist"
FEET_CONTACT = "feet_contact"
FALL_CONTACT = "fall_contact"


def make_locomotion_env_cfg(
    robot: RobotCfg,
    *,
    num_envs: int = 1,
    terrain: TerrainSceneCfg | None = None,
    sim: SoloSimulationCfg | None = None,
    play: bool = False,
    seed: int | None = None,
) -> ManagerBasedRlEnvCfg:
    """Configure the environment for a robot.

    Args:
        robot: The robot, e.g. ``solo.robots.get_robot("g1")``.
        num_envs: Number of environments.
        terrain: The scene; by default the paper's 10 x 17 curriculum.
        sim: Physics settings; see ``make_simulation_cfg``.
        play: For looking: visual meshes, no noise, no pushes, episodes without end.
        seed: Seed of everything random but the terrain, which has its own.
    """
    cfg = ManagerBasedRlEnvCfg(
        seed=seed,
        decimation=4,
        episode_length_s=20.0,
        sim=sim or make_simulation_cfg(),
        scene=SceneCfg(
            num_envs=num_envs,
            terrain=GridTerrainCfg(
                scene=terrain or TerrainSceneCfg(), max_init_terrain_level=5
            ),
            # Meshes are for looking. MuJoCo clears a flag per triangle in each step,
            # an eighth of the time of a step for the G1.
            entities={"robot": make_entity_cfg(robot, visual=play)},
            sensors=(
                _contact_sensor(
                    FEET_CONTACT,
                    tuple(foot.body for foot in robot.feet),
                    track_air_time=True,
                ),
                _contact_sensor(FALL_CONTACT, robot.termination_bodies),
            ),
            # mjlab's default view; otherwise the size of the terrain sets it.
            extent=2.0,
        ),
        actions={
            "joint_pos": JointPositionActionCfg(
                entity_name="robot",
                actuator_names=robot.joint_names,
                scale=_action_scale(robot),
                use_default_offset=True,
                preserve_order=True,
            )
        },
        observations=_observations(robot),
        commands={COMMAND: _velocity_command()},
        rewards=_rewards(robot),
        terminations=_terminations(),
        events=_events(robot),
        curriculum={
            "terrain_levels": CurriculumTermCfg(
                func=mdp.terrain_levels, params={"command_name": COMMAND}
            )
        },
        metrics={"action_acceleration": MetricsTermCfg(func=mjlab_mdp.mean_action_acc)},
        viewer=ViewerConfig(
            origin_type=ViewerConfig.OriginType.ASSET_BODY,
            entity_name="robot",
            body_name=robot.torso_body,
            distance=3.0,
            elevation=-10.0,
            azimuth=90.0,
        ),
    )
    if play:
        cfg.episode_length_s = 1e6
        cfg.events.pop("push_robot")
        cfg.curriculum = {}
        cfg.observations["actor"].enable_corruption = False
    return cfg


def make_simulation_cfg(**changes: Any) -> SoloSimulationCfg:
    """Physics at 200 Hz with the solver settings of mjlab's G1 velocity task.

    ``nconmax`` and ``njmax`` matter to Warp alone, which drops contacts silently when
    they are too small and slows down when they are large. Of 512 robots thrown about on
    the whole terrain none had more than 92 constraint rows in Warp; MuJoCo's own
    collision gave at most 56 contacts of four rows each.
    """
    settings: dict[str, Any] = dict(
        nconmax=64,
        njmax=256,
        mujoco=MujocoCfg(timestep=0.005, iterations=10, ls_iterations=20),
    )
    return SoloSimulationCfg(**{**settings, **changes})


def _contact_sensor(
    name: str, bodies: tuple[str, ...], track_air_time: bool = False
) -> ContactSensorCfg:
    return ContactSensorCfg(
        name=name,
        primary=ContactMatch(mode="body", pattern=bodies, entity="robot"),
        secondary=ContactMatch(mode="subtree", pattern="terrain"),
        fields=("found", "force"),
        reduce="netforce",
        track_air_time=track_air_time,
    )


def _action_scale(robot: RobotCfg) -> float | dict[str, float]:
    scale = robot.action_scale
    return dict(scale) if isinstance(scale, Mapping) else float(scale)


def _observations(robot: RobotCfg) -> dict[str, ObservationGroupCfg]:
    """The 84 numbers of proprioception in the contract's order, then the map."""

    def term(func: Any, noise: float = 0.0, **params: Any) -> ObservationTermCfg:
        uniform = UniformNoiseCfg(n_min=-noise, n_max=noise) if noise else None
        return ObservationTermCfg(func=func, params=params, noise=uniform)

    joints = SceneEntityCfg("robot", joint_names=robot.joint_names, preserve_order=True)
    proprioception = {
        "base_ang_vel": term(mjlab_mdp.base_ang_vel, 0.2),
        "projected_gravity": term(mjlab_mdp.projected_gravity, 0.05),
        "command": term(mjlab_mdp.generated_commands, command_name=COMMAND),
        "joint_pos": term(mjlab_mdp.joint_pos_rel, 0.01, asset_cfg=joints),
        "joint_vel": term(mjlab_mdp.joint_vel_rel, 1.5, asset_cfg=joints),
        "last_action": term(mjlab_mdp.last_action),
    }
    privileged = {
        "base_lin_vel": term(mjlab_mdp.base_lin_vel),
        "feet_contact": term(
            velocity_mdp.foot_contact_forces, sensor_name=FEET_CONTACT
        ),
    }
    return {
        "actor": ObservationGroupCfg(terms=proprioception, enable_corruption=True),
        "critic": ObservationGroupCfg(terms={**proprioception, **privileged}),
        "height_map": ObservationGroupCfg(
            terms={"height_map": term(mdp.height_map, cfg=robot.height_map)}
        ),
    }


def _velocity_command() -> UniformVelocityCommandCfg:
    return UniformVelocityCommandCfg(
        entity_name="robot",
        resampling_time_range=(10.0, 10.0),
        heading_command=True,
        heading_control_stiffness=0.5,
        rel_standing_envs=0.05,
        ranges=UniformVelocityCommandCfg.Ranges(
            lin_vel_x=(-0.5, 1.0),
            lin_vel_y=(-0.5, 0.5),
            ang_vel_z=(-1.0, 1.0),
            heading=(-math.pi, math.pi),
        ),
    )


def _rewards(robot: RobotCfg) -> dict[str, RewardTermCfg]:
    feet_sites = SceneEntityCfg("robot", site_names=tuple(f.site for f in robot.feet))
    return {
        "track_lin_vel": RewardTermCfg(
            func=velocity_mdp.track_linear_velocity,
            weight=3.0,
            params={"command_name": COMMAND, "std": 0.5},
        ),
        "track_ang_vel": RewardTermCfg(
            func=velocity_mdp.track_angular_velocity,
            weight=5.0,
            params={"command_name": COMMAND, "std": 0.5},
        ),
        "flat_orientation": RewardTermCfg(
            func=mjlab_mdp.flat_orientation_l2, weight=-1.0
        ),
        "action_rate": RewardTermCfg(func=mjlab_mdp.action_rate_l2, weight=-0.01),
        "joint_acc": RewardTermCfg(func=mjlab_mdp.joint_acc_l2, weight=-2.5e-7),
        "joint_pos_limits": RewardTermCfg(func=mjlab_mdp.joint_pos_limits, weight=-2.0),
        "feet_air_time": RewardTermCfg(
            func=velocity_mdp.feet_air_time,
            weight=3.0,
            params={
                "sensor_name": FEET_CONTACT,
                "threshold_min": 0.0,
                "threshold_max": 0.4,
                "command_name": COMMAND,
                "command_threshold": 0.1,
            },
        ),
        "feet_slip": RewardTermCfg(
            func=velocity_mdp.feet_slip,
            weight=-0.25,
            params={
                "sensor_name": FEET_CONTACT,
                "command_name": COMMAND,
                "command_threshold": 0.1,
                "asset_cfg": feet_sites,
            },
        ),
        "termination": RewardTermCfg(func=mjlab_mdp.is_terminated, weight=-200.0),
    }


def _terminations() -> dict[str, TerminationTermCfg]:
    return {
        "time_out": TerminationTermCfg(func=mjlab_mdp.time_out, time_out=True),
        "fell": TerminationTermCfg(
            func=velocity_mdp.illegal_contact, params={"sensor_name": FALL_CONTACT}
        ),
        "tipped_over": TerminationTermCfg(
            func=mjlab_mdp.bad_orientation, params={"limit_angle": math.radians(70.0)}
        ),
        "left_terrain": TerminationTermCfg(func=mdp.left_terrain, time_out=True),
        "physics_diverged": TerminationTermCfg(func=mdp.physics_diverged),
    }


def _events(robot: RobotCfg) -> dict[str, EventTermCfg]:
    soles = SceneEntityCfg(
        "robot", geom_names=tuple(g.name for foot in robot.feet for g in foot.geoms())
    )
    torso = SceneEntityCfg("robot", body_names=(robot.torso_body,))
    return {
        "reset_base": EventTermCfg(
            func=mjlab_mdp.reset_root_state_uniform,
            mode="reset",
            params={
                "pose_range": {
                    "x": (-0.5, 0.5),
                    "y": (-0.5, 0.5),
                    "z": (0.01, 0.02),
                    "yaw": (-math.pi, math.pi),
                },
                "velocity_range": {},
            },
        ),
        "reset_joints": EventTermCfg(
            func=mjlab_mdp.reset_joints_by_offset,
            mode="reset",
            params={
                "position_range": (-0.05, 0.05),
                "velocity_range": (0.0, 0.0),
                "asset_cfg": SceneEntityCfg("robot", joint_names=(".*",)),
            },
        ),
        "push_robot": EventTermCfg(
            func=mjlab_mdp.push_by_setting_velocity,
            mode="interval",
            interval_range_s=(10.0, 15.0),
            params={"velocity_range": {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}},
        ),
        "sole_friction": EventTermCfg(
            func=dr.geom_friction,
            mode="startup",
            params={
                "asset_cfg": soles,
                "operation": "abs",
                "ranges": (0.6, 1.0),
                "shared_random": True,
            },
        ),
        "torso_com": EventTermCfg(
            func=dr.body_com_offset,
            mode="startup",
            params={
                "asset_cfg": torso,
                "operation": "add",
                "ranges": {0: (-0.05, 0.01), 1: (-0.03, 0.03), 2: (-0.05, 0.05)},
            },
        ),
        "pd_gains": EventTermCfg(
            func=dr.pd_gains,
            mode="startup",
            params={
                "kp_range": (0.7, 1.3),
                "kd_range": (0.7, 1.3),
                "distribution": "log_uniform",
            },
        ),
    }
