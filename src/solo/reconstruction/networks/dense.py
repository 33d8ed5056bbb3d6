"""What the two baselines share: a recurrent memory, one dense decoder and a U-Net.

All that the sensors said is pressed into the state of a gated recurrent unit (GRU), and
the whole rough map is decoded from that one vector; a U-Net then refines it. This is
the bottleneck that the Query Reconstructor does without.

For independent windows (``start``, ``dpl``) the GRU reads the steps of the window of
proprioception from the first to the last, beginning with zeros: all methods then see
the same data in the same order, and none sees further back than the others. With
``episode_memory`` (``start_memory``, ``dpl_memory``) it is as both papers have it: the
memory lasts from the first step of an episode to the last, reads the newest step only,
and is trained on sequences (`DenseReconstructor.unroll`). Both have the same
parameters.

The rough map is not supervised: both papers add a squared error on it, but the matched
comparison of the SOLO paper is "output-only L1". The correction is added to the rough
map and starts near zero, so that the gradient reaches the rough map at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import torch
from torch import nn
from torch.nn.functional import interpolate

from solo.reconstruction.networks.depth_encoder import init_conv
from solo.reconstruction.networks.interface import (
    Outputs,
    ReconstructionIoCfg,
    Reconstructor,
    State,
    make_head,
)


@dataclass(frozen=True, kw_only=True)
class DenseCfg:
    """Sizes that both baselines have."""

    io: ReconstructionIoCfg = field(default_factory=ReconstructionIoCfg)
    """Sizes of inputs and outputs."""
    channels: tuple[int, ...]
    """Channels of the image network: stem, then one residual block each."""
    strides: tuple[int, ...] = (2, 2, 2, 2)
    """Strides of the same."""
    proprioception_hidden_dim: int = 128
    """Width of the MLP of proprioception."""
    hidden_dim: int
    """Size of the memory."""
    decoder_dim: int = 128
    """Width of the layer between memory and rough map."""
    head_hidden_dim: int = 64
    """Width of the velocity head."""
    unet_channels: tuple[int, ...] = (16, 32, 64)
    """Channels of the refinement, fine to coarse."""
    episode_memory: bool = False
    """The memory lasts as long as the episode: it is trained on sequences and streamed
    (variants ``start_memory`` and ``dpl_memory``)."""


class DenseReconstructor(Reconstructor):
    """Base of the START-style and DPL-style reconstructors. State: the GRU's."""

    def __init__(self, cfg: DenseCfg, evidence_dim: int) -> None:
        """Create memory and decoder; the memory reads ``evidence_dim`` per step."""
        super().__init__(cfg.io)
        self.cfg, self.episode_memory = cfg, cfg.episode_memory
        rows, columns = cfg.io.height_map.cells
        self.memory = nn.GRU(evidence_dim, cfg.hidden_dim, batch_first=True)
        self.rough_head = make_head(cfg.hidden_dim, cfg.decoder_dim, rows * columns)
        self.velocity_head = make_head(cfg.hidden_dim, cfg.head_hidden_dim, 3)

    def forward(
        self,
        depth: torch.Tensor,
        proprioception: torch.Tensor,
        state: State | None = None,
        frame_of: torch.Tensor | None = None,
    ) -> tuple[Outputs, State | None]:
        """Reconstruct the ground, see `Reconstructor.forward`."""
        frames = proprioception if state is None else proprioception[:, -1:]
        read, context = self.gather(depth, proprioception, frames, frame_of)
        start = None if state is None else state[0].unsqueeze(0)
        steps, _ = self.memory(read, start)
        hidden = steps[:, -1]  # [B, hidden]
        return self.decode(hidden, context), None if state is None else (hidden,)

    def unroll(
        self,
        depth: torch.Tensor,
        proprioception: torch.Tensor,
        begins: torch.Tensor,
        state: State,
        frame_of: torch.Tensor | None = None,
    ) -> tuple[Outputs, State]:
        """Reconstruct in K successive steps of S episodes, for training on sequences.

        Windows are those of `Reconstructor.forward`, B = S * K, episode by episode. The
        memory is empty where an episode begins [S, K]. Gives the outputs of all steps
        [B, ...] and the state after the last.
        """
        read, context = self.gather(
            depth, proprioception, proprioception[:, -1:], frame_of
        )
        read = read.squeeze(1).unflatten(0, begins.shape)  # [S, K, read]
        hidden, steps = state[0], []
        for k in range(begins.shape[1]):
            hidden = hidden.masked_fill(begins[:, k : k + 1], 0.0)
            _, last = self.memory(read[:, k : k + 1], hidden.unsqueeze(0))
            hidden = last.squeeze(0)
            steps.append(hidden)
        return self.decode(torch.stack(steps, 1).flatten(0, 1), context), (hidden,)

    def decode(
        self, hidden: torch.Tensor, context: tuple[torch.Tensor, ...]
    ) -> Outputs:
        """Heights and velocity from the memory [B, hidden]."""
        rough = self.rough_head(hidden).view(-1, 1, *self.io.height_map.cells)
        relief = rough + self.refine(rough, context)
        return {
            "height": self.to_metres(relief.squeeze(1)),
            "velocity": self.velocity_head(hidden),
        }

    def gather(
        self,
        depth: torch.Tensor,
        proprioception: torch.Tensor,
        frames: torch.Tensor,
        frame_of: torch.Tensor | None,
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """What the memory reads, and what the refinement may look at.

        Args:
            depth: Images [B, T, H, W], or [U, H, W] with ``frame_of``.
            proprioception: Windows of proprioception [B, T, P].
            frames: The frames of them that the memory reads [B, steps, P].
            frame_of: Which image each of a window is [B, T].

        Returns:
            Features [B, steps, evidence_dim] and tensors for `refine`.
        """
        raise NotImplementedError

    def refine(
        self, rough: torch.Tensor, context: tuple[torch.Tensor, ...]
    ) -> torch.Tensor:
        """Correction [B, 1, Y, X] of the rough map [B, 1, Y, X]."""
        raise NotImplementedError

    def state_shapes(self) -> tuple[tuple[int, ...], ...]:
        """The state of the memory."""
        return ((self.memory.hidden_size,),)


class UNet(nn.Module):
    """Halves the resolution level by level and comes back with shortcuts.

    Ronneberger et al., "U-Net", arXiv 1505.04597, at the size of a height map. It gives
    a correction, small at first, which the caller adds to the rough map.
    """

    def __init__(
        self,
        inputs: int = 1,
        channels: Sequence[int] = (16, 32, 64),
        bottleneck_inputs: int = 0,
    ) -> None:
        """Create the network, with channels per level from fine to coarse.

        ``inputs`` are the map and what is laid over it, ``bottleneck_inputs`` channels
        joined at the coarsest level.
        """
        super().__init__()
        self.enter = _conv_pair(inputs, channels[0], 1)
        pairs = list(pairwise(channels))
        self.down = nn.ModuleList(_conv_pair(fine, coarse, 2) for fine, coarse in pairs)
        self.join = None
        if bottleneck_inputs > 0:
            self.join = _conv(channels[-1] + bottleneck_inputs, channels[-1], 1)
        self.up = nn.ModuleList(_conv(coarse, fine, 1) for fine, coarse in pairs)
        self.merge = nn.ModuleList(_conv(2 * fine, fine, 1) for fine, _ in pairs)
        self.leave = nn.Conv2d(channels[0], 1, 1)
        nn.init.normal_(self.leave.weight, std=0.01)
        assert self.leave.bias is not None
        nn.init.zeros_(self.leave.bias)

    def forward(
        self, maps: torch.Tensor, bottleneck: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Correction [B, 1, Y, X] of maps [B, inputs, Y, X].

        The bottleneck [B, bottleneck_inputs, y, x] is resized to the coarsest level.
        """
        features = [torch.relu_(self.enter(maps))]
        for down in self.down:
            features.append(torch.relu_(down(features[-1])))
        x = features.pop()
        if self.join is not None and bottleneck is not None:
            joined = torch.cat([x, resize(bottleneck, x.shape[-2:])], dim=1)
            x = x + torch.relu_(self.join(joined))
        for up, merge in zip(reversed(self.up), reversed(self.merge), strict=True):
            fine = features.pop()
            raised = torch.relu_(up(interpolate(x, size=fine.shape[-2:])))
            x = fine + torch.relu_(merge(torch.cat([raised, fine], dim=1)))
        return self.leave(x)


def resize(images: torch.Tensor, size: Sequence[int]) -> torch.Tensor:
    """Bilinear resampling of [B, C, y, x] to another size."""
    return interpolate(images, size=tuple(size), mode="bilinear", align_corners=False)


def _conv(inputs: int, outputs: int, stride: int) -> nn.Conv2d:
    return init_conv(nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1))


def _conv_pair(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    first, second = _conv(inputs, outputs, stride), _conv(outputs, outputs, 1)
    return nn.Sequential(first, nn.ReLU(inplace=True), second)
