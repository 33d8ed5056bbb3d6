"""Reward terms: what each reads from the environment, and its formula; then metrics.

Names and formulas are the paper's (appendix, "Task Reward Formulation") unless a term
says otherwise; terms that mjlab has already (action rate, joint acceleration) are
mjlab's. Values are [B], one per environment; feet come in the order left, right.
Penalties are positive here and carry a negative weight in `solo.envs.rewards_cfg`.

Rewards are computed before mjlab refreshes derived quantities, so poses and forces are
those at the start of the last physics step, 5 ms ago.

Metrics of the gait are logged per episode as ``Episode_Metrics/...``: episode length
alone does not tell a robot that walks from one that stands and shuffles.
"""

from __future__ import annotations

import torch
from mjlab.entity import EntityData
from mjlab.envs import ManagerBasedRlEnv
from mjlab.managers.reward_manager import RewardTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.sensor.contact_sensor import ContactData
from mjlab.tasks.velocity.mdp import UniformVelocityCommand
from mjlab.utils.lab_api.math import quat_apply_inverse, yaw_quat
from torch import Tensor

from solo.envs.grid_terrain import grid_terrain
from solo.sensors.height_map import HeightMap

_ROBOT = SceneEntityCfg("robot")

MOVING = 0.1
"""Commands above it (m/s, rad/s) ask for motion. Not defined in the paper; mjlab's."""


# --- Command tracking and regularisation ---


def track_lin_vel_xy_exp(
    env: ManagerBasedRlEnv, command_name: str, std: float = 0.5
) -> Tensor:
    """exp(-|v_c - v|^2 / std^2) of the planar velocity in the heading frame."""
    error = _command(env, command_name)[:, :2] - _planar_velocity_h(env)
    return torch.exp(-error.square().sum(dim=1) / std**2)


def track_ang_vel_z_exp(
    env: ManagerBasedRlEnv, command_name: str, std: float = 0.5
) -> Tensor:
    """exp(-(w_c - w)^2 / std^2) of the yaw rate about the world's vertical."""
    error = _command(env, command_name)[:, 2] - _robot(env).root_link_vel_w[:, 5]
    return torch.exp(-error.square() / std**2)


def lin_vel_z_l2(env: ManagerBasedRlEnv) -> Tensor:
    """Vertical velocity in the base frame, squared."""
    return _robot(env).root_link_lin_vel_b[:, 2].square()


def ang_vel_xy_l2(env: ManagerBasedRlEnv) -> Tensor:
    """Roll and pitch rates in the base frame, squared."""
    return _robot(env).root_link_ang_vel_b[:, :2].square().sum(dim=-1)


def energy(env: ManagerBasedRlEnv) -> Tensor:
    """Norm of the joints' mechanical powers, W."""
    data = _robot(env)
    return (data.qfrc_actuator * data.joint_vel).norm(dim=1)


def dof_pos_limits(env: ManagerBasedRlEnv) -> Tensor:
    """Sum over joints of how far they exceed their limits, rad.

    Soft limits, 90 % of the range, as in mjlab.
    """
    data = _robot(env)
    low, high = data.soft_joint_pos_limits.unbind(dim=-1)
    excess = torch.maximum(data.joint_pos - high, low - data.joint_pos)
    return excess.clamp_min(0.0).sum(dim=1)


def joint_deviation(env: ManagerBasedRlEnv, asset_cfg: SceneEntityCfg) -> Tensor:
    """Distance of a group of joints from the default pose, L1, rad."""
    data, ids = _robot(env), asset_cfg.joint_ids
    return (data.joint_pos[:, ids] - data.default_joint_pos[:, ids]).abs().sum(dim=-1)


# --- Stability and contact ---


def undesired_contacts(
    env: ManagerBasedRlEnv, sensor_name: str, threshold_n: float = 1.0
) -> Tensor:
    """Number of bodies other than feet that press on the terrain."""
    force_w = _force_w(_contact(env, sensor_name))  # [B, bodies, 3]
    return (force_w.norm(dim=-1) > threshold_n).sum(dim=1).float()


def fly(env: ManagerBasedRlEnv, sensor_name: str) -> Tensor:
    """1 where no foot touches the ground."""
    return (~_touching(_contact(env, sensor_name)).any(dim=1)).float()


def orientation_l2(
    env: ManagerBasedRlEnv, asset_cfg: SceneEntityCfg = _ROBOT
) -> Tensor:
    """Horizontal part of gravity in a body's frame, squared; of the base by default."""
    data = _robot(env)
    gravity = data.projected_gravity_b
    if not isinstance(asset_cfg.body_ids, slice):
        quat_w = data.body_link_quat_w[:, asset_cfg.body_ids[0]]
        gravity = quat_apply_inverse(quat_w, data.gravity_vec_w)
    return gravity[:, :2].square().sum(dim=-1)


def termination_penalty(env: ManagerBasedRlEnv, term_names: tuple[str, ...]) -> Tensor:
    """1 where a waist or head link touches the environment, or another named fall."""
    fallen = [env.termination_manager.get_term(name) for name in term_names]
    return torch.stack(fallen).any(dim=0).float()


def feet_air_time(
    env: ManagerBasedRlEnv,
    sensor_name: str,
    command_name: str,
    limit_s: float = 0.4,
    command_threshold: float = MOVING,
) -> Tensor:
    """min(t_L, t_R, limit) in single stance while commanded to move, else 0.

    The paper does not define t_f; here it is the time in the present phase, contact or
    swing, as in Isaac Lab's biped term. Alternating single stances of 0.4 s and more
    earn most; standing and hopping earn nothing.
    """
    contact = _contact(env, sensor_name)
    assert contact.current_air_time is not None
    assert contact.current_contact_time is not None
    touching = _touching(contact)
    in_phase_s = torch.where(
        touching, contact.current_contact_time, contact.current_air_time
    )
    is_single = touching.sum(dim=1) == 1
    is_moving = _command(env, command_name).norm(dim=1) > command_threshold
    return in_phase_s.amin(dim=1).clamp_max(limit_s) * is_single * is_moving


def feet_slide(
    env: ManagerBasedRlEnv, sensor_name: str, asset_cfg: SceneEntityCfg
) -> Tensor:
    """Sum of the horizontal speeds of the feet that touch the ground, m/s."""
    vel_w = _robot(env).body_link_lin_vel_w[:, asset_cfg.body_ids]  # [B, 2, 3]
    touching = _touching(_contact(env, sensor_name))
    return (vel_w[..., :2].norm(dim=-1) * touching).sum(dim=1)


def feet_force(
    env: ManagerBasedRlEnv,
    sensor_name: str,
    threshold_n: float = 500.0,
    limit_n: float = 400.0,
) -> Tensor:
    """Norm of both feet's vertical forces above a threshold, N, clipped."""
    force_w = _force_w(_contact(env, sensor_name))
    return (force_w[..., 2].norm(dim=1) - threshold_n).clamp(0.0, limit_n)


def feet_stumble(env: ManagerBasedRlEnv, sensor_name: str) -> Tensor:
    """1 where a foot is pushed more sideways than up."""
    force_w = _force_w(_contact(env, sensor_name))
    sideways = force_w[..., :2].norm(dim=-1)
    return (sideways > force_w[..., 2].abs()).any(dim=1).float()


class foothold_grad_penalty:
    """Feet placed across an edge while the robot moves forward.

    The ground below each sole is sampled on a lattice in the foot's heading frame.
    Neighbouring samples that differ by more than 5 cm are an edge; edges below the
    front and rear half of a foot in contact cost 0.7 each, below its sides 0.3 each.

    The paper speaks of signed differences that cross the threshold without saying which
    sign; both count here: a drop leaves the sole unsupported, a rise is a riser.
    """

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
        touching = _touching(_contact(env, sensor_name))
        is_forward = data.root_link_lin_vel_b[:, 0] > 0.0
        return (edges_below(heights) * touching).sum(dim=1) * is_forward


def edges_below(
    heights_m: Tensor,
    threshold_m: float = 0.05,
    weight_front_rear: float = 0.7,
    weight_sides: float = 0.3,
) -> Tensor:
    """Weighted edges below each foot [B, 2].

    The ground [B, 2, Y, X] is on a lattice over the sole, in the foot's heading frame:
    x from heel to toe, y from right to left. Neighbouring samples that differ by more
    than the threshold are an edge; edges below the front, rear, left and right half are
    weighted.
    """
    is_edge_x = heights_m.diff(dim=3).abs() > threshold_m  # [B, 2, Y, X - 1]
    is_edge_y = heights_m.diff(dim=2).abs() > threshold_m  # [B, 2, Y - 1, X]
    half_x, half_y = -(-is_edge_x.shape[3] // 2), -(-is_edge_y.shape[2] // 2)
    rear = is_edge_x[..., :half_x].flatten(2).any(dim=2).float()
    front = is_edge_x[..., -half_x:].flatten(2).any(dim=2).float()
    right = is_edge_y[..., :half_y, :].flatten(2).any(dim=2).float()
    left = is_edge_y[..., -half_y:, :].flatten(2).any(dim=2).float()
    return weight_front_rear * (front + rear) + weight_sides * (left + right)


# --- Not in the paper: hints that a profile may add ---


def swing_lift(
    env: ManagerBasedRlEnv,
    sensor_name: str,
    command_name: str,
    asset_cfg: SceneEntityCfg,
    command_threshold: float = MOVING,
    full_lift_m: float = 0.08,
    limit_s: float = 0.5,
) -> Tensor:
    """How far the swing foot is lifted over the other one, 0 to 1; for beginners.

    ``full_lift_m`` earns 1. A foot that stays up for longer than ``limit_s`` earns
    nothing: no standing on one leg.
    """
    contact = _contact(env, sensor_name)
    assert contact.current_air_time is not None
    touching = _touching(contact)
    height = _robot(env).body_link_pos_w[:, asset_cfg.body_ids, 2]
    lift = (height[:, 0] - height[:, 1]).abs() / full_lift_m
    is_single = touching.sum(dim=1) == 1
    is_swing = (~touching & (contact.current_air_time < limit_s)).any(dim=1)
    is_moving = _command(env, command_name).norm(dim=1) > command_threshold
    return lift.clamp_max(1.0) * is_single * is_swing * is_moving


def progress(env: ManagerBasedRlEnv, command_name: str) -> Tensor:
    """Share of the commanded planar velocity that is reached, 0 to 1.

    The velocity along the command counts, not what goes beyond it; a command to stand
    is reached by whatever the robot does. The paper's exp(-e^2 / 0.25) pays 53 % for
    ignoring 0.4 m/s: standing in front of an obstacle loses little and risks nothing.

    A robot that is told a heading must go there, too: the share is the smaller one of
    that along the command and that along the command turned to this heading. Along the
    command alone, which turns with the robot, walking aside from a steep stair would
    be paid like climbing it.
    """
    command = _command(env, command_name)[:, :2]
    squared = command.square().sum(dim=1)
    velocity = _planar_velocity_h(env)
    steering = env.command_manager.get_term(command_name)
    assert isinstance(steering, UniformVelocityCommand)
    error = torch.where(steering.is_heading_env, steering.heading_error, 0.0)
    there = _rotated(command, error)
    along = torch.minimum(
        (command * velocity).sum(dim=1), (there * velocity).sum(dim=1)
    )
    share = along / squared.clamp_min(MOVING**2)
    return torch.where(squared < MOVING**2, torch.ones_like(share), share).clamp(0, 1)


def stride(
    env: ManagerBasedRlEnv,
    sensor_name: str,
    command_name: str,
    asset_cfg: SceneEntityCfg,
) -> Tensor:
    """Foot lift, scaled by the progress along the command.

    A hint that stays when `swing_lift` has gone.
    """
    lift = swing_lift(env, sensor_name, command_name, asset_cfg)
    return progress(env, command_name) * lift


def _robot(env: ManagerBasedRlEnv) -> EntityData:
    return env.scene["robot"].data


def _planar_velocity_h(env: ManagerBasedRlEnv) -> Tensor:
    """Velocity of the base along the heading and to its left [B, 2]."""
    data = _robot(env)
    vel_h = quat_apply_inverse(
        yaw_quat(data.root_link_quat_w), data.root_link_vel_w[:, :3]
    )
    return vel_h[:, :2]


def _rotated(vector: Tensor, angle: Tensor) -> Tensor:
    """Planar vectors [B, 2] turned to the left by angles [B]."""
    cos, sin = torch.cos(angle), torch.sin(angle)
    x, y = vector.unbind(dim=1)
    return torch.stack((cos * x - sin * y, sin * x + cos * y), dim=1)


def _contact(env: ManagerBasedRlEnv, sensor_name: str) -> ContactData:
    return env.scene[sensor_name].data


def _touching(contact: ContactData) -> Tensor:
    """Whether each foot touches the terrain, bool [B, 2]."""
    assert contact.found is not None
    return contact.found > 0


def _force_w(contact: ContactData) -> Tensor:
    """Net force on each body [B, bodies, 3], N."""
    assert contact.force is not None
    return contact.force


def _command(env: ManagerBasedRlEnv, name: str) -> Tensor:
    command = env.command_manager.get_command(name)
    assert isinstance(command, torch.Tensor)
    return command


def single_stance(env: ManagerBasedRlEnv, sensor_name: str) -> torch.Tensor:
    """1 where exactly one foot touches the ground."""
    return ((env.scene[sensor_name].data.found > 0).sum(dim=1) == 1).float()


def foot_lift(env: ManagerBasedRlEnv, asset_cfg: SceneEntityCfg) -> torch.Tensor:
    """How much higher one foot is than the other, metres."""
    height = env.scene["robot"].data.body_link_pos_w[:, asset_cfg.body_ids, 2]
    return (height[:, 0] - height[:, 1]).abs()


def velocity_error(env: ManagerBasedRlEnv, command_name: str) -> torch.Tensor:
    """Distance of the base's planar velocity from the command, m/s."""
    command = env.command_manager.get_command(command_name)
    assert command is not None
    velocity = env.scene["robot"].data.root_link_lin_vel_b[:, :2]
    return (command[:, :2] - velocity).norm(dim=1)
