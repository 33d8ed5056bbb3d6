"""Policies as plain modules for TorchScript and ONNX.

Inputs are the concatenated vector groups ``obs`` [B, obs_dim] and the map [B, Y, X], as
the environment gives them: normalisation is inside. Names follow rsl_rl's exporters.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import nn

from solo.networks.symmetry import join_state, split_state

if TYPE_CHECKING:
    from solo.networks.ame_model import AmeModel
    from solo.networks.student import StudentModel


class PolicyExport(nn.Module):
    """What all exports have in common: copies of the parts, names and sizes."""

    # torch.jit.script would compile them.
    __jit_unused_properties__ = ["input_names", "output_names"]  # noqa: RUF012

    def __init__(self, model: AmeModel, verbose: bool = False) -> None:
        """Copy what inference needs of a model."""
        super().__init__()
        self.verbose = verbose
        self.obs_normalizer = copy.deepcopy(model.obs_normalizer)
        self.encoder = copy.deepcopy(model.encoder)
        self.mlp = copy.deepcopy(model.mlp)
        self.mirror = copy.deepcopy(model.mirror)
        self.foot_view = copy.deepcopy(model.foot_view)
        self.deterministic_output = (
            nn.Identity()
            if model.distribution is None
            else model.distribution.as_deterministic_output_module()
        )
        self.map_group = model.map_group
        self.obs_dim = model.obs_dim
        self.map_cells = model.height_map_cfg.cells

    def describe(
        self, obs: torch.Tensor, height_map: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The normalised vector, the head's input without memory, the attention."""
        vector = self.obs_normalizer(obs)
        features, weights = self.encoder(vector, height_map)
        latent = torch.cat([features, vector], dim=-1)
        if self.foot_view is not None:
            latent = torch.cat([latent, self.foot_view(obs, height_map)], dim=-1)
        return vector, latent, weights

    @torch.jit.unused
    def get_dummy_inputs(self) -> tuple[torch.Tensor, ...]:
        """Inputs of one sample, for tracing."""
        return torch.zeros(1, self.obs_dim), torch.zeros(1, *self.map_cells)

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs."""
        return ["obs", self.map_group]

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        return ["actions"]


class FeedForwardExport(PolicyExport):
    """Teacher or critic: (obs, map) to the mean output. Serves both exporters."""

    is_recurrent: bool = False

    def forward(self, obs: torch.Tensor, height_map: torch.Tensor) -> torch.Tensor:
        """Mean output [B, output_dim]."""
        if self.mirror is not None:
            obs, height_map = self.mirror.both(obs, height_map)
        _, latent, _ = self.describe(obs, height_map)
        output = self.mlp(latent)
        if self.mirror is not None:
            output = self.mirror.fold(output)
        return self.deterministic_output(output)

    @torch.jit.export
    def reset(self) -> None:
        """Nothing to forget."""


class RecurrentExport(PolicyExport):
    """Student for ONNX: the state of the memory goes in and comes out.

    States are [layers, B, hidden], 2 hidden if it is symmetric; start an episode with
    zeros.
    """

    is_recurrent: bool = True

    def __init__(self, model: StudentModel, verbose: bool = False) -> None:
        """Copy what inference needs of a student."""
        super().__init__(model, verbose)
        self.memory = copy.deepcopy(model.rnn.rnn)
        self.memory_start = model.memory_slice.start
        self.memory_stop = model.memory_slice.stop
        num_states = 1 if self.mirror is None else 2
        hidden = num_states * model.rnn.rnn.hidden_size
        self.state_shape = (model.rnn.rnn.num_layers, 1, hidden)

    def forward(
        self,
        obs: torch.Tensor,
        height_map: torch.Tensor,
        h_in: torch.Tensor,
        c_in: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Mean output [B, output_dim] and the new state."""
        output, _, h_out, c_out = self.step(obs, height_map, h_in, c_in)
        return output, h_out, c_out

    def step(
        self,
        obs: torch.Tensor,
        height_map: torch.Tensor,
        h_in: torch.Tensor,
        c_in: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """The same, with the attention [B, heads, Y', X'] after the output."""
        batch = obs.shape[0]
        if self.mirror is not None:
            obs, height_map = self.mirror.both(obs, height_map)
            h_in, c_in = split_state(h_in), split_state(c_in)
        vector, latent, weights = self.describe(obs, height_map)
        frame = vector[:, self.memory_start : self.memory_stop]
        recalled, (h_out, c_out) = self.memory(frame.unsqueeze(0), (h_in, c_in))
        output = self.mlp(torch.cat([latent, recalled.squeeze(0)], dim=-1))
        if self.mirror is not None:
            output = self.mirror.fold(output)
            h_out, c_out = join_state(h_out), join_state(c_out)
        return self.deterministic_output(output), weights[:batch], h_out, c_out

    @torch.jit.unused
    def get_dummy_inputs(self) -> tuple[torch.Tensor, ...]:
        """Inputs of one sample at the start of an episode, for tracing."""
        state = torch.zeros(self.state_shape)
        return (*super().get_dummy_inputs(), state, state.clone())

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs."""
        return ["obs", self.map_group, "h_in", "c_in"]

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        return ["actions", "h_out", "c_out"]


class StatefulExport(nn.Module):
    """Student for TorchScript: keeps the state of one robot itself, as rsl_rl does."""

    def __init__(self, model: StudentModel) -> None:
        """Wrap the stateless student."""
        super().__init__()
        self.policy = RecurrentExport(model)
        self.h: torch.Tensor
        self.c: torch.Tensor
        self.register_buffer("h", torch.zeros(self.policy.state_shape))
        self.register_buffer("c", torch.zeros(self.policy.state_shape))

    def forward(self, obs: torch.Tensor, height_map: torch.Tensor) -> torch.Tensor:
        """Mean output [1, output_dim] of the next step."""
        actions, h, c = self.policy(obs, height_map, self.h, self.c)
        self.h[:] = h
        self.c[:] = c
        return actions

    @torch.jit.export
    def reset(self) -> None:
        """Start a new episode."""
        self.h.zero_()
        self.c.zero_()
