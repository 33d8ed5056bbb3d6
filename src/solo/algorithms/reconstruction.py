"""Learning of a reconstructor from the states that the student visits.

Stage 3 of the paper: the reconstructor is "updated from the QR-conditioned student's
on-policy buffer" with the L1 loss of its section "Query Reconstructor", learning rate
5e-4 along a cosine. The policy's rollout storage never sees an image: a random part of
the windows of a rollout goes to a buffer of its own, serves some updates after PPO's,
and is dropped.

Not stated in the paper, and chosen here: Adam, the norm that gradients are clipped to
(PPO's), and how much of a rollout is used. All of it at 2048 environments would be 5.7
GB of depth windows per iteration, of which neighbours in time are nearly the same; a
sixth of it in 16 updates is 80 000 updates over the stage.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from tensordict import TensorDict
from torch import nn

from solo.algorithms.mirror import TERMS, Flip, SignedMap
from solo.algorithms.perception import (
    DEPTH,
    TRUE_MAP,
    TRUE_VELOCITY,
    WINDOW,
    kept_cells,
)
from solo.errors import SoloError
from solo.networks.reconstruction import make_reconstructor
from solo.networks.reconstruction.criterion import reconstruction_loss
from solo.networks.reconstruction.interface import ReconstructionIoCfg, Reconstructor


@dataclass(frozen=True)
class ReconstructionLearnerCfg:
    """How a reconstructor learns beside a policy."""

    iterations: int = 5_000
    """Iterations of the stage, after which the learning rate is 0."""
    learning_rate: float = 5.0e-4
    """At the first iteration (paper)."""
    samples: int = 8_192
    """Windows kept of a rollout; not stated in the paper."""
    batch: int = 512
    """Windows per update; not stated in the paper. Where a rollout has fewer than
    ``samples`` windows, as with few environments, batches are smaller in proportion."""
    updates: int = 16
    """Updates per iteration; not stated in the paper."""
    warm_up_iterations: int = 0
    """Iterations at the start in which nobody acts on the estimates yet."""
    warm_up_updates: int = 0
    """Updates in each of those."""
    max_grad_norm: float = 1.0
    """Not stated for reconstructors; the paper's value for PPO."""

    def __post_init__(self) -> None:
        numbers = (self.iterations, self.samples, self.batch, self.updates)
        if min(numbers) < 1 or self.learning_rate <= 0.0:
            raise ValueError(
                "ReconstructionLearnerCfg has iterations, samples, batch and updates "
                f"{numbers} and learning_rate {self.learning_rate}; all must be "
                "positive."
            )
        if self.warm_up_iterations > 0 and self.warm_up_updates < 1:
            raise ValueError(
                f"ReconstructionLearnerCfg has {self.warm_up_iterations} iterations of "
                f"warm-up with {self.warm_up_updates} updates; give at least 1."
            )


Mirrors = Mapping[str, SignedMap | Flip]
"""Group of the environment to its left-right mirror."""


def window_mirrors(frame: Mapping[str, Any]) -> Mirrors:
    """Mirrors of all that a window has, from that of a frame of proprioception."""
    return {
        DEPTH: TERMS["depth"],
        WINDOW: SignedMap(tuple(frame["source"]), tuple(frame["signs"])),
        TRUE_MAP: TERMS["height_map"],
        TRUE_VELOCITY: TERMS["base_lin_vel"],
    }


class WindowBuffer:
    """A random part of the windows of a rollout, with their labels."""

    def __init__(
        self,
        io: ReconstructionIoCfg,
        num_envs: int,
        num_steps: int,
        samples: int,
        device: torch.device | str,
        mirrors: Mirrors | None = None,
    ) -> None:
        """Allocate it.

        Args:
            io: Sizes of windows and maps.
            num_envs: Environments of the rollout.
            num_steps: Steps of the rollout.
            samples: Windows to keep, the same number of each step; rounded up.
            device: Where they are kept.
            mirrors: Keep the mirror image of every second window instead, on average;
                None keeps all as they are.
        """
        self.io, self.num_envs, self.mirrors = io, num_envs, mirrors
        self.per_step = min(num_envs, math.ceil(samples / num_steps))
        shapes = {
            DEPTH: (io.depth_frames, *io.depth_shape),
            WINDOW: (io.proprioception_frames, io.proprioception_dim),
            TRUE_MAP: io.map_cells,
            TRUE_VELOCITY: (3,),
        }
        self.capacity = self.per_step * num_steps
        """Windows of a whole rollout."""
        self._rows = {
            name: torch.zeros(self.capacity, *shape, device=device)
            for name, shape in shapes.items()
        }
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, obs: TensorDict) -> None:
        """Keep some environments' windows of a step; a full buffer takes no more."""
        end = self._size + self.per_step
        if end > self.capacity:
            return
        device = self._rows[DEPTH].device
        envs = torch.randperm(self.num_envs, device=device)[: self.per_step]
        is_image = None
        if self.mirrors is not None:
            is_image = torch.rand(self.per_step, device=device) < 0.5
        for name, rows in self._rows.items():
            values = obs[name][envs]
            if is_image is not None and self.mirrors is not None:
                values[is_image] = self.mirrors[name](values[is_image])
            if name == TRUE_MAP:
                values = kept_cells(values, self.io)
            rows[self._size : end].copy_(values)
        self._size = end

    def take(self, indices: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Depth, proprioception, heights and velocities of some samples."""
        return tuple(rows[indices] for rows in self._rows.values())

    def clear(self) -> None:
        """Drop all samples."""
        self._size = 0


class ReconstructionLearner:
    """A reconstructor, its optimiser and its buffer."""

    def __init__(
        self,
        name: str,
        fields: Mapping[str, Any],
        cfg: ReconstructionLearnerCfg,
        num_envs: int,
        num_steps: int,
        device: torch.device | str = "cpu",
        world_size: int = 1,
        mirror: Mapping[str, Any] | None = None,
    ) -> None:
        """Build the network and everything that trains it.

        Args:
            name: Key of `solo.networks.reconstruction.RECONSTRUCTORS`.
            fields: Fields of its config.
            cfg: How it learns.
            num_envs: Environments of a rollout.
            num_steps: Steps of a rollout.
            device: Torch device.
            world_size: Processes that learn together.
            mirror: ``source`` and ``signs`` of a frame of proprioception's mirror, to
                learn from mirror images, too; None: not, as in the paper.
        """
        self.name, self.cfg, self.iteration = name, cfg, 0
        self.model = make_reconstructor(name, **fields).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=cfg.learning_rate)
        self.buffer = WindowBuffer(
            self.model.io,
            num_envs,
            num_steps,
            cfg.samples,
            device,
            None if mirror is None else window_mirrors(mirror),
        )
        size = self.buffer.capacity
        self.batch = max(1, min(cfg.batch, cfg.batch * size // cfg.samples))
        """Windows per update."""
        self._world_size = world_size

    @property
    def is_warm(self) -> bool:
        """Whether the estimates are to be acted on."""
        return self.iteration >= self.cfg.warm_up_iterations

    def learning_rate(self) -> float:
        """Half a cosine from the first rate to 0 at the end of the stage."""
        done = min(1.0, self.iteration / self.cfg.iterations)
        return 0.5 * self.cfg.learning_rate * (1.0 + math.cos(math.pi * done))

    def update(self) -> dict[str, float]:
        """Learn from the buffer and empty it; the mean loss for the log."""
        rate = self.learning_rate()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        total, size = 0.0, len(self.buffer)
        if size == 0:
            raise RuntimeError("The buffer is empty; add windows before update.")
        order = torch.empty(0, dtype=torch.long)
        updates = self.cfg.updates if self.is_warm else self.cfg.warm_up_updates
        for _ in range(updates):
            while len(order) < self.batch:  # All samples before any comes again.
                order = torch.cat([order, torch.randperm(size)])
            indices, order = order[: self.batch], order[self.batch :]
            depth, window, height, velocity = self.buffer.take(indices)
            outputs, _ = self.model(depth, window)
            loss, _ = reconstruction_loss(outputs, height, velocity)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self._average_gradients()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.max_grad_norm)
            self.optimizer.step()
            total += loss.item()
        self.buffer.clear()
        self.iteration += 1
        return {"recon_loss": total / updates, "recon_learning_rate": rate}

    def _average_gradients(self) -> None:
        if self._world_size == 1:
            return
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                torch.distributed.all_reduce(parameter.grad)
                parameter.grad /= self._world_size

    def broadcast(self) -> None:
        """Give every process the reconstructor of the first one."""
        for tensor in self.model.state_dict().values():
            torch.distributed.broadcast(tensor, src=0)

    def state_dict(self) -> dict[str, Any]:
        """Everything that going on needs, and what the network is built from."""
        return {
            "name": self.name,
            # Without classes: checkpoints hold plain values alone.
            "fields": dataclasses.asdict(cast(Any, self.model.cfg)),
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "iteration": self.iteration,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over a saved state.

        Raises:
            SoloError: It is that of another kind of reconstructor.
        """
        if state["name"] != self.name:
            raise SoloError(
                f"The run has a reconstructor {state['name']!r}, not {self.name!r}. "
                f"Resume it with --reconstructor {state['name']}."
            )
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.iteration = state["iteration"]


def load_reconstructor(
    checkpoint: Mapping[str, Any], device: torch.device | str = "cpu"
) -> Reconstructor:
    """The trained reconstructor in a checkpoint of stage 3, for use.

    Raises:
        SoloError: The checkpoint is one of another stage.
    """
    if "reconstructor" not in checkpoint:
        raise SoloError(
            "The checkpoint holds no reconstructor, so it is not one of a perceptive "
            "student. Give a checkpoint of stage 3."
        )
    state = checkpoint["reconstructor"]
    model = make_reconstructor(state["name"], **state["fields"])
    model.load_state_dict(state["model"])
    return model.to(device).eval().requires_grad_(False)
