"""Loss of the reconstructors: L1 on the outputs, the paper's equation of L_rec.

    L = lambda_h * mean_i |h_i - h_i^gt| + lambda_v * sum_k |v_k - v_k^gt|

The paper does not state the weights. Chosen: 1 for heights in metres and 0.1 for
velocities in m/s, so that the two terms are of one size for the errors to expect (5 cm,
and 0.15 m/s along each of three axes).
"""

from __future__ import annotations

import torch

from solo.networks.reconstruction.interface import Outputs

HEIGHT_WEIGHT = 1.0
VELOCITY_WEIGHT = 0.1


def reconstruction_loss(
    outputs: Outputs,
    target_height: torch.Tensor,
    target_velocity: torch.Tensor,
    height_weight: float = HEIGHT_WEIGHT,
    velocity_weight: float = VELOCITY_WEIGHT,
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Loss of a batch.

    Args:
        outputs: What a reconstructor returned.
        target_height: Terrain height minus base height [B, Y, X], metres.
        target_velocity: Velocity of the base in its frame [B, 3], m/s.
        height_weight: lambda_h.
        velocity_weight: lambda_v.

    Returns:
        The loss to minimise, and its detached parts: ``height_l1_m``, mean over cells
        in metres, and ``velocity_l1``, sum over the axes in m/s.
    """
    height, velocity = outputs["height"], outputs["velocity"]
    if height.shape != target_height.shape or velocity.shape != target_velocity.shape:
        raise ValueError(
            f"Targets have shapes {tuple(target_height.shape)} and "
            f"{tuple(target_velocity.shape)}; the outputs have {tuple(height.shape)} "
            f"and {tuple(velocity.shape)}. Set the sizes in ReconstructionIoCfg."
        )
    height_l1 = (height - target_height).abs().mean()
    velocity_l1 = (velocity - target_velocity).abs().sum(dim=-1).mean()
    loss = height_weight * height_l1 + velocity_weight * velocity_l1
    parts = {"height_l1_m": height_l1.detach(), "velocity_l1": velocity_l1.detach()}
    return loss, parts
