"""Reconstructors as plain modules for ONNX; normalisation is inside.

`WindowExport` takes whole windows and serves every reconstructor. `StreamingExport` is
the Query Reconstructor on a robot: one new image per control step, and the tokens of
the last 13 steps go in and come out, so that each image is encoded once.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import torch
from torch import nn

from solo.networks.reconstruction.interface import Reconstructor
from solo.networks.reconstruction.query_reconstructor import QueryReconstructor


class WindowExport(nn.Module):
    """(depth, proprioception) to (height, velocity)."""

    def __init__(self, model: Reconstructor) -> None:
        """Wrap a model; it is not copied."""
        super().__init__()
        self.model = model
        self.input_names = ["depth", "proprioception"]
        self.output_names = ["height", "velocity"]

    def forward(
        self, depth: torch.Tensor, proprioception: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Height [B, Y, X] and velocity [B, 3] of windows."""
        outputs, _ = self.model(depth, proprioception)
        return outputs["height"], outputs["velocity"]

    def get_dummy_inputs(self) -> tuple[torch.Tensor, ...]:
        """Inputs of one robot, for tracing."""
        io = self.model.io
        return (
            torch.zeros(1, io.depth_frames, *io.depth_shape),
            torch.zeros(1, io.proprioception_frames, io.proprioception_dim),
        )


class StreamingExport(nn.Module):
    """(image, proprioception, tokens, started) to (height, velocity, and the state).

    Begin an episode with zeros in ``tokens`` [1, 13, 32, 64] and ``started`` [1].
    """

    def __init__(self, model: QueryReconstructor) -> None:
        """Wrap a model; it is not copied."""
        super().__init__()
        self.model = model
        self.input_names = ["image", "proprioception", "tokens_in", "started_in"]
        self.output_names = ["height", "velocity", "tokens_out", "started_out"]

    def forward(
        self,
        image: torch.Tensor,
        proprioception: torch.Tensor,
        tokens: torch.Tensor,
        started: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:
        """Height [B, Y, X], velocity [B, 3] and the new state of a control step."""
        outputs, state = self.model.step(image, proprioception, (tokens, started))
        return outputs["height"], outputs["velocity"], *state

    def get_dummy_inputs(self) -> tuple[torch.Tensor, ...]:
        """Inputs of one robot at the beginning of an episode, for tracing."""
        io = self.model.io
        return (
            torch.zeros(1, *io.depth_shape),
            torch.zeros(1, io.proprioception_frames, io.proprioception_dim),
            *self.model.initial_state(1, "cpu"),
        )


def as_onnx(model: Reconstructor) -> WindowExport | StreamingExport:
    """What runs on a robot: streaming where the method allows it."""
    if isinstance(model, QueryReconstructor):
        return StreamingExport(model)
    return WindowExport(model)


def export_onnx(module: WindowExport | StreamingExport, path: Path | str) -> None:
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
