"""The 21 reward terms of the paper's table as functions of tensors.

Names and formulas are the paper's (appendix, "Task Reward Formulation"). B is the
number of environments; feet come in the order left, right. Penalties are positive here
and carry a negative weight in ``rewards_cfg``. `solo.envs.mdp.rewards` reads the
quantities from the environment.
"""

from __future__ import annotations

import torch
from torch import Tensor


def track_lin_vel_xy_exp(command_xy: Tensor, vel_xy_h: Tensor, std: float) -> Tensor:
    """exp(-|v_c - v|^2 / std^2) of planar velocities [B, 2] in the heading frame."""
    return torch.exp(-(command_xy - vel_xy_h).square().sum(dim=1) / std**2)


def track_ang_vel_z_exp(command_z: Tensor, ang_vel_z_w: Tensor, std: float) -> Tensor:
    """exp(-(w_c - w)^2 / std^2) of yaw rates [B] about the world's vertical."""
    return torch.exp(-(command_z - ang_vel_z_w).square() / std**2)


def l2_squared(values: Tensor) -> Tensor:
    """Sum of squares over the last axis [B, N]: the ``_l2`` terms but for energy."""
    return values.square().sum(dim=-1)


def l1(values: Tensor) -> Tensor:
    """Sum of magnitudes over the last axis [B, N]: joint deviations."""
    return values.abs().sum(dim=-1)


def energy(torque: Tensor, joint_vel: Tensor) -> Tensor:
    """Norm of the joints' mechanical powers [B, N], W."""
    return (torque * joint_vel).norm(dim=1)


def dof_pos_limits(joint_pos: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Sum over joints [B, N] of how far they are outside their limits, rad."""
    return torch.maximum(joint_pos - high, low - joint_pos).clamp_min(0.0).sum(dim=1)


def undesired_contacts(force_w: Tensor, threshold_n: float) -> Tensor:
    """Number of bodies [B, bodies, 3] pressed with more than the threshold."""
    return (force_w.norm(dim=-1) > threshold_n).sum(dim=1).float()


def fly(in_contact: Tensor) -> Tensor:
    """1 where no foot [B, 2] touches the ground."""
    return (~in_contact.any(dim=1)).float()


def feet_air_time(
    in_contact: Tensor,
    air_time_s: Tensor,
    contact_time_s: Tensor,
    is_moving: Tensor,
    limit_s: float,
) -> Tensor:
    """min(t_L, t_R, limit) in single stance while commanded to move, else 0.

    Args:
        in_contact: Whether each foot touches, bool [B, 2].
        air_time_s: Time since each foot left the ground [B, 2].
        contact_time_s: Time since each foot touched down [B, 2].
        is_moving: Whether the command asks for motion, bool [B].
        limit_s: Largest time that counts.

    The paper does not define t_f; here it is the time in the present phase, contact or
    swing, as in Isaac Lab's biped term. Alternating single stances of 0.4 s and more
    earn most; standing and hopping earn nothing.
    """
    in_phase_s = torch.where(in_contact, contact_time_s, air_time_s)
    is_single = in_contact.sum(dim=1) == 1
    return in_phase_s.amin(dim=1).clamp_max(limit_s) * is_single * is_moving


def feet_slide(in_contact: Tensor, vel_xy_w: Tensor) -> Tensor:
    """Sum of the horizontal speeds [B, 2, 2] of the feet that touch, m/s."""
    return (vel_xy_w.norm(dim=-1) * in_contact).sum(dim=1)


def feet_force(force_z_w: Tensor, threshold_n: float, limit_n: float) -> Tensor:
    """Norm of both feet's vertical forces [B, 2] above a threshold, N, clipped."""
    return (force_z_w.norm(dim=1) - threshold_n).clamp(0.0, limit_n)


def feet_stumble(force_w: Tensor) -> Tensor:
    """1 where a foot is pushed more sideways than up, [B, 2, 3]."""
    sideways = force_w[..., :2].norm(dim=-1)
    return (sideways > force_w[..., 2].abs()).any(dim=1).float()


def foothold_grad_penalty(
    heights_m: Tensor,
    in_contact: Tensor,
    is_forward: Tensor,
    threshold_m: float = 0.05,
    weight_front_rear: float = 0.7,
    weight_sides: float = 0.3,
) -> Tensor:
    """Feet placed across an edge while the robot moves forward.

    Args:
        heights_m: Ground below each foot [B, 2, Y, X] on a lattice over the sole, in
            the foot's heading frame: x from heel to toe, y from right to left.
        in_contact: Whether each foot touches, bool [B, 2].
        is_forward: Whether the base moves forward, bool [B].
        threshold_m: Difference of neighbouring samples that counts as an edge.
        weight_front_rear: Weight of edges below the front and the rear half.
        weight_sides: Weight of edges below the left and the right half.

    The paper speaks of signed differences that cross the threshold without saying which
    sign; both count here: a drop leaves the sole unsupported, a rise is a riser.
    """
    is_edge_x = heights_m.diff(dim=3).abs() > threshold_m  # [B, 2, Y, X - 1]
    is_edge_y = heights_m.diff(dim=2).abs() > threshold_m  # [B, 2, Y - 1, X]
    half_x, half_y = -(-is_edge_x.shape[3] // 2), -(-is_edge_y.shape[2] // 2)
    rear = is_edge_x[..., :half_x].flatten(2).any(dim=2).float()
    front = is_edge_x[..., -half_x:].flatten(2).any(dim=2).float()
    right = is_edge_y[..., :half_y, :].flatten(2).any(dim=2).float()
    left = is_edge_y[..., -half_y:, :].flatten(2).any(dim=2).float()
    penalty = weight_front_rear * (front + rear) + weight_sides * (left + right)
    return (penalty * in_contact).sum(dim=1) * is_forward


def speed_share(command_xy: Tensor, vel_xy_h: Tensor, moving: float = 0.1) -> Tensor:
    """Share of the commanded planar velocity [B, 2] that is reached, 0 to 1; [B].

    The velocity along the command counts, not what goes beyond it. Commands below
    ``moving`` m/s are reached by whatever the robot does.
    """
    squared = command_xy.square().sum(dim=1)
    share = (command_xy * vel_xy_h).sum(dim=1) / squared.clamp_min(moving**2)
    return torch.where(squared < moving**2, torch.ones_like(share), share).clamp(0, 1)


def swing_lift(
    foot_height_m: Tensor,
    in_contact: Tensor,
    air_time_s: Tensor,
    is_moving: Tensor,
    full_lift_m: float = 0.08,
    limit_s: float = 0.5,
) -> Tensor:
    """How far the swing foot is lifted over the other one, 0 to 1; not in the paper.

    Args:
        foot_height_m: Heights of the feet [B, 2].
        in_contact: Whether each foot touches, bool [B, 2].
        air_time_s: Time since each foot left the ground [B, 2].
        is_moving: Whether the command asks for motion, bool [B].
        full_lift_m: Lift that earns 1.
        limit_s: A foot that stays up longer earns nothing: no standing on one leg.
    """
    lift = (foot_height_m[:, 0] - foot_height_m[:, 1]).abs() / full_lift_m
    is_single = in_contact.sum(dim=1) == 1
    is_swing = (~in_contact & (air_time_s < limit_s)).any(dim=1)
    return lift.clamp_max(1.0) * is_single * is_swing * is_moving
