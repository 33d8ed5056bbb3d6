"""Reward terms: what each of `solo.envs.reward_formulas` reads from the environment.

Terms of the paper that mjlab has already (action rate, joint acceleration) are mjlab's.
Rewards are computed before mjlab refreshes derived quantities, so poses and forces are
those at the start of the last physics step, 5 ms ago.
"""

from __future__ import annotations

import torch
from mjlab.entity import EntityData
from mjlab.envs import ManagerBasedRlEnv
from mjlab.managers.reward_manager import RewardTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.sensor.contact_sensor import ContactData
from mjlab.utils.lab_api.math import quat_apply_inverse, yaw_quat
from torch import Tensor

from solo.envs import reward_formulas as formulas
from solo.envs.mdp.terrain import grid_terrain
from solo.sensors.height_map import HeightMap

_ROBOT = SceneEntityCfg("robot")


def track_lin_vel_xy_exp(
    env: ManagerBasedRlEnv, command_name: str, std: float = 0.5
) -> Tensor:
    """Track the commanded planar velocity, in the heading frame."""
    data = _robot(env)
    vel_h = quat_apply_inverse(
        yaw_quat(data.root_link_quat_w), data.root_link_vel_w[:, :3]
    )
    command = _command(env, command_name)
    return formulas.track_lin_vel_xy_exp(command[:, :2], vel_h[:, :2], std)


def track_ang_vel_z_exp(
    env: ManagerBasedRlEnv, command_name: str, std: float = 0.5
) -> Tensor:
    """Track the commanded yaw rate, about the world's vertical."""
    command = _command(env, command_name)
    ang_vel_z = _robot(env).root_link_vel_w[:, 5]
    return formulas.track_ang_vel_z_exp(command[:, 2], ang_vel_z, std)


def lin_vel_z_l2(env: ManagerBasedRlEnv) -> Tensor:
    """Vertical velocity in the base frame, squared."""
    return _robot(env).root_link_lin_vel_b[:, 2].square()


def ang_vel_xy_l2(env: ManagerBasedRlEnv) -> Tensor:
    """Roll and pitch rates in the base frame, squared."""
    return formulas.l2_squared(_robot(env).root_link_ang_vel_b[:, :2])


def energy(env: ManagerBasedRlEnv) -> Tensor:
    """Norm of the joints' mechanical powers."""
    data = _robot(env)
    return formulas.energy(data.qfrc_actuator, data.joint_vel)


def dof_pos_limits(env: ManagerBasedRlEnv) -> Tensor:
    """Excess over the joint limits; soft limits, 90 % of the range, as in mjlab."""
    data = _robot(env)
    low, high = data.soft_joint_pos_limits.unbind(dim=-1)
    return formulas.dof_pos_limits(data.joint_pos, low, high)


def joint_deviation(env: ManagerBasedRlEnv, asset_cfg: SceneEntityCfg) -> Tensor:
    """Distance of a group of joints from the default pose, L1."""
    data, ids = _robot(env), asset_cfg.joint_ids
    return formulas.l1(data.joint_pos[:, ids] - data.default_joint_pos[:, ids])


def undesired_contacts(
    env: ManagerBasedRlEnv, sensor_name: str, threshold_n: float = 1.0
) -> Tensor:
    """Number of bodies other than feet that press on the terrain."""
    force_w = _contact(env, sensor_name).force
    assert force_w is not None
    return formulas.undesired_contacts(force_w, threshold_n)


def fly(env: ManagerBasedRlEnv, sensor_name: str) -> Tensor:
    """No foot on the ground."""
    return formulas.fly(_touching(_contact(env, sensor_name)))


def orientation_l2(
    env: ManagerBasedRlEnv, asset_cfg: SceneEntityCfg = _ROBOT
) -> Tensor:
    """Horizontal part of gravity in a body's frame, squared; of the base by default."""
    data = _robot(env)
    if isinstance(asset_cfg.body_ids, slice):
        return formulas.l2_squared(data.projected_gravity_b[:, :2])
    quat_w = data.body_link_quat_w[:, asset_cfg.body_ids[0]]
    gravity = quat_apply_inverse(quat_w, data.gravity_vec_w)
    return formulas.l2_squared(gravity[:, :2])


def termination_penalty(env: ManagerBasedRlEnv, term_names: tuple[str, ...]) -> Tensor:
    """A waist or head link touches the environment, or another fall by name."""
    fallen = [env.termination_manager.get_term(name) for name in term_names]
    return torch.stack(fallen).any(dim=0).float()


def feet_air_time(
    env: ManagerBasedRlEnv,
    sensor_name: str,
    command_name: str,
    limit_s: float = 0.4,
    command_threshold: float = 0.1,
) -> Tensor:
    """Long single stances while commanded to move.

    "Moving" is not defined in the paper; a command above 0.1 (m/s, rad/s) as in mjlab.
    """
    contact = _contact(env, sensor_name)
    assert contact.current_air_time is not None
    assert contact.current_contact_time is not None
    return formulas.feet_air_time(
        _touching(contact),
        contact.current_air_time,
        contact.current_contact_time,
        _command(env, command_name).norm(dim=1) > command_threshold,
        limit_s,
    )


def feet_slide(
    env: ManagerBasedRlEnv, sensor_name: str, asset_cfg: SceneEntityCfg
) -> Tensor:
    """Horizontal speed of feet that touch the ground."""
    vel_w = _robot(env).body_link_lin_vel_w[:, asset_cfg.body_ids]
    return formulas.feet_slide(_touching(_contact(env, sensor_name)), vel_w[..., :2])


def feet_force(
    env: ManagerBasedRlEnv,
    sensor_name: str,
    threshold_n: float = 500.0,
    limit_n: float = 400.0,
) -> Tensor:
    """Hard steps."""
    force_w = _contact(env, sensor_name).force
    assert force_w is not None
    return formulas.feet_force(force_w[..., 2], threshold_n, limit_n)


def feet_stumble(env: ManagerBasedRlEnv, sensor_name: str) -> Tensor:
    """A foot hits something from the side."""
    force_w = _contact(env, sensor_name).force
    assert force_w is not None
    return formulas.feet_stumble(force_w)


def swing_lift(
    env: ManagerBasedRlEnv,
    sensor_name: str,
    command_name: str,
    asset_cfg: SceneEntityCfg,
    command_threshold: float = 0.1,
) -> Tensor:
    """Lifted feet while commanded to move: a hint for beginners, not in the paper."""
    contact = _contact(env, sensor_name)
    assert contact.current_air_time is not None
    return formulas.swing_lift(
        _robot(env).body_link_pos_w[:, asset_cfg.body_ids, 2],
        _touching(contact),
        contact.current_air_time,
        _command(env, command_name).norm(dim=1) > command_threshold,
    )


def stride(
    env: ManagerBasedRlEnv,
    sensor_name: str,
    command_name: str,
    asset_cfg: SceneEntityCfg,
) -> Tensor:
    """Lifted feet, as far as they lead where the robot is told to go.

    Not in the paper: a hint that stays when `swing_lift` has gone.
    """
    data = _robot(env)
    vel_h = quat_apply_inverse(
        yaw_quat(data.root_link_quat_w), data.root_link_vel_w[:, :3]
    )
    share = formulas.speed_share(_command(env, command_name)[:, :2], vel_h[:, :2])
    return share * swing_lift(env, sensor_name, command_name, asset_cfg)


class foothold_grad_penalty:
    """Feet placed across an edge while the robot moves forward."""

    def __init__(self, cfg: RewardTermCfg, env: ManagerBasedRlEnv) -> None:
        self._map = HeightMap(
            grid_terrain(env).grid, cfg.params["footprint"], env.device
        )

    def __call__(
        self,
        env: ManagerBasedRlEnv,
        sensor_name: str,
        asset_cfg: SceneEntityCfg,
        footprint: object,
    ) -> Tensor:
        del footprint  # Read once, in the constructor.
        data, feet = _robot(env), asset_cfg.body_ids
        heights = self._map.sample(
            data.body_link_pos_w[:, feet].flatten(0, 1),
            data.body_link_quat_w[:, feet].flatten(0, 1),
        ).unflatten(0, (env.num_envs, -1))
        return formulas.foothold_grad_penalty(
            heights,
            _touching(_contact(env, sensor_name)),
            data.root_link_lin_vel_b[:, 0] > 0.0,
        )


def _robot(env: ManagerBasedRlEnv) -> EntityData:
    return env.scene["robot"].data


def _contact(env: ManagerBasedRlEnv, sensor_name: str) -> ContactData:
    return env.scene[sensor_name].data


def _touching(contact: ContactData) -> Tensor:
    """Whether each foot touches the terrain, bool [B, 2]."""
    assert contact.found is not None
    return contact.found > 0


def _command(env: ManagerBasedRlEnv, name: str) -> Tensor:
    command = env.command_manager.get_command(name)
    assert isinstance(command, torch.Tensor)
    return command
