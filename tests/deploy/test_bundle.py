"""A bundle that does not fit is refused, in one line with expected and found."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from solo.deploy.bundle import policy as bundle_policy
from solo.deploy.bundle.checks import EXPECTED, expected_from
from solo.deploy.bundle.format import join_model, pack, split_model, unpack
from solo.deploy.bundle.load import load_bundle
from solo.errors import SoloError
from tests.export.helpers import bundle_path, edited


def swap(names: list[str]) -> None:
    names[0], names[1] = names[1], names[0]


def lists_of_joints(meta):
    terms = [t["joints"] for t in meta["observation"]["terms"] if "joints" in t]
    return [meta["joints"]["names"], meta["action"]["joints"], *terms]


def swap_everywhere(meta, golden):
    for names in lists_of_joints(meta):
        swap(names)


def drop_joint(meta, golden):
    for values in meta["joints"].values():
        if isinstance(values, list):
            values.pop()


def rename_joint(meta, golden):
    for names in lists_of_joints(meta):
        names[3] = "left_wing_joint"


def put(*keys, value):
    def change(meta, golden):
        place = meta
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


def other_golden(meta, golden):
    actions = unpack(golden["outputs"]["actions"]).copy()
    actions[30, 4] += 0.01
    golden["outputs"]["actions"] = pack(actions)


def joint(key, value):
    def change(meta, golden):
        meta["joints"][key][3] = value

    return change


def no_golden(meta, golden):
    golden.update(steps=0)
    for part in ("inputs", "outputs"):
        for name, packed in golden[part].items():
            golden[part][name] = pack(unpack(packed)[:0])


CASES = {
    "format": (put("format", value="tar"), "'tar', expected is 'solo-policy'"),
    "version": (put("version", value=99), "99, expected is 1"),
    "action order": (
        lambda meta, golden: swap(meta["action"]["joints"]),
        "joint 0 of the action is 'left_hip_roll_joint', expected is 'left_hip_pitch",
    ),
    "order": (swap_everywhere, "joint 0 of the policy is 'left_hip_roll_joint'"),
    "missing": (drop_joint, "number of joints of the action is 25, expected is 24"),
    "unknown joint": (rename_joint, "a joint that the robot lacks is 'left_wing_joint"),
    "rate": (put("control_hz", value=100.0), "rate in Hz is 100.0, expected is 50.0"),
    "camera": (put("depth", "width", value=848), r"crop .* expected is \[0, 0, 848"),
    "image": (
        put("depth", "output_width", value=113),
        r"graph's image is \[1, 16, 25\], expected is \[1, 16, 113\]",
    ),
    "window": (put("observation", "frames", value=5), r"\[1, 10, 84\], expected .* 5,"),
    "scale": (
        lambda meta, golden: meta["observation"]["terms"][0].update(scale=0.25),
        "scale of the observation term 'base_ang_vel' is 0.25, expected is 1.0",
    ),
    "terms": (
        lambda meta, golden: meta["observation"]["terms"].pop(),
        "list of observation terms",
    ),
    "lacks": (lambda meta, golden: meta.pop("command"), "lack something.*'command'"),
    "map": (
        lambda meta, golden: meta["height_map"].pop("x_range_m"),
        "lack something.*'x_range_m'",
    ),
    "range": (
        lambda meta, golden: meta["command"]["low"].__setitem__(0, 0.2),
        "range of the velocity command is .* must be finite and hold zero",
    ),
    "gains": (
        lambda meta, golden: meta["joints"]["kp"].pop(),
        "kp has shape",
    ),
    "stiff": (joint("kp", 20_000.0), "kp of left_knee_joint is 20000, allowed is 0.00"),
    "negative damping": (joint("kd", -1.0), "kd of left_knee_joint is -1, allowed"),
    "speed": (
        joint("vel_limit", 1e9),
        r"vel_limit of left_knee_joint is 1e\+09, .* 20",
    ),
    "positions": (joint("pos_high", 100.0), "pos_high of left_knee_joint is 100"),
    "torque": (joint("effort_limit", 500.0), "effort_limit of left_knee_.* to 139"),
    "fast": (
        put("command", "high", value=[50.0, 0.5, 1.0]),
        "command's high vx is 50, allowed is -2 to 2",
    ),
    "lens": (put("depth", "fx", value=500.0), "camera's fx is 500, allowed is 372"),
    "slow": (put("control_hz", value=7.0), "rate in Hz is 7.0, expected is 50.0"),
    "no golden": (no_golden, "number of golden steps is 0, allowed is 50"),
    "golden cut": (
        lambda meta, golden: golden.update(steps=60),
        "number of golden depth_mm is 50, expected is 60",
    ),
    "golden": (other_golden, "actions of step 30 .* differs by 0.01, allowed is 0.001"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_does_not_fit_is_refused_with_expected_and_found(case, tmp_path):
    change, message = CASES[case]
    path = edited(tmp_path / "policy.onnx", change)
    with pytest.raises(SoloError, match=message) as caught:
        load_bundle(path)
    assert "\n" not in str(caught.value)


def test_edited_metadata_are_refused_by_their_checksum(tmp_path):
    def stiffer(meta, golden):
        meta["joints"]["kp"][0] += 1e-9

    path = edited(tmp_path / "policy.onnx", stiffer, sign=False)
    with pytest.raises(SoloError, match="checksum of the metadata is"):
        load_bundle(path)
    path = edited(tmp_path / "policy.onnx", other_golden, sign=False)
    with pytest.raises(SoloError, match="checksum of the golden sequence"):
        load_bundle(path)


def test_another_camera_or_rate_of_the_robot_is_refused():
    with pytest.raises(SoloError, match=r"\(640, 480\), expected is \(848, 480\)"):
        load_bundle(bundle_path(), expected=replace(EXPECTED["g1"], camera=(848, 480)))
    with pytest.raises(SoloError, match=r"is 50.0, expected is 100.0"):
        load_bundle(bundle_path(), expected=replace(EXPECTED["g1"], control_hz=100.0))


def test_the_robot_must_be_the_one_that_is_driven(tmp_path):
    with pytest.raises(SoloError, match="the robot is 'g1', expected is 'go2'"):
        load_bundle(bundle_path(), robot="go2")
    path = edited(tmp_path / "policy.onnx", put("robot", value=["g1"]))
    with pytest.raises(SoloError, match="the kind of the robot's name"):
        load_bundle(path)


def test_a_robot_without_a_driver_has_the_limits_of_its_bundle(tmp_path):
    path = edited(tmp_path / "omni.onnx", put("robot", value="omni"))
    assert load_bundle(path).metadata["robot"] == "omni"
    with pytest.raises(SoloError, match="the robot is 'omni', expected is 'g1'"):
        load_bundle(path, robot="g1")
    # Its own config may allow less than the bundle asks for.
    joints, camera = (load_bundle(path).metadata[k] for k in ("joints", "depth"))
    weaker = {**joints, "effort_limit": [1.0] * len(joints["names"])}
    with pytest.raises(SoloError, match=r"effort_limit of left_hip_pitch_joint is"):
        load_bundle(path, expected=expected_from(weaker, camera))

    def stiffen(meta, golden):
        meta["robot"], meta["joints"]["kp"][3] = "omni", 1e6

    with pytest.raises(SoloError, match=r"kp of left_knee_joint is 1e\+06"):
        load_bundle(edited(tmp_path / "stiff.onnx", stiffen))


def rewritten(path: Path, change) -> Path:
    model = onnx.load(str(bundle_path()))
    change(model)
    onnx.save(model, str(path))
    return path


def test_edited_weights_are_refused(tmp_path):
    def change(model):
        weight = model.graph.initializer[10]
        values = onnx.numpy_helper.to_array(weight) + np.float32(1e-6)
        weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))

    with pytest.raises(SoloError, match="checksum of graph and weights is"):
        load_bundle(rewritten(tmp_path / "policy.onnx", change))


def test_wrong_opset_is_refused(tmp_path):
    def change(model):
        model.opset_import[0].version = 11

    with pytest.raises(SoloError, match="opset is 11, expected is 18"):
        load_bundle(rewritten(tmp_path / "policy.onnx", change))


def test_files_that_are_no_bundle_are_refused(tmp_path):
    path = tmp_path / "policy.onnx"
    with pytest.raises(SoloError, match="Cannot read"):
        load_bundle(path)
    model = split_model(bundle_path().read_bytes(), "x")
    path.write_bytes(model.graph)
    with pytest.raises(SoloError, match="without the metadata"):
        load_bundle(path)
    path.write_bytes(join_model(model.graph, {"solo.policy": "{", "solo.golden": "{}"}))
    with pytest.raises(SoloError, match="cannot be read"):
        load_bundle(path)
    for size in (1000, 200_000, len(model.graph) + 50):
        path.write_bytes(bundle_path().read_bytes()[:size])
        with pytest.raises(SoloError, match="not a whole ONNX file"):
            load_bundle(path)
    path.write_text("hello")
    with pytest.raises(SoloError):
        load_bundle(path)


def test_our_metadata_are_what_onnx_reads():
    model = onnx.load(str(bundle_path()))
    theirs = {entry.key: entry.value for entry in model.metadata_props}
    assert theirs == dict(split_model(bundle_path().read_bytes(), "x").metadata)
    onnx.checker.check_model(model)


@pytest.mark.parametrize("dtype", [np.float32, np.uint16, np.float64])
def test_arrays_survive_packing(dtype):
    values = (np.random.default_rng(0).random((3, 4)) * 1000).astype(dtype)
    assert (unpack(pack(values)) == values).all()
    assert unpack(pack(values)).dtype == dtype


def test_missing_provider_says_what_to_install(monkeypatch):
    with pytest.raises(SoloError, match=r"'tensorrt' is not in this.*onnxruntime-gpu"):
        load_bundle(bundle_path(), provider="tensorrt")
    with pytest.raises(SoloError, match="Unknown provider 'npu'"):
        load_bundle(bundle_path(), provider="npu")


def test_engines_of_tensorrt_are_kept_per_graph(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first, second, third = bundle_policy.provider_options("tensorrt", "a" * 64)
    assert first[0] == "TensorrtExecutionProvider"
    folder = Path(first[1]["trt_engine_cache_path"])
    assert folder.parent == tmp_path / "solo" / "tensorrt"
    assert folder.name.startswith("a" * 16)
    assert folder.is_dir()
    assert second[0] == "CUDAExecutionProvider"
    assert third[0] == "CPUExecutionProvider"
    other = bundle_policy.provider_options("tensorrt", "b" * 64)[0][1]
    assert other["trt_engine_cache_path"] != str(folder)


def test_a_fallback_to_another_provider_is_refused(monkeypatch):
    monkeypatch.setattr(bundle_policy, "check_provider", lambda provider: None)
    monkeypatch.setattr(
        bundle_policy,
        "provider_options",
        lambda *_: [("CPUExecutionProvider", {})],
    )
    with pytest.raises(SoloError, match=r"'cuda' was asked for .* fell back to CPU"):
        load_bundle(bundle_path(), provider="cuda")


def test_a_bundle_runs_with_numpy_and_onnxruntime_alone():
    blocked = ("torch", "mjlab", "mujoco", "onnx", "rsl_rl", "tensordict", "tyro")
    script = "import sys\n"
    script += "".join(f"sys.modules[{name!r}] = None\n" for name in blocked)
    script += (
        "from solo.deploy.bundle.load import load_bundle\n"
        f"bundle = load_bundle({str(bundle_path())!r})\n"
        "assert bundle.golden_difference < 1e-4\n"
        "assert len(bundle.contract.joints.names) == 25\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True)
    assert result.returncode == 0, result.stderr.decode()
