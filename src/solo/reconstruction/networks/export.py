"""A reconstructor as a plain module for ONNX; normalisation is inside.

It takes one control step: sensors and state go in, estimates and the new state come
out, as one robot runs it. The Query Reconstructor takes the newest image and keeps the
tokens of older ones, so that each image is encoded once; a memory of the episode is the
state of networks that have one; the others take whole windows and have no state.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import torch
from torch import nn

from solo.reconstruction.networks.interface import Reconstructor
from solo.reconstruction.networks.query_reconstructor import QueryReconstructor


class StepExport(nn.Module):
    """(depth, proprioception, state) to (height, velocity, new state).

    Begin an episode with zeros in the state.
    """

    def __init__(self, model: Reconstructor, streaming: bool = True) -> None:
        """Wrap a model; it is not copied.

        Args:
            model: The reconstructor.
            streaming: Keep a state where the model has one; else whole windows.
        """
        super().__init__()
        self.model = model
        io = model.io
        is_query = isinstance(model, QueryReconstructor)
        has_state = streaming and (is_query or model.episode_memory)
        self.state = model.initial_state(1, "cpu") if has_state else ()
        """State at the beginning of an episode."""
        self.images = 1 if has_state and is_query else io.depth_frames
        """Images per step, the newest ones."""
        names = [f"state{k}" for k in range(len(self.state))]
        self.input_names = ["depth", "proprioception", *(f"{n}_in" for n in names)]
        self.output_names = ["height", "velocity", *(f"{n}_out" for n in names)]

    def forward(
        self, depth: torch.Tensor, proprioception: torch.Tensor, *state: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """Height [B, Y, X], velocity [B, 3] and the new state of a control step."""
        outputs, new = self.model(depth, proprioception, state or None)
        return outputs["height"], outputs["velocity"], *(new or ())

    def get_dummy_inputs(self) -> tuple[torch.Tensor, ...]:
        """Inputs of one robot at the beginning of an episode, for tracing."""
        io = self.model.io
        return (
            torch.zeros(1, self.images, *io.depth_shape),
            torch.zeros(1, io.proprioception_frames, io.proprioception_dim),
            *self.state,
        )


def export_onnx(module: StepExport, path: Path | str) -> None:
    """Write a module on CPU as ONNX with a batch of one."""
    with warnings.catch_warnings():
        # That sizes become constants, which is wanted.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(),
            module.get_dummy_inputs(),
            str(path),
            opset_version=18,
            input_names=module.input_names,
            output_names=module.output_names,
            dynamo=False,
        )
