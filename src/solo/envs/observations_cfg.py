"""Observation groups: what the teacher, the student and the reconstructor see.

The paper's observations consist of parts with different shapes, so each part is a group
of its own, and `GROUPS` says which groups a network takes.
"""

from __future__ import annotations

from typing import Any, Literal

from mjlab.envs import mdp as mjlab_mdp
from mjlab.managers.observation_manager import ObservationGroupCfg, ObservationTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.tasks.velocity import mdp as velocity_mdp
from mjlab.utils.noise import UniformNoiseCfg

from solo.envs import mdp
from solo.envs.names import COMMAND, FEET_CONTACT
from solo.robots.robot_cfg import RobotCfg
from solo.sensors.depth.cfg import DepthSensorCfg

Stage = Literal["teacher", "student", "perceptive"]

PROPRIOCEPTION_FRAMES = 10
"""Length of the proprioception window (paper, deployment table)."""

NOISE = {
    "base_ang_vel": 0.20,
    "projected_gravity": 0.05,
    "joint_pos": 0.01,
    "joint_vel": 1.50,
}
"""Half width of the uniform noise on proprioception (paper, randomisation table)."""

GROUPS = {
    "teacher": ("teacher_proprioception", "base_velocity", "height_map"),
    "student": ("proprioception", "base_velocity", "height_map"),
    "reconstructor": ("depth", "proprioception_window"),
    "critic": ("teacher_proprioception", "base_velocity", "height_map", "critic"),
    "discriminator": ("amp",),
}
"""Network to the groups it takes.

In the perceptive stage the student's ``base_velocity`` and ``height_map`` are the
reconstructor's estimates and its ``proprioception`` is the last frame of the window.
"""

BLURRED_VELOCITY = "blurred_velocity"
"""A group that some trainings of students have in the place of ``base_velocity``."""


def make_observations(
    robot: RobotCfg, stage: Stage, depth: DepthSensorCfg | None = None
) -> dict[str, ObservationGroupCfg]:
    """The groups of a stage.

    Teachers have no noisy group; students get noisy proprioception; the perceptive
    stage has depth images and the window of proprioception instead.
    """
    groups = {
        "teacher_proprioception": ObservationGroupCfg(terms=_proprioception(robot)),
        "base_velocity": ObservationGroupCfg(
            terms={"base_lin_vel": _term(mjlab_mdp.base_lin_vel)}
        ),
        "height_map": ObservationGroupCfg(
            terms={"height_map": _term(mdp.height_map, cfg=robot.height_map)}
        ),
        "critic": ObservationGroupCfg(
            terms={
                "feet_contact": _term(mdp.feet_contact, sensor_name=FEET_CONTACT),
                "feet_air_time": _term(
                    velocity_mdp.foot_air_time, sensor_name=FEET_CONTACT
                ),
            }
        ),
        "amp": ObservationGroupCfg(terms=_amp_state(robot)),
    }
    if stage == "student":
        groups["proprioception"] = ObservationGroupCfg(
            terms=_proprioception(robot), enable_corruption=True
        )
    if stage == "perceptive":
        groups["proprioception_window"] = ObservationGroupCfg(
            terms=_proprioception(robot),
            enable_corruption=True,
            history_length=PROPRIOCEPTION_FRAMES,
            flatten_history_dim=False,
        )
        cfg = depth or robot.depth_sensor()
        groups["depth"] = ObservationGroupCfg(
            terms={"depth": _term(mdp.depth_images, cfg=cfg)}
        )
    return groups


def make_blurred_velocity(std: float) -> ObservationGroupCfg:
    """The group of `mdp.blurred_velocity`; ``std`` is along each axis, m/s."""
    terms = {"base_lin_vel": _term(mdp.blurred_velocity, std=std)}
    return ObservationGroupCfg(terms=terms)


def _proprioception(robot: RobotCfg) -> dict[str, ObservationTermCfg]:
    """The 84 numbers in the contract's order."""
    joints = _joints(robot)
    terms = {
        "base_ang_vel": _term(mjlab_mdp.base_ang_vel),
        "projected_gravity": _term(mjlab_mdp.projected_gravity),
        "command": _term(mjlab_mdp.generated_commands, command_name=COMMAND),
        "joint_pos": _term(mjlab_mdp.joint_pos_rel, asset_cfg=joints),
        "joint_vel": _term(mjlab_mdp.joint_vel_rel, asset_cfg=joints),
        "last_action": _term(mjlab_mdp.last_action),
    }
    for name, half_width in NOISE.items():
        terms[name].noise = UniformNoiseCfg(n_min=-half_width, n_max=half_width)
    return terms


def _amp_state(robot: RobotCfg) -> dict[str, ObservationTermCfg]:
    """What the motion discriminator sees; the order of `solo.motions.library`."""
    joints = _joints(robot)
    return {
        "joint_pos": _term(mjlab_mdp.joint_pos_rel, asset_cfg=joints),
        "joint_vel": _term(mjlab_mdp.joint_vel_rel, asset_cfg=joints),
        "base_lin_vel": _term(mjlab_mdp.base_lin_vel),
        "base_ang_vel": _term(mjlab_mdp.base_ang_vel),
        "projected_gravity": _term(mjlab_mdp.projected_gravity),
    }


def _joints(robot: RobotCfg) -> SceneEntityCfg:
    return SceneEntityCfg("robot", joint_names=robot.joint_names, preserve_order=True)


def _term(func: Any, **params: Any) -> ObservationTermCfg:
    return ObservationTermCfg(func=func, params=params)
