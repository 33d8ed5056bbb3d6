"""Learning of a reconstructor from the states that the student visits.

Stage 3 of the paper: the reconstructor is "updated from the QR-conditioned student's
on-policy buffer" with the L1 loss of its section "Query Reconstructor", learning rate
5e-4 along a cosine. The policy's rollout storage never sees an image: a random part of
the windows of a rollout goes to a buffer of its own, serves some updates after PPO's,
and is dropped.

An update is the one of offline training (`solo.reconstruction.update`). Not stated in
the paper, and chosen here: how much of a rollout is used. All of it at 2048
environments would be 5.7 GB of depth windows per iteration, of which neighbours in time
are nearly the same; a sixth of it in 16 updates is 80 000 updates over the stage.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from tensordict import TensorDict

from solo.errors import SoloError, check_number
from solo.reconstruction.cfg import LEARNING_RATE, MAX_GRAD_NORM
from solo.reconstruction.networks import make_reconstructor
from solo.reconstruction.networks.interface import (
    ReconstructionIoCfg,
    State,
)
from solo.reconstruction.perceiver import (
    DEPTH,
    TRUE_MAP,
    TRUE_VELOCITY,
    WINDOW,
)
from solo.reconstruction.update import Batch, cosine, make_optimizer, update


@dataclass(frozen=True)
class ReconstructionLearnerCfg:
    """How a reconstructor learns beside a policy."""

    iterations: int = 5_000
    """Iterations of the stage, after which the learning rate is 0."""
    learning_rate: float = LEARNING_RATE
    """At the first iteration; it falls to 0 along half a cosine."""
    samples: int = 8_192
    """Windows kept of a rollout; not stated in the paper."""
    batch: int = 512
    """Windows per update; not stated in the paper. Where a rollout has fewer than
    ``samples`` windows, as with few environments, batches are smaller in proportion."""
    updates: int = 16
    """Updates per iteration; not stated in the paper."""
    warm_up_iterations: int = 0
    """Iterations at the start without acting on the estimates."""
    warm_up_updates: int = 0
    """Updates in each of those."""
    cells: int = 0
    """Cells that a query network is asked for per update, others each time; 0 for all.
    Dense decoders give all of them at once."""
    neighbours: int = 1
    """Windows of a batch that are of one robot, a stride of images apart, and so share
    images, which are encoded once; 1 for independent windows. As in `FitCfg`."""
    sequence: int = 8
    """Successive steps of a robot in a batch, for reconstructors with a memory of the
    episode."""
    max_grad_norm: float = MAX_GRAD_NORM
    """Gradients are clipped to this norm."""

    def __post_init__(self) -> None:
        sizes = ("iterations", "samples", "batch", "updates", "neighbours", "sequence")
        for name in sizes:
            check_number(name, getattr(self, name), 1)
        check_number("learning_rate", self.learning_rate, 1e-9)
        check_number("cells", self.cells, 0)
        least = 1 if self.warm_up_iterations > 0 else 0
        check_number("warm_up_updates", self.warm_up_updates, least)


Mirrors = Mapping[str, Callable[[torch.Tensor], torch.Tensor]]
"""Group of the environment to its left-right mirror."""


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
        follows: bool = False,
        state_shapes: tuple[tuple[int, ...], ...] = (),
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
            follows: Keep the same environments at all steps of a rollout and not others
                at each, so that row ``r + per_step`` is one step after row ``r``.
            state_shapes: Shapes of a reconstructor's state, if it has a memory of the
                episode, which is then kept as well.
        """
        self.num_envs, self.mirrors = num_envs, mirrors
        self.follows = follows
        self.per_step = min(num_envs, math.ceil(samples / num_steps))
        shapes = {
            DEPTH: (io.depth_frames, *io.depth_shape),
            WINDOW: (io.proprioception_frames, io.proprioception_dim),
            TRUE_MAP: io.height_map.cells,
            TRUE_VELOCITY: (3,),
        }
        self.capacity = self.per_step * num_steps
        """Windows of a whole rollout."""
        self._rows = {
            name: torch.zeros(self.capacity, *shape, device=device)
            for name, shape in shapes.items()
        }
        self._begins = torch.zeros(self.capacity, dtype=torch.bool, device=device)
        self._state = tuple(
            torch.zeros(self.capacity, *shape, device=device) for shape in state_shapes
        )
        self._envs = torch.zeros(0, dtype=torch.long, device=device)
        self._is_image: torch.Tensor | None = None
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(
        self, obs: TensorDict, begins: torch.Tensor | None = None, state: State = ()
    ) -> None:
        """Keep some environments' windows of a step; a full buffer takes no more.

        For a memory, also where an episode begins with this step [B], and the
        reconstructor's state before it.
        """
        end = self._size + self.per_step
        if end > self.capacity:
            return
        if self._size == 0 or not self.follows:
            self._draw()
        place = slice(self._size, end)
        for name, rows in self._rows.items():
            values = obs[name][self._envs]
            if self._is_image is not None and self.mirrors is not None:
                values[self._is_image] = self.mirrors[name](values[self._is_image])
            rows[place].copy_(values)
        if begins is not None:
            self._begins[place] = begins[self._envs]
        for rows, values in zip(self._state, state, strict=True):
            rows[place].copy_(values[self._envs])
        self._size = end

    def _draw(self) -> None:
        """Choose environments, and which of them are seen in the mirror."""
        device = self._rows[DEPTH].device
        self._envs = torch.randperm(self.num_envs, device=device)[: self.per_step]
        if self.mirrors is not None:
            self._is_image = torch.rand(self.per_step, device=device) < 0.5

    def take(self, indices: torch.Tensor) -> Batch:
        """Some samples."""
        return Batch(*(rows[indices] for rows in self._rows.values()))

    def take_sequences(self, first: torch.Tensor, count: int) -> tuple[Batch, State]:
        """Successive steps from some rows on, and the states before the first ones."""
        rows = first[:, None] + self.per_step * torch.arange(count)
        batch = self.take(rows.flatten())._replace(begins=self._begins[rows])
        return batch, tuple(part[first] for part in self._state)

    def clear(self) -> None:
        """Drop all samples."""
        self._size = 0


def share_images(batch: Batch, count: int) -> Batch:
    """The same batch with each image once that windows of a group have in common.

    Of the windows of a group, ``count`` one after the other, each is a stride of images
    later than the one before. All but its newest image are then the last ones of that,
    unless an episode began in between.
    """
    windows = batch.depth.unflatten(0, (-1, count))  # [G, count, T, H, W]
    same = (windows[:, 1:, :-1] == windows[:, :-1, 1:]).flatten(3).all(dim=3)
    numbers = torch.arange(windows[..., 0, 0].numel(), device=windows.device)
    image = numbers.view(windows.shape[:3]).clone()  # [G, count, T]
    for k in range(1, count):
        image[:, k, :-1] = image[:, k - 1, 1:].where(same[:, k - 1], image[:, k, :-1])
    used, frame_of = image.flatten(0, 1).unique(return_inverse=True)
    return batch._replace(depth=windows.flatten(0, 2)[used], frame_of=frame_of)


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
        mirrors: Mirrors | None = None,
    ) -> None:
        """Build the network of a name and fields, and everything that trains it.

        With mirrors it learns from mirror images, too, unlike the paper's. A memory of
        the episode knows the world as it was, so it has none.
        """
        self.name, self.cfg, self.iteration = name, cfg, 0
        self.model = make_reconstructor(name, **fields).to(device)
        self.optimizer = make_optimizer(self.model, cfg.learning_rate)
        has_memory = self.model.episode_memory
        self._count, self._apart = cfg.neighbours, self.model.io.depth_stride
        if has_memory:
            self._count, self._apart = cfg.sequence, 1
        self._reach = self._apart * (self._count - 1)
        if self._reach >= num_steps:
            field = "sequence" if has_memory else "neighbours"
            raise ValueError(
                f"ReconstructionLearnerCfg.{field} is {self._count}, which takes "
                f"{self._reach + 1} steps of a robot; a rollout has {num_steps}."
            )
        self.buffer = WindowBuffer(
            self.model.io,
            num_envs,
            num_steps,
            cfg.samples,
            device,
            None if has_memory else mirrors,
            self._count > 1,
            self.model.state_shapes() if has_memory else (),
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
        return cosine(self.cfg.learning_rate, self.iteration / self.cfg.iterations)

    def update(self) -> dict[str, float]:
        """Learn from the buffer and empty it; the mean loss for the log."""
        rate, total, size = self.learning_rate(), 0.0, len(self.buffer)
        starts = size - self._reach * self.buffer.per_step
        if starts < 1:
            raise RuntimeError(
                f"The buffer holds {size} windows, fewer than an update needs; add "
                "windows of more steps before update."
            )
        groups = max(1, self.batch // self._count)
        order = torch.empty(0, dtype=torch.long)
        updates = self.cfg.updates if self.is_warm else self.cfg.warm_up_updates
        for _ in range(updates):
            while len(order) < groups:  # All samples before any comes again.
                order = torch.cat([order, torch.randperm(starts)])
            first, order = order[:groups], order[groups:]
            batch, memory = self._take(first)
            parts, _ = update(
                self.model,
                self.optimizer,
                batch,
                rate,
                self._pick_cells(),
                memory,
                self.cfg.max_grad_norm,
                self._world_size,
            )
            total += parts["loss"]
        self.buffer.clear()
        self.iteration += 1
        return {"recon_loss": total / updates, "recon_learning_rate": rate}

    def _take(self, first: torch.Tensor) -> tuple[Batch, State | None]:
        """A batch whose windows, or groups of them, begin with the rows [n]."""
        if self.model.episode_memory:
            return self.buffer.take_sequences(first, self._count)
        if self._count == 1:
            return self.buffer.take(first), None
        later = self._apart * self.buffer.per_step * torch.arange(self._count)
        batch = self.buffer.take((first[:, None] + later).flatten())
        return share_images(batch, self._count), None

    def _pick_cells(self) -> torch.Tensor | None:
        """The queries that an update asks, [n]; None for all."""
        cells = self.model.io.num_queries
        if not 0 < self.cfg.cells < cells:
            return None
        device = self.model.normalizer.mean.device
        return torch.randperm(cells)[: self.cfg.cells].to(device)

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
        """Take over a saved state."""
        if state["name"] != self.name:
            raise SoloError(
                f"The run has a reconstructor {state['name']!r}, not {self.name!r}. "
                f"Resume it with --reconstructor {state['name']}."
            )
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.iteration = state["iteration"]
