"""Student: the teacher's structure, and a memory of what the body felt.

A long short-term memory (LSTM) reads the proprioception of each step and its output is
joined to the input of the action head, past the encoder. Paper: input 84, hidden size
128, one layer, head [512, 256, 128].

Padding, masks and stored states are rsl_rl's. Only the memory needs sequences, so the
encoder, which costs most, runs on the valid steps alone. The memory of a symmetric
student keeps a state for the mirror image, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from rsl_rl.modules import RNN, HiddenState
from rsl_rl.utils import unpad_trajectories
from tensordict import TensorDict
from torch import nn

from solo.networks.ame_model import AmeModel
from solo.networks.export import RecurrentExport, StatefulExport
from solo.networks.symmetry import join_state, split_state


class StudentModel(AmeModel):
    """rsl_rl model: map encoder, vectors, and a memory over one of the vectors."""

    is_recurrent: bool = True

    def __init__(
        self,
        *args: Any,
        hidden_dims: Sequence[int] = (512, 256, 128),
        memory_group: str = "proprioception",
        rnn_hidden_dim: int = 128,
        rnn_num_layers: int = 1,
        **options: Any,
    ) -> None:
        """Create the model; arguments as in `AmeModel`, and those of the memory.

        The memory reads ``memory_group``, one of the vectors.
        """
        self.rnn_hidden_dim = rnn_hidden_dim
        super().__init__(*args, hidden_dims=list(hidden_dims), **options)
        if memory_group not in self.group_dims:
            raise ValueError(
                f"memory_group is {memory_group!r}, which is not among the vectors: "
                f"{', '.join(self.group_dims)}. Name one of them."
            )
        before = self.obs_groups[: self.obs_groups.index(memory_group)]
        start = sum(self.group_dims[group] for group in before)
        self.memory_slice = slice(start, start + self.group_dims[memory_group])
        self.rnn = RNN(
            self.group_dims[memory_group], rnn_hidden_dim, rnn_num_layers, "lstm"
        )

    def get_latent(
        self,
        obs: TensorDict,
        masks: torch.Tensor | None = None,
        hidden_state: HiddenState = None,
    ) -> torch.Tensor:
        """Input of the head.

        Args:
            obs: One step [B, ...], or padded trajectories [T, trajectories, ...].
            masks: Which steps of the trajectories are valid, [T, trajectories].
            hidden_state: State of the memory at the start of each trajectory.

        Returns:
            [B, D + vectors + memory] for one step; it advances the state. For padded
            trajectories [T, B, ...], back in the shape of the rollout. A symmetric
            student has 2 B: the images after the states.
        """
        vector, height_map = self.joined_vector(obs), obs[self.map_group]
        if self.mirror is not None:
            vector, height_map = self.mirror.both(vector, height_map)
            masks = None if masks is None else torch.cat([masks, masks], dim=1)
            hidden_state = _mapped(split_state, hidden_state)
        raw, vector = vector, self.obs_normalizer(vector)
        recalled = self.rnn(vector[..., self.memory_slice], masks, hidden_state)
        if masks is None:
            recalled = recalled.squeeze(0)  # One step is a sequence of length 1.
        else:
            raw, vector = (unpad_trajectories(v, masks) for v in (raw, vector))
            height_map = unpad_trajectories(height_map, masks)
        described = self._describe(raw, vector, height_map)
        return torch.cat([described, recalled], dim=-1)

    def reset(
        self, dones: torch.Tensor | None = None, hidden_state: HiddenState = None
    ) -> None:
        """Forget the episodes that are done, or all, or put a state back."""
        if self.mirror is not None:
            dones = None if dones is None else dones.repeat(2)
            hidden_state = _mapped(split_state, hidden_state)
        self.rnn.reset(dones, hidden_state)

    def get_hidden_state(self) -> HiddenState:
        """State of the memory: two tensors [layers, B, hidden], None at the start.

        A symmetric student has 2 hidden: that of the image beside that of the state.
        """
        state: HiddenState = self.rnn.hidden_state  # type: ignore[assignment] - Set by forward.
        return state if self.mirror is None else _mapped(join_state, state)

    def detach_hidden_state(self, dones: torch.Tensor | None = None) -> None:
        """Cut the gradient through the state, of all or of the envs that are done."""
        if self.mirror is not None and dones is not None:
            dones = dones.repeat(2)
        self.rnn.detach_hidden_state(dones)

    def as_jit(self) -> nn.Module:
        """Module for ``torch.jit.script`` that keeps the state of one robot."""
        return StatefulExport(self)

    def as_onnx(self, verbose: bool = False) -> nn.Module:
        """Module for ``torch.onnx.export`` with the state as input and output."""
        return RecurrentExport(self, verbose)

    def _get_latent_dim(self) -> int:
        """Size of the head's input."""
        return super()._get_latent_dim() + self.rnn_hidden_dim


def _mapped(
    change: Callable[[torch.Tensor], torch.Tensor], state: HiddenState
) -> HiddenState:
    """A state with each of its two parts changed."""
    if state is None:
        return None
    h, c = state
    return change(h), change(c)
