"""What all reconstructors share: sizes of inputs and outputs, normalisation, state.

Inputs are those of the student: a window of depth images (oldest first, newest last)
and a window of proprioception. Outputs are a height map in metres, terrain height minus
base height, and the velocity of the base in its own frame. Statistics and nominal
heights are inside the module, so a checkpoint or an ONNX file is complete.

State. A reconstructor may be used in two ways:

- ``forward(depth, proprioception)``: everything is computed from the window, and the
  state returned is None. For shuffled samples; the matched comparison trains so.
- ``forward(depth, proprioception, state)`` with a state from `initial_state`: one
  control step has passed since the last call. The Query Reconstructor gives the same
  result from less work; the recurrent baselines continue their memory, which must have
  been trained that way, on sequences.

A state is a tuple of tensors with the batch first; zeros begin an episode.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import nn

from solo.sensors.perception_cfg import HeightMapCfg

Outputs = dict[str, torch.Tensor]
"""``height`` [B, Y, X] in metres and ``velocity`` [B, 3] in metres per second."""
State = tuple[torch.Tensor, ...]
"""Opaque memory of the steps before; every tensor begins with the batch."""


@dataclass(frozen=True)
class ReconstructionIoCfg:
    """Sizes and units of what goes in and comes out; the defaults are the paper's."""

    depth_shape: tuple[int, int] = (64, 113)
    """Rows and columns of a depth image."""
    depth_frames: int = 4
    """Images in the window."""
    depth_stride: int = 4
    """Control steps between two images of the window."""
    proprioception_dim: int = 84
    """Numbers per frame of proprioception."""
    proprioception_frames: int = 10
    """Consecutive control steps in the window of proprioception."""
    height_map: HeightMapCfg = field(default_factory=HeightMapCfg)
    """The window of ground to reconstruct."""
    map_stride: int = 1
    """Reconstruct every n-th cell along both axes, the cells that `AmeCfg` keeps."""
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
            self.map_stride,
        )
        if min(sizes) < 1 or self.height_unit_m <= 0.0:
            raise ValueError(
                f"ReconstructionIoCfg has sizes {sizes} and height_unit_m "
                f"{self.height_unit_m}; all must be positive."
            )

    @property
    def map_cells(self) -> tuple[int, int]:
        """Cells of the reconstructed map, Y and X."""
        y, x = self.height_map.cells
        return math.ceil(y / self.map_stride), math.ceil(x / self.map_stride)

    def cell_xy_h(self) -> torch.Tensor:
        """Centres of the reconstructed cells [Y, X, 2], metres, heading frame."""
        centres = self.height_map.centres_h()[:: self.map_stride, :: self.map_stride]
        return torch.from_numpy(centres.copy()).float()


IO_PROFILES = {
    "paper": ReconstructionIoCfg(),
    "laptop": ReconstructionIoCfg(depth_shape=(32, 57), map_stride=2),
}
"""Sizes by profile; ``laptop`` is half the resolution of depth and map."""


class ProprioceptionNormalizer(nn.Module):
    """Mean and spread of each number of proprioception, from data."""

    def __init__(self, dim: int, limit: float = 10.0) -> None:
        """Start with no change.

        Args:
            dim: Numbers per frame.
            limit: Normalised values are clipped to this; an outlier must not carry the
                network anywhere it has not been.
        """
        super().__init__()
        self.limit = limit
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
        return scaled.clamp(-self.limit, self.limit)


class Reconstructor(nn.Module):
    """Base of the reconstructors."""

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
    ) -> tuple[Outputs, State | None]:
        """Reconstruct the ground.

        Args:
            depth: Images [B, T, H, W], 0 to 1, 0 where invalid; newest last.
            proprioception: Frames [B, T, D]; newest last.
            state: None for independent windows, else the state of the step before.

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
        """Forget what the envs that are done have seen.

        Args:
            state: State of all envs; it is not changed.
            envs: Indices of the envs, or a boolean mask [B].

        Returns:
            The new state; None stays None.
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
