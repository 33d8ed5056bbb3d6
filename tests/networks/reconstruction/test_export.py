"""Exported reconstructors do what the live ones do, also on other inputs."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
import torch

from solo.networks.reconstruction.export import (
    StreamingExport,
    WindowExport,
    as_onnx,
    export_onnx,
)
from tests.networks.reconstruction.helpers import NAMES, make_tiny, make_windows


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("name", NAMES)
def test_windows_in_onnx_equal_the_model(name, tmp_path):
    model = make_tiny(name).eval()
    path = tmp_path / "window.onnx"
    export_onnx(WindowExport(model), path)
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


@pytest.mark.parametrize("name", ["qr", "qr_place"])
def test_streaming_in_onnx_equals_the_model_over_two_episodes(name, tmp_path):
    model = make_tiny(name).eval()
    path = tmp_path / "stream.onnx"
    module = as_onnx(model)
    assert isinstance(module, StreamingExport)
    export_onnx(module, path)
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
                        "image": images[:, 0].numpy(),
                        "proprioception": frames.numpy(),
                        "tokens_in": tokens,
                        "started_in": started,
                    },
                )
                np.testing.assert_allclose(
                    np.asarray(height), expected["height"].numpy(), atol=1e-4
                )
                np.testing.assert_allclose(
                    np.asarray(velocity), expected["velocity"].numpy(), atol=1e-4
                )
