"""What the discriminator sees: one function for the environment and for clips."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from solo.motions.clip import MotionClip, resample

CONTROL_HZ = 50.0
"""Rate of the policy, at which transitions are made."""

AMP_STATE_DIM = 59
"""25 joint positions, 25 joint velocities, 3 + 3 base velocities, 3 gravity."""


def amp_state(
    joint_pos_rel: torch.Tensor,
    joint_vel: torch.Tensor,
    base_lin_vel_b: torch.Tensor,
    base_ang_vel_b: torch.Tensor,
    projected_gravity_b: torch.Tensor,
) -> torch.Tensor:
    """Join the quantities that describe style, free of place and heading.

    The paper does not state the discriminator's input. These five are chosen because
    open AMP code for the G1 uses them (InstinctLab, and amp-rsl-rl without gravity).

    Args:
        joint_pos_rel: Joint position minus default, [B, 25], rad.
        joint_vel: Joint velocity, [B, 25], rad/s.
        base_lin_vel_b: Velocity of the base, [B, 3], m/s, base frame.
        base_ang_vel_b: Angular velocity of the base, [B, 3], rad/s, base frame.
        projected_gravity_b: Unit vector of gravity, [B, 3], base frame.

    Returns:
        States of shape [B, 59], in the order of the arguments.
    """
    return torch.cat(
        [
            joint_pos_rel,
            joint_vel,
            base_lin_vel_b,
            base_ang_vel_b,
            projected_gravity_b,
        ],
        dim=-1,
    )


def clip_amp_transitions(
    clip: MotionClip,
    default_joint_pos: Sequence[float] | np.ndarray | torch.Tensor,
    device: torch.device | str = "cpu",
) -> tuple[torch.Tensor, torch.Tensor]:
    """States of a clip and of the control step after each.

    Args:
        clip: Motion of the policy joints; another rate than 50 Hz is resampled.
        default_joint_pos: Default pose of the joints, [25], rad.
        device: Where the result lives.

    Returns:
        States and next states, each [T - 1, 59].
    """
    clip = resample(clip, CONTROL_HZ)
    default = torch.as_tensor(default_joint_pos, dtype=torch.float64).cpu()
    states = amp_state(
        torch.from_numpy(clip.joint_pos) - default,
        torch.from_numpy(clip.joint_vel),
        torch.from_numpy(clip.root_lin_vel_b),
        torch.from_numpy(clip.root_ang_vel_b),
        torch.from_numpy(clip.projected_gravity_b),
    ).to(device, torch.float32)
    return states[:-1], states[1:]
