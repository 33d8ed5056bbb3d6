"""The exported graph does what the networks do, over long episodes and resets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from solo.deploy.bundle.load import load_bundle
from solo.deploy.bundle.policy import observations
from solo.deploy.contract import DepthContract
from solo.export.graph import make_graph
from solo.export.read import read_torch
from solo.export.write import export_bundle, walk_inputs
from solo.robots.g1 import G1
from solo.tasks.agent_cfg import student_mirror
from tests.deploy.helpers import g1_contract

from .helpers import GROUPS, RECORD, bundle_path, make_networks, make_obs

CAMERA = replace(G1.depth_camera, output_width=25, output_height=16)
DEPTH = DepthContract(output_width=25, output_height=16)
RESETS = [0, 7, 60, 300]


def walk(steps: int):
    inputs = walk_inputs(G1, CAMERA, steps, seed=5)
    return observations(inputs, RESETS, replace(g1_contract(True), depth=DEPTH))


@pytest.mark.parametrize(
    ("name", "is_symmetric", "steps"),
    [
        ("qr", False, 80),
        pytest.param("qr", False, 500, marks=pytest.mark.slow),
        pytest.param("qr", True, 500, marks=pytest.mark.slow),
        pytest.param("qr_evidence", False, 500, marks=pytest.mark.slow),
        pytest.param("start", False, 500, marks=pytest.mark.slow),
        pytest.param("dpl", False, 500, marks=pytest.mark.slow),
    ],
)
def test_the_bundle_equals_torch_over_many_recurrent_steps(
    name, is_symmetric, steps, tmp_path
):
    mirror = student_mirror(G1) if is_symmetric else None
    student, reconstructor = make_networks(name, mirror)
    path = tmp_path / "policy.onnx"
    bundle = export_bundle(student, reconstructor, G1, path, RECORD)
    assert ("image" in bundle.metadata["graph"]["inputs"]) == name.startswith("qr")
    actions, worst = [], 0.0
    with torch.no_grad():
        for is_new, seen in walk(steps):
            if is_new:
                bundle.policy.reset()
                student.reset()
            found = bundle.policy.step(seen)
            window = torch.from_numpy(seen.proprioception_window)[None]
            # The modules as they are trained, nothing reused between steps.
            made, _ = reconstructor(torch.from_numpy(seen.depth_window)[None], window)
            obs = make_obs(1)
            obs[GROUPS[0]], obs[GROUPS[1]] = window[:, -1], made["velocity"]
            obs[GROUPS[2]] = made["height"]
            expected = student(obs)[0].numpy()
            worst = max(worst, float(np.abs(found - expected).max()))
            view = bundle.policy.view
            assert view is not None
            np.testing.assert_allclose(view.height_map, made["height"][0], atol=1e-4)
            np.testing.assert_allclose(view.velocity, made["velocity"][0], atol=1e-4)
            assert view.attention.sum() == pytest.approx(1.0, abs=1e-4)
            actions.append(found)
    assert worst < 1e-4
    assert np.std(actions, axis=0).mean() > 1e-2  # It was not all the same.


def test_a_reset_leaves_nothing_behind():
    policy = load_bundle(bundle_path()).policy
    seen = [observation for _, observation in walk(40)]
    first = [policy.step(observation) for observation in seen[:7]]
    again = policy.step(seen[0])
    assert np.abs(again - first[0]).max() > 1e-4  # It remembers,
    policy.reset()
    assert (policy.step(seen[0]) == first[0]).all()  # until it is told to forget.


@pytest.mark.slow
def test_a_symmetric_student_can_be_made_again_from_the_file(tmp_path):
    path = tmp_path / "policy.onnx"
    networks = make_networks("qr", student_mirror(G1))
    bundle = export_bundle(*networks, G1, path, RECORD)
    graph = read_torch(path, bundle.metadata["architecture"])
    original = make_graph(*networks, streaming=False)
    inputs = [torch.rand_like(value) for value in original.dummy_inputs()]
    for found, expected in zip(graph(*inputs), original(*inputs), strict=True):
        assert (found == expected).all()


def test_torch_can_be_made_again_from_the_file():
    bundle = load_bundle(bundle_path())
    graph = read_torch(bundle_path(), bundle.metadata["architecture"])
    original = make_graph(*make_networks(), streaming=False)
    inputs = [torch.rand_like(value) for value in original.dummy_inputs()]
    for found, expected in zip(graph(*inputs), original(*inputs), strict=True):
        assert (found == expected).all()


def test_the_scene_is_a_staircase():
    depth = walk_inputs(G1, CAMERA, 30)["depth_mm"]
    middle = depth[:, :, 12]
    assert depth.dtype == np.uint16
    assert (middle > 0).mean() > 0.8
    # The ground straight below: about 1 m, times the cosine between axis and ray.
    assert 750 < np.median(middle[:, -1]) < 1000
    assert np.abs(np.diff(depth.astype(int), axis=0)).max() > 50  # It moves.
