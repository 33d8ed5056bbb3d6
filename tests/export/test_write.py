"""What is in a bundle, what may not be exported, and `solo export`."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import yaml

from solo.cli.export import Export
from solo.deploy.bundle.load import load_bundle
from solo.errors import SoloError
from solo.export.metadata import describe_joints, describe_reconstructor
from solo.export.read import make_student, read_student
from solo.export.write import export_bundle
from solo.reconstruction.networks import make_reconstructor
from solo.robots.g1 import G1
from solo.tasks.agent_cfg import make_foot_view_cfg
from tests.deploy.helpers import g1_contract
from tests.networks.helpers import make_model

from .helpers import ACTOR, GROUPS, IO, RECORD, bundle_path, make_networks


def test_the_contract_is_the_robots():
    bundle, expected = load_bundle(bundle_path()), g1_contract()
    for name in expected.joints.__dataclass_fields__:
        found, wanted = (getattr(c.joints, name) for c in (bundle.contract, expected))
        if name == "names":
            assert found == wanted
        else:
            assert (found == wanted).all(), name  # Full precision.
    depth = bundle.contract.depth
    assert (depth.width, depth.height, depth.frames, depth.stride) == (640, 480, 4, 4)
    assert (depth.output_width, depth.output_height) == (25, 16)
    assert bundle.contract.control_hz == 50.0
    assert bundle.command.low == (-0.5, -0.5, -1.0)
    assert bundle.command.high == (1.0, 0.5, 1.0)


def test_the_metadata_tell_the_whole_story():
    meta = load_bundle(bundle_path()).metadata
    assert meta["joints"]["effort_limit"][:4] == [88.0, 139.0, 88.0, 139.0]
    assert meta["depth"]["fx"] == 384.0
    mount = meta["depth"]["mount"]
    assert mount["body"] == "torso_link"
    assert mount["pitch_down_deg"] == 52.0
    assert np.allclose(
        mount["rotation_camera_to_body"], G1.camera_mount.rotation_camera_to_body()
    )
    assert meta["height_map"]["x_range_m"] == [-0.3, 1.3]
    # Of the student's map encoder, which keeps every second cell.
    assert meta["graph"]["outputs"]["attention"] == [1, 8, 16]
    assert meta["training"]["profile"] == "smoke"
    assert meta["training"]["seed"] == 7
    assert [term["unit"] for term in meta["observation"]["terms"]]
    assert meta["golden"]["steps"] == 50


def test_speeds_are_the_motors():
    joints = describe_joints(G1)
    speed = dict(zip(joints["names"], joints["vel_limit"], strict=True))
    assert speed["left_knee_joint"] == 20.0
    assert speed["left_hip_pitch_joint"] == 32.0
    assert speed["left_ankle_pitch_joint"] == 37.0
    with pytest.raises(SoloError, match=r"g1.*RobotCfg\.velocity_limits"):
        describe_joints(replace(G1, velocity_limits=None))


@pytest.mark.slow
def test_a_student_with_a_foot_view_comes_out_of_its_bundle_again(tmp_path):
    student, reconstructor = make_networks(foot_view_cfg=make_foot_view_cfg(G1))
    path = tmp_path / "policy.onnx"
    export_bundle(student, reconstructor, G1, path, RECORD)
    bundle = load_bundle(path)  # Checks the golden sequence.
    assert bundle.golden_difference < 1e-5
    again = make_student(bundle.metadata["architecture"]["student"])
    again.load_state_dict(read_student(path), strict=False)
    assert again.foot_view is not None
    assert student.foot_view is not None
    for found, expected in zip(
        again.foot_view.parameters(), student.foot_view.parameters(), strict=True
    ):
        assert torch.equal(found, expected)


def test_policies_with_privileged_inputs_are_refused(tmp_path):
    student, _ = make_networks()
    path = tmp_path / "policy.onnx"
    teacher = make_model("teacher")
    for policy, reconstructor in ((student, None), (teacher, make_networks()[1])):
        with pytest.raises(SoloError, match=r"true height map.*perceptive"):
            export_bundle(policy, reconstructor, G1, path, RECORD)
    assert not path.exists()


def test_networks_of_another_robot_are_refused(tmp_path):
    student, _ = make_networks()
    small = make_reconstructor("start", io=replace(IO, proprioception_dim=81))
    with pytest.raises(SoloError, match=r"81 numbers.*has 84"):
        export_bundle(student, small, G1, tmp_path / "policy.onnx", RECORD)


@pytest.fixture
def run(tmp_path):
    """The folder of a perceptive run."""
    student, reconstructor = make_networks()
    recipe = describe_reconstructor(reconstructor)
    (tmp_path / "params").mkdir()
    agent = {
        "actor": {"class_name": "solo.networks.student:StudentModel", **ACTOR},
        "obs_groups": {"actor": GROUPS},
    }
    (tmp_path / "params" / "agent.yaml").write_text(yaml.safe_dump(agent))
    profile = {"name": "smoke", "physics": [0.005, 4]}
    about = {"stage": "perceptive", "robot": "g1", "profile": profile, "seed": 7}
    about |= {"versions": {"solo": "0"}, "differences_from_the_paper": {}}
    (tmp_path / "run.json").write_text(json.dumps(about))
    torch.save(
        {
            "actor_state_dict": student.state_dict(),
            "reconstructor": {**recipe, "model": reconstructor.state_dict()},
            "iter": 3,
            "infos": {},
        },
        tmp_path / "model_3.pt",
    )
    return tmp_path


def test_export_of_a_run(run, tmp_path, capsys):
    output = tmp_path / "policy.onnx"
    result = Export(run, output).run()
    assert result["iteration"] == 3
    assert result["bundle_bytes"] == output.stat().st_size
    assert "25 joints, 50 Hz" in capsys.readouterr().out
    same, loaded = load_bundle(bundle_path()).metadata, load_bundle(output)
    made = loaded.metadata
    assert made["graph"]["sha256"] == same["graph"]["sha256"]
    # What torch made of the sequence may differ in the last bit, run by run.
    assert made["golden"]["steps"] == same["golden"]["steps"]
    assert loaded.golden_difference < 1e-5
    assert made["training"]["iteration"] == 3


def test_export_refuses_other_stages_and_broken_runs(run, tmp_path):
    saved = torch.load(run / "model_3.pt", weights_only=True)
    wrong = {k: v for k, v in saved.items() if k != "reconstructor"}
    torch.save(wrong, run / "model_4.pt")
    with pytest.raises(SoloError, match=r"do not fit.*reconstructor"):
        Export(run, tmp_path / "policy.onnx").run()
    about = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**about, "stage": "student"}))
    with pytest.raises(SoloError, match="true height map"):
        Export(run, tmp_path / "policy.onnx").run()
    (run / "run.json").write_text(json.dumps(about))
    wrong = {**saved, "actor_state_dict": {"a": torch.zeros(1)}}
    torch.save(wrong, run / "model_4.pt")
    with pytest.raises(SoloError, match="do not fit"):
        Export(run, tmp_path / "policy.onnx").run()
    (run / "run.json").unlink()
    with pytest.raises(SoloError, match=r"run\.json"):
        Export(run, tmp_path / "policy.onnx").run()
    with pytest.raises(SoloError, match=r"only \.onnx"):
        Export(run, tmp_path / "policy.pt").run()
