"""What the two baselines share: a recurrent memory and one dense decoder.

All that the sensors said is pressed into the state of a gated recurrent unit (GRU), and
the whole rough map is decoded from that one vector; a U-Net then refines it. This is
the bottleneck that the Query Reconstructor does without.

For independent windows the GRU reads the steps of the window of proprioception from the
first to the last, beginning with zeros. With a state it reads only the newest step, as
the older ones have gone by before; such a network is to be trained on sequences. Both
ways have the same parameters. The matched comparison is in windows: all methods then
see the same data in the same order, and none sees further back than the others.

The rough map is not supervised: both papers add a squared error on it, but the matched
comparison of the SOLO paper is "output-only L1". The correction is added to the rough
map and starts near zero, so that the gradient reaches the rough map at once.
"""

from __future__ import annotations

import torch
from torch import nn

from solo.networks.reconstruction.interface import (
    Outputs,
    ReconstructionIoCfg,
    Reconstructor,
    State,
    make_head,
)


class DenseReconstructor(Reconstructor):
    """Base of the START-style and DPL-style reconstructors. State: the GRU's."""

    def __init__(
        self,
        io: ReconstructionIoCfg,
        evidence_dim: int,
        hidden_dim: int,
        decoder_dim: int,
        head_hidden_dim: int,
    ) -> None:
        """Create memory and decoder.

        Args:
            io: Sizes of inputs and outputs.
            evidence_dim: What the memory reads per step.
            hidden_dim: Size of the memory.
            decoder_dim: Width of the layer between memory and rough map.
            head_hidden_dim: Width of the velocity head.
        """
        super().__init__(io)
        rows, columns = io.map_cells
        self.memory = nn.GRU(evidence_dim, hidden_dim, batch_first=True)
        self.rough_head = make_head(hidden_dim, decoder_dim, rows * columns)
        self.velocity_head = make_head(hidden_dim, head_hidden_dim, 3)

    def forward(
        self,
        depth: torch.Tensor,
        proprioception: torch.Tensor,
        state: State | None = None,
    ) -> tuple[Outputs, State | None]:
        """Reconstruct the ground, see `Reconstructor.forward`."""
        frames = self.normalizer(proprioception)
        if state is not None:
            frames = frames[:, -1:]
        evidence, context = self.gather(depth, frames)
        start = None if state is None else state[0].unsqueeze(0)
        steps, _ = self.memory(evidence, start)
        hidden = steps[:, -1]  # [B, hidden]
        rough = self.rough_head(hidden).view(-1, 1, *self.io.map_cells)
        relief = rough + self.refine(rough, context)
        outputs = {
            "height": self.to_metres(relief.squeeze(1)),
            "velocity": self.velocity_head(hidden),
        }
        return outputs, None if state is None else (hidden,)

    def gather(
        self, depth: torch.Tensor, frames: torch.Tensor
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """What the memory reads, and what the refinement may look at.

        Args:
            depth: Images [B, T, H, W].
            frames: Normalised proprioception [B, steps, P].

        Returns:
            Evidence [B, steps, evidence_dim] and tensors for `refine`.
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
