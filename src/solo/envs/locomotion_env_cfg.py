"""The environment: a robot follows velocity commands over the paper's terrain.

Velocity commands in, 25 joint offsets out, 50 Hz over 200 Hz physics. The tables of the
paper are in files of their own: ``rewards_cfg``, ``events_cfg`` (randomisation) and
``observations_cfg``; commands are at the end of this one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mjlab.envs import ManagerBasedRlEnvCfg
from mjlab.envs import mdp as mjlab_mdp
from mjlab.envs.mdp.actions import JointPositionActionCfg
from mjlab.managers.curriculum_manager import CurriculumTermCfg
from mjlab.managers.metrics_manager import MetricsTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.managers.termination_manager import TerminationTermCfg
from mjlab.scene import SceneCfg
from mjlab.sensor import ContactMatch, ContactSensorCfg
from mjlab.sim import MujocoCfg
from mjlab.tasks.velocity.mdp import UniformVelocityCommandCfg
from mjlab.viewer import ViewerConfig

from solo.envs import mdp
from solo.envs.events_cfg import PUSH, make_events, start_gently
from solo.envs.grid_terrain import GridTerrainCfg
from solo.envs.names import BODY_CONTACT, COMMAND, FALL, FEET_CONTACT
from solo.envs.observations_cfg import Stage, make_observations
from solo.envs.rewards_cfg import make_rewards
from solo.robots.build import make_entity_cfg
from solo.robots.robot_cfg import RobotCfg
from solo.sensors.depth.cfg import DepthSensorCfg
from solo.sim.native import SoloSimulationCfg
from solo.terrains.scene import TerrainSceneCfg


def make_locomotion_env_cfg(
    robot: RobotCfg,
    *,
    stage: Stage = "teacher",
    num_envs: int = 1,
    terrain: TerrainSceneCfg | None = None,
    sim: SoloSimulationCfg | None = None,
    depth: DepthSensorCfg | None = None,
    play: bool = False,
    seed: int | None = None,
) -> ManagerBasedRlEnvCfg:
    """Configure the environment for a robot.

    Args:
        robot: The robot, e.g. ``solo.robots.get_robot("g1")``.
        stage: Which observations there are; see ``make_observations``.
        num_envs: Number of environments.
        terrain: The scene; by default the paper's 10 x 17 curriculum.
        sim: Physics settings; see ``make_simulation_cfg``.
        depth: Camera of the perceptive stage; by default the robot's, with the paper's
            errors.
        play: For viewing: visual meshes, no noise, no pushes, gentle starts, episodes
            without end.
        seed: Seed of everything random but the terrain, which has its own.
    """
    if play and depth is None:
        depth = robot.depth_sensor(clean=True)
    cfg = ManagerBasedRlEnvCfg(
        seed=seed,
        decimation=4,
        # Not stated in the paper; 20 s as in Isaac Lab's rough-terrain tasks.
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
            sensors=_contact_sensors(robot),
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
        observations=make_observations(robot, stage, depth),
        commands={COMMAND: training_command()},
        rewards=make_rewards(robot),
        terminations=_terminations(robot),
        events=make_events(robot),
        curriculum={
            "terrain_levels": CurriculumTermCfg(
                func=mdp.terrain_levels, params={"command_name": COMMAND}
            )
        },
        metrics=_metrics(robot),
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
        cfg.events.pop(PUSH)
        start_gently(cfg.events)
        cfg.curriculum = {}
        for group in cfg.observations.values():
            group.enable_corruption = False
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


def _contact_sensors(robot: RobotCfg) -> tuple[ContactSensorCfg, ...]:
    """Net forces of the feet, and of every other body, against the terrain."""
    feet = tuple(foot.body for foot in robot.feet)
    others = dict.fromkeys(g.body for g in robot.all_geoms if g.body not in feet)

    def sensor(name: str, bodies: tuple[str, ...], times: bool) -> ContactSensorCfg:
        return ContactSensorCfg(
            name=name,
            primary=ContactMatch(mode="body", pattern=bodies, entity="robot"),
            secondary=ContactMatch(mode="subtree", pattern="terrain"),
            fields=("found", "force"),
            reduce="netforce",
            track_air_time=times,
        )

    return (
        sensor(FEET_CONTACT, feet, times=True),
        sensor(BODY_CONTACT, tuple(others), times=False),
    )


def _action_scale(robot: RobotCfg) -> float | dict[str, float]:
    scale = robot.action_scale
    return dict(scale) if isinstance(scale, Mapping) else float(scale)


def _metrics(robot: RobotCfg) -> dict[str, MetricsTermCfg]:
    feet = SceneEntityCfg("robot", body_names=tuple(f.body for f in robot.feet))
    return {
        "action_acceleration": MetricsTermCfg(func=mjlab_mdp.mean_action_acc),
        "single_stance": MetricsTermCfg(
            func=mdp.single_stance, params={"sensor_name": FEET_CONTACT}
        ),
        "foot_lift": MetricsTermCfg(func=mdp.foot_lift, params={"asset_cfg": feet}),
        "velocity_error": MetricsTermCfg(
            func=mdp.velocity_error, params={"command_name": COMMAND}
        ),
    }


def _terminations(robot: RobotCfg) -> dict[str, TerminationTermCfg]:
    """The paper's fall (waist or head touches), and ends without a penalty."""
    return {
        "time_out": TerminationTermCfg(func=mjlab_mdp.time_out, time_out=True),
        FALL: TerminationTermCfg(
            func=mdp.body_contact,
            params={"sensor_name": BODY_CONTACT, "bodies": robot.termination_bodies},
        ),
        "left_terrain": TerminationTermCfg(func=mdp.left_terrain, time_out=True),
        "physics_diverged": TerminationTermCfg(func=mdp.physics_diverged),
    }


def training_command() -> UniformVelocityCommandCfg:
    """All directions, with a heading to turn to.

    Not stated in the paper; ranges chosen to hold those of its evaluation, with
    turning and sideways steps as a joystick asks for them. The heading is drawn for
    all robots, as in Isaac Lab's rough-terrain tasks: it makes them walk straight over
    long stretches.
    """
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


def stress_command() -> UniformVelocityCommandCfg:
    """Straight ahead along +x at a constant speed (paper, stress test)."""
    return UniformVelocityCommandCfg(
        entity_name="robot",
        resampling_time_range=(1e6, 1e6),
        heading_command=True,
        heading_control_stiffness=0.5,
        rel_standing_envs=0.0,
        ranges=UniformVelocityCommandCfg.Ranges(
            lin_vel_x=(0.4, 1.0),
            lin_vel_y=(0.0, 0.0),
            ang_vel_z=(-1.0, 1.0),
            heading=(0.0, 0.0),
        ),
    )
