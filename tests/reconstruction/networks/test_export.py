"""Exported reconstructors do what the live ones do, also on other inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

from solo.bench.recon import StepExport, export_onnx
from tests.reconstruction.networks.helpers import NAMES, make_tiny, make_windows


def slow_but_for(quick: tuple[str, ...], names: Sequence[str]) -> list[Any]:
    """Names to parametrise with; an export takes a second, and variants share parts."""
    slow = pytest.mark.slow
    return [n if n in quick else pytest.param(n, marks=slow) for n in names]


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("name", slow_but_for(("start_evidence", "dpl"), NAMES))
def test_windows_in_onnx_equal_the_model(name, tmp_path):
    model = make_tiny(name).eval()
    path = tmp_path / "window.onnx"
    export_onnx(StepExport(model, streaming=False), path)
    session = onnxruntime.InferenceSession(path)
    with torch.no_grad():
        for _ in range(3):
            depth, frames = make_windows(1)
            expected, _ = model(depth, frames)
            feed = {"depth": depth.numpy(), "proprioception": frames.numpy()}
            found = session.run(["height", "velocity"], feed)
            for key, value in zip(("height", "velocity"), found, strict=True):
                np.testing.assert_allclose(
                    np.asarray(value), expected[key].numpy(), atol=1e-4
                )


@pytest.mark.parametrize(
    "name", slow_but_for(("start_memory",), ["start_memory", "dpl_memory"])
)
def test_the_memory_in_onnx_lasts_as_the_models(name, tmp_path):
    model = make_tiny(name).eval()
    path = tmp_path / "memory.onnx"
    export_onnx(StepExport(model), path)
    session = onnxruntime.InferenceSession(path)
    state = model.initial_state(1)
    memory = state[0].numpy()
    with torch.no_grad():
        for _ in range(5):
            depth, frames = make_windows(1)
            expected, state = model(depth, frames, state)
            sensed = {"depth": depth.numpy(), "proprioception": frames.numpy()}
            height, _, memory = session.run(None, {**sensed, "state0_in": memory})
            np.testing.assert_allclose(
                np.asarray(height), expected["height"].numpy(), atol=1e-4
            )


@pytest.mark.parametrize("name", slow_but_for(("qr_evidence",), ["qr", "qr_evidence"]))
def test_streaming_in_onnx_equals_the_model_over_two_episodes(name, tmp_path):
    model = make_tiny(name).eval()
    path = tmp_path / "stream.onnx"
    export_onnx(StepExport(model), path)
    session = onnxruntime.InferenceSession(path)
    with torch.no_grad():
        for _ in range(2):
            state = model.initial_state(1)
            tokens, started = (part.numpy() for part in state)
            for _ in range(8):
                images, frames = make_windows(1)
                expected, state = model.step(images[:, 0], frames, state)
                height, velocity, tokens, started = session.run(
                    None,
                    {
                        "depth": images[:, :1].numpy(),
                        "proprioception": frames.numpy(),
                        "state0_in": tokens,
                        "state1_in": started,
                    },
                )
                np.testing.assert_allclose(
                    np.asarray(height), expected["height"].numpy(), atol=1e-4
                )
                np.testing.assert_allclose(
                    np.asarray(velocity), expected["velocity"].numpy(), atol=1e-4
                )
