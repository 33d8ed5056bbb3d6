"""What all reconstructors share: sizes of inputs and outputs, normalisation, state.

Inputs are those of the student: a window of depth images (oldest first, newest last)
and a window of proprioception. Outputs are a height map in metres, terrain height minus
base height, and the velocity of the base in its own frame. Statistics and nominal
heights are inside the module, so a checkpoint or an ONNX file is complete.

State. A reconstructor may be used in two ways:

- ``forward(depth, proprioception)``: everything is computed from the window, and the
  state returned is None. For shuffled samples.
- ``forward(depth, proprioception, state)`` with a state from `initial_state`: one
  control step has passed since the last call. The Query Reconstructor gives the same
  result from less work; baselines with `episode_memory` go on with their memory, which
  they were trained for, on sequences.

A state is a tuple of tensors with the batch first; zeros begin an episode.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import nn

from solo.sensors.depth.cfg import DepthCameraCfg, DepthSensorCfg
from solo.sensors.height_map import HeightMapCfg

Outputs = dict[str, torch.Tensor]
"""``height`` [B, Y, X] in metres and ``velocity`` [B, 3] in metres per second."""
State = tuple[torch.Tensor, ...]
"""Opaque memory of the steps before; every tensor begins with the batch."""


@dataclass(frozen=True)
class ReconstructionIoCfg:
    """Sizes and units of what goes in and comes out; the defaults are the paper's."""

    depth_shape: tuple[int, int] = DepthCameraCfg().output_shape
    """Rows and columns of a depth image."""
    depth_frames: int = DepthSensorCfg.frames
    """Images in the window."""
    depth_stride: int = DepthSensorCfg.stride
    """Control steps between two images of the window."""
    proprioception_dim: int = 84
    """Numbers per frame of proprioception."""
    proprioception_frames: int = 10
    """Consecutive control steps in the window of proprioception."""
    height_map: HeightMapCfg = field(default_factory=HeightMapCfg)
    """The window of ground to reconstruct."""
    query_block: int = 1
    """Side of the square of cells that one query of QR answers; 1 in the paper.

    With 2, a map of 5 cm cells costs the decoder as much as one of 10 cm cells. Dense
    decoders do not use it.
    """
    base_height_m: float = 0.757
    """Height of the base over flat ground when the robot stands, metres (G1).

    The networks predict the difference from flat ground under a standing robot.
    """
    height_unit_m: float = 0.25
    """Height that is 1.0 inside the networks, metres; the same as in `AmeCfg`."""

    def __post_init__(self) -> None:
        sizes = (
            *self.depth_shape,
            self.depth_frames,
            self.depth_stride,
            self.proprioception_dim,
            self.proprioception_frames,
            self.query_block,
        )
        if min(sizes) < 1 or self.height_unit_m <= 0.0:
            raise ValueError(
                f"ReconstructionIoCfg has sizes {sizes} and height_unit_m "
                f"{self.height_unit_m}; all must be positive."
            )
        if any(size % self.query_block for size in self.height_map.cells):
            raise ValueError(
                f"ReconstructionIoCfg.query_block is {self.query_block}; it must "
                f"divide both sides of the map, {self.height_map.cells} cells."
            )

    @property
    def num_queries(self) -> int:
        """Blocks of cells in the map."""
        return math.prod(self.height_map.cells) // self.query_block**2

    def to_blocks(self, cells: torch.Tensor) -> torch.Tensor:
        """A map [..., Y, X] as blocks [..., queries, block * block], row by row."""
        rows, columns = (size // self.query_block for size in self.height_map.cells)
        block = self.query_block
        split = cells.unflatten(-1, (columns, block)).unflatten(-3, (rows, block))
        return split.transpose(-3, -2).flatten(-2).flatten(-3, -2)

    def from_blocks(self, blocks: torch.Tensor) -> torch.Tensor:
        """The map [..., Y, X] of blocks [..., queries, block * block]."""
        rows, columns = (size // self.query_block for size in self.height_map.cells)
        block = self.query_block
        split = blocks.unflatten(-1, (block, block)).unflatten(-3, (rows, columns))
        return split.transpose(-3, -2).flatten(-2).flatten(-3, -2)


IO_PROFILES = {
    "paper": ReconstructionIoCfg(),
    "reduced": ReconstructionIoCfg(depth_shape=(32, 57)),
    "laptop": ReconstructionIoCfg(depth_shape=(32, 57), query_block=2),
}
"""Sizes by profile. ``reduced`` has half the resolution of depth, as the paper's
reduced-compute protocol; in ``laptop`` each query of QR answers 2 x 2 cells as well."""


class ProprioceptionNormalizer(nn.Module):
    """Mean and spread of each number of proprioception, from data."""

    LIMIT = 10.0
    """Values are clipped to it: an outlier must not carry the network anywhere it has
    not been."""

    def __init__(self, dim: int) -> None:
        """Start with no change for frames of ``dim`` numbers."""
        super().__init__()
        self.mean: torch.Tensor
        self.std: torch.Tensor
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("std", torch.ones(dim))

    def set(self, mean: torch.Tensor, std: torch.Tensor) -> None:
        """Take statistics [D]; a number that never changes keeps a spread of 1."""
        std = torch.as_tensor(std)
        self.mean.copy_(torch.as_tensor(mean))
        self.std.copy_(torch.where(std > 1e-4, std, torch.ones_like(std)))

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """Normalise frames [..., D]."""
        scaled = (frames - self.mean) / self.std
        return scaled.clamp(-self.LIMIT, self.LIMIT)


class Reconstructor(nn.Module):
    """Base of the reconstructors."""

    episode_memory = False
    """Whether it has to be streamed: its memory lasts as long as the episode."""

    def __init__(self, io: ReconstructionIoCfg) -> None:
        """Keep the sizes and create the normaliser."""
        super().__init__()
        self.io = io
        self.normalizer = ProprioceptionNormalizer(io.proprioception_dim)

    def forward(
        self,
        depth: torch.Tensor,
        proprioception: torch.Tensor,
        state: State | None = None,
        frame_of: torch.Tensor | None = None,
    ) -> tuple[Outputs, State | None]:
        """Reconstruct the ground.

        Args:
            depth: Images [B, T, H, W], 0 to 1, 0 where invalid; newest last.
            proprioception: Frames [B, T, D]; newest last.
            state: None for independent windows, else the state of the step before.
            frame_of: For windows that share images: ``depth`` is each of them once
                [U, H, W], and this tells which ones a window has [B, T].

        Returns:
            ``height`` [B, Y, X], ``velocity`` [B, 3]; and the new state, None if None
            was given.
        """
        raise NotImplementedError

    def state_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the tensors of the state, without the batch."""
        raise NotImplementedError

    def initial_state(
        self, num_envs: int, device: torch.device | str | None = None
    ) -> State:
        """State at the beginning of an episode."""
        device = device or self.normalizer.mean.device
        shapes = self.state_shapes()
        return tuple(torch.zeros(num_envs, *s, device=device) for s in shapes)

    def reset_state(self, state: State | None, envs: torch.Tensor) -> State | None:
        """A state without what the envs that are done have seen.

        Envs are indices or a boolean mask [B]; None stays None.
        """
        if state is None:
            return None
        return tuple(clear_rows(part, envs) for part in state)

    def set_statistics(self, mean: torch.Tensor, std: torch.Tensor) -> None:
        """Take mean and standard deviation of proprioception [D] from data."""
        self.normalizer.set(mean, std)

    def num_parameters(self) -> int:
        """Trained numbers."""
        return sum(p.numel() for p in self.parameters())

    def to_metres(self, relief: torch.Tensor) -> torch.Tensor:
        """Heights in metres from a network's output [..., Y, X]."""
        return relief * self.io.height_unit_m - self.io.base_height_m


def clear_rows(tensor: torch.Tensor, envs: torch.Tensor) -> torch.Tensor:
    """A copy [B, ...] with zeros in some rows, given as indices or boolean mask."""
    cleared = tensor.clone()
    cleared[envs] = 0.0
    return cleared


def make_head(dim: int, hidden_dim: int, output_dim: int) -> nn.Sequential:
    """Two layers to an output that begins near zero: flat ground, at rest."""
    last = nn.Linear(hidden_dim, output_dim)
    nn.init.normal_(last.weight, std=0.01)
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Linear(dim, hidden_dim), nn.ReLU(), last)


def make_frame_mlp(input_dim: int, hidden_dim: int, dim: int) -> nn.Sequential:
    """The MLP that describes one frame of proprioception."""
    return nn.Sequential(
        nn.Linear(input_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, dim)
    )
