"""One update of a reconstructor, the same offline and beside a policy (stage 3).

The loss is L1 on the outputs, the paper's equation of L_rec:

    L = lambda_h * mean_i |h_i - h_i^gt| + lambda_v * sum_k |v_k - v_k^gt|

The paper does not state the weights. Chosen: 1 for heights in metres and 0.1 for
velocities in m/s, so that the two terms are of one size for the errors to expect (5 cm,
and 0.15 m/s along each of three axes). Nor does it state the optimiser; AdamW is chosen
for both. The learning rate is the paper's: 5e-4, along half a cosine to 0.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import nn

from solo.reconstruction.cfg import LEARNING_RATE, MAX_GRAD_NORM, WEIGHT_DECAY
from solo.reconstruction.networks.dense import DenseReconstructor
from solo.reconstruction.networks.interface import Outputs, State
from solo.reconstruction.networks.query_reconstructor import QueryReconstructor

HEIGHT_WEIGHT = 1.0
VELOCITY_WEIGHT = 0.1


class Batch(NamedTuple):
    """Inputs and targets of a reconstructor."""

    depth: torch.Tensor
    """Images [B, T, H, W], oldest first, 0 to 1, invalid 0; with ``frame_of`` each
    image once [U, H, W]."""
    proprioception: torch.Tensor
    """Frames [B, T, P], oldest first."""
    height: torch.Tensor
    """True heights [B, Y, X], metres."""
    velocity: torch.Tensor
    """True velocity [B, 3], base frame, m/s."""
    frame_of: torch.Tensor | None = None
    """Which image each of a window is, oldest first [B, T]."""
    begins: torch.Tensor | None = None
    """For windows of successive steps, B = sequences * K, sequence by sequence: whether
    an episode begins [sequences, K]. None for independent windows."""

    def to(self, device: torch.device | str) -> Batch:
        """The batch on a device."""
        parts: list[Any] = [None if part is None else part.to(device) for part in self]
        return Batch(*parts)


def reconstruction_loss(
    outputs: Outputs,
    target_height: torch.Tensor,
    target_velocity: torch.Tensor,
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Loss of a batch, and its detached parts.

    ``height_l1_m`` is a mean over cells in metres, ``velocity_l1`` a sum over the axes
    in m/s.
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
    loss = HEIGHT_WEIGHT * height_l1 + VELOCITY_WEIGHT * velocity_l1
    parts = {"height_l1_m": height_l1.detach(), "velocity_l1": velocity_l1.detach()}
    return loss, parts


def make_optimizer(
    model: nn.Module,
    learning_rate: float = LEARNING_RATE,
    weight_decay: float = WEIGHT_DECAY,
) -> torch.optim.Optimizer:
    """AdamW in one pass over all parameters; `update` sets the learning rate."""
    return torch.optim.AdamW(
        model.parameters(), lr=learning_rate, weight_decay=weight_decay, fused=True
    )


def cosine(first_rate: float, done: float) -> float:
    """Learning rate along half a cosine when a share ``done`` of training is over."""
    return 0.5 * first_rate * (1.0 + math.cos(math.pi * min(done, 1.0)))


def update(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    learning_rate: float,
    cells: torch.Tensor | None = None,
    memory: State | None = None,
    max_grad_norm: float = MAX_GRAD_NORM,
    world_size: int = 1,
) -> tuple[dict[str, float], State | None]:
    """Learn from one batch, with the heights of the reconstructed cells.

    Args:
        model: The reconstructor, or another module with the same call.
        optimizer: Its optimiser.
        batch: What to learn.
        learning_rate: Rate of this update.
        cells: The queries [n] that a query network is asked; all if left out. Dense
            decoders give all cells at once.
        memory: State before the first step of each sequence, for networks with a memory
            of the episode.
        max_grad_norm: Gradients are clipped to this norm.
        world_size: Processes that learn together; their gradients are averaged.

    Returns:
        ``loss``, ``height_l1_m`` and ``velocity_l1``; and the memory after the last
        step, None for independent windows.
    """
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    outputs, height, memory = _predict(model, batch, cells, memory)
    loss, parts = reconstruction_loss(outputs, height, batch.velocity)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    if world_size > 1:
        for parameter in model.parameters():
            if parameter.grad is not None:
                torch.distributed.all_reduce(parameter.grad)
                parameter.grad /= world_size
    nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
    optimizer.step()
    values = {"loss": float(loss.detach())}
    return values | {name: float(value) for name, value in parts.items()}, memory


def _predict(
    model: nn.Module,
    batch: Batch,
    cells: torch.Tensor | None,
    memory: State | None,
) -> tuple[Outputs, torch.Tensor, State | None]:
    """Outputs, the heights they should be, and the memory after the last step."""
    if batch.begins is not None:
        assert isinstance(model, DenseReconstructor)
        assert memory is not None
        outputs, memory = model.unroll(
            batch.depth, batch.proprioception, batch.begins, memory, batch.frame_of
        )
        return outputs, batch.height, tuple(part.detach() for part in memory)
    height = batch.height
    options: dict[str, torch.Tensor] = {}
    if batch.frame_of is not None:
        options["frame_of"] = batch.frame_of
    if cells is not None and isinstance(model, QueryReconstructor):
        options["cells"] = cells
        height = model.io.to_blocks(height)[:, cells]
    outputs, _ = model(batch.depth, batch.proprioception, **options)
    return outputs, height, None
