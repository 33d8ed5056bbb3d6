"""Exported policies do what the live ones do, also on other inputs."""

from __future__ import annotations

import io

import numpy as np
import onnxruntime
import pytest
import torch

from tests.networks.helpers import (
    AME,
    FEET,
    GROUPS,
    MIRROR,
    OPTIONS,
    make_model,
    make_obs,
)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def make_trained(role: str, **changes):
    """A model whose normaliser has moved away from its start."""
    model = make_model(role, **changes)
    model.update_normalization(make_obs(30))
    return model.eval()


def inputs(role: str, obs):
    vectors = [obs[group] for group in GROUPS[role] if group != "height_map"]
    return torch.cat(vectors, dim=-1), obs["height_map"]


def to_onnx(model, path) -> onnxruntime.InferenceSession:
    """Export as mjlab's runner does."""
    module = model.as_onnx(verbose=False).eval()
    torch.onnx.export(
        module,
        module.get_dummy_inputs(),
        str(path),
        opset_version=18,
        input_names=module.input_names,
        output_names=module.output_names,
        dynamic_axes={},
        dynamo=False,
    )
    return onnxruntime.InferenceSession(path)


@pytest.mark.parametrize(
    ("role", "mirror", "options", "feet"),
    [
        pytest.param("teacher", None, {}, None, marks=pytest.mark.slow),
        pytest.param("teacher", MIRROR, {}, None, marks=pytest.mark.slow),
        ("teacher", MIRROR, OPTIONS, FEET),
        ("critic", None, {}, None),
    ],
)
def test_feed_forward_exports_equal_the_model(role, mirror, options, feet, tmp_path):
    model = make_trained(
        role, mirror=mirror, ame_cfg={**AME, **options}, foot_view_cfg=feet
    )
    scripted = torch.jit.script(model.as_jit())
    session = to_onnx(model, tmp_path / "policy.onnx")
    with torch.no_grad():
        for _ in range(3):
            obs = make_obs(1)
            vector, height_map = inputs(role, obs)
            expected = model(obs)
            torch.testing.assert_close(scripted(vector, height_map), expected)
            feed = {"obs": vector.numpy(), "height_map": height_map.numpy()}
            (found,) = session.run(["actions"], feed)
            np.testing.assert_allclose(np.asarray(found), expected.numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("mirror", "hidden"),
    [pytest.param(None, 7, marks=pytest.mark.slow), (MIRROR, 14)],
)
def test_student_exports_equal_the_model_over_an_episode_and_after_reset(
    mirror, hidden, tmp_path
):
    student = make_trained("student", mirror=mirror)
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(student.as_jit()), buffer)
    buffer.seek(0)
    scripted = torch.jit.load(buffer)
    session = to_onnx(student, tmp_path / "policy.onnx")
    with torch.no_grad():
        for _ in range(2):
            h = c = np.zeros((1, 1, hidden), dtype=np.float32)
            student.reset()
            scripted.reset()
            for _ in range(20):
                obs = make_obs(1)
                vector, height_map = inputs("student", obs)
                expected = student(obs)
                torch.testing.assert_close(scripted(vector, height_map), expected)
                feed = {"obs": vector.numpy(), "height_map": height_map.numpy()}
                found, h, c = session.run(None, {**feed, "h_in": h, "c_in": c})
                np.testing.assert_allclose(
                    np.asarray(found), expected.numpy(), atol=1e-5
                )
