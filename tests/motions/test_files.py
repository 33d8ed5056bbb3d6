"""Files come back as written, and nothing else gets in."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import mujoco
import numpy as np
import pytest

from solo.errors import SoloError
from solo.motions.clip import MotionClip
from solo.motions.files import load_clip, save_clip
from solo.robots.build import joint_order_of
from solo.robots.g1 import G1

MODEL_JOINTS = joint_order_of(G1.spec_fn())
LAFAN1_JOINTS = (
    *(
        f"{side}_{joint}_joint"
        for side in ("left", "right")
        for joint in (
            "hip_pitch",
            "hip_roll",
            "hip_yaw",
            "knee",
            "ankle_pitch",
            "ankle_roll",
        )
    ),
    *(f"waist_{axis}_joint" for axis in ("yaw", "roll", "pitch")),
    *(
        f"{side}_{joint}_joint"
        for side in ("left", "right")
        for joint in (
            "shoulder_pitch",
            "shoulder_roll",
            "shoulder_yaw",
            "elbow",
            "wrist_roll",
            "wrist_pitch",
            "wrist_yaw",
        )
    ),
)


@pytest.fixture(scope="module")
def clip(clips) -> MotionClip:
    return clips["walk_forward_0.50"]


def all_joints(clip: MotionClip) -> np.ndarray:
    """Joints of the original model, with wrists that are not at zero, [T, 29]."""
    values = np.full((clip.num_frames, len(MODEL_JOINTS)), 0.123)
    for column, name in enumerate(clip.joint_names):
        values[:, MODEL_JOINTS.index(name)] = clip.joint_pos[:, column]
    return values


def csv_table(clip: MotionClip) -> np.ndarray:
    quat_xyzw = clip.root_quat_w[:, [1, 2, 3, 0]]
    return np.concatenate([clip.root_pos_w, quat_xyzw, all_joints(clip)], axis=1)


def gmr(clip: MotionClip) -> dict:
    return {
        "fps": 30,
        "root_pos": clip.root_pos_w,
        "root_rot": clip.root_quat_w[:, [1, 2, 3, 0]],
        "dof_pos": all_joints(clip).astype(np.float32),
        "local_body_pos": None,
        "link_body_list": ["pelvis", "torso_link"],
    }


def write_pickle(path: Path, content, protocol: int | None = None) -> Path:
    path.write_bytes(pickle.dumps(content, protocol))
    return path


def assert_equal(found: MotionClip, expected: MotionClip, atol: float = 1e-12) -> None:
    assert found.joint_names == G1.joint_names
    np.testing.assert_allclose(found.root_pos_w, expected.root_pos_w, atol=atol)
    np.testing.assert_allclose(found.root_quat_w, expected.root_quat_w, atol=atol)
    np.testing.assert_allclose(found.joint_pos, expected.joint_pos, atol=atol)


def assert_refused(path: Path, *parts: str) -> None:
    with pytest.raises(SoloError) as error:
        load_clip(path, G1)
    message = str(error.value)
    assert "\n" not in message
    assert len(message) < 600
    for part in parts:
        assert part in message


def test_the_model_lists_its_joints_as_lafan1_does():
    assert MODEL_JOINTS == LAFAN1_JOINTS


def test_our_own_format_round_trips(clip, tmp_path):
    save_clip(clip, tmp_path / "walk.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["walk.npz"]
    found = load_clip(tmp_path / "walk.npz", G1)
    assert_equal(found, clip, atol=0.0)
    assert (found.name, found.fps, found.loops) == (clip.name, clip.fps, True)
    np.testing.assert_array_equal(found.joint_vel, clip.joint_vel)


def test_lafan1_csv_drops_wrists_and_reorders_the_quaternion(clip, tmp_path):
    path = tmp_path / "walk1_subject1.csv"
    np.savetxt(path, csv_table(clip), delimiter=",", fmt="%.8f")
    found = load_clip(path, G1)
    assert_equal(found, clip, atol=1e-7)
    assert (found.name, found.fps, found.loops) == ("walk1_subject1", 30.0, False)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_gmr_pickles_of_every_protocol(clip, tmp_path, protocol):
    found = load_clip(write_pickle(tmp_path / "a.pkl", gmr(clip), protocol), G1)
    assert_equal(found, clip, atol=1e-6)
    assert found.fps == 30.0


def test_gmr_pickles_with_numpy_scalars_and_fortran_arrays(clip, tmp_path):
    content = gmr(clip)
    content["fps"] = np.float64(60.0)
    content["root_pos"] = np.asfortranarray(content["root_pos"].astype(">f8"))
    found = load_clip(write_pickle(tmp_path / "a.pkl", content), G1)
    assert_equal(found, clip, atol=1e-6)
    assert found.fps == 60.0


class RunsCommand:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch {self.marker}",)


class Builtin:
    def __reduce__(self):
        return eval, ("1 + 1",)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_malicious_pickle_is_refused_and_not_run(clip, tmp_path, depth):
    marker = tmp_path / "ran"
    evil = RunsCommand(marker)
    content = [evil, {**gmr(clip), "x": evil}, {**gmr(clip), "fps": [[evil]]}][depth]
    assert_refused(write_pickle(tmp_path / "a.pkl", content), "nothing in it was run")
    assert not marker.exists()


@pytest.mark.parametrize(
    "content",
    [
        Builtin(),
        np.array([{"a": 1}], dtype=object),
        np.zeros(2, dtype=[("a", "f8")]),
        np.array(["text"]),
        {"fps": {1, 2}},
        MotionClip,
    ],
)
def test_pickles_of_anything_but_numbers_are_refused(content, tmp_path):
    assert_refused(write_pickle(tmp_path / "a.pkl", content), "a.pkl")


def test_pickles_that_lie_about_their_arrays_are_refused(clip, tmp_path):
    good = pickle.dumps(gmr(clip), 4)
    # The rows of root_pos, K + one byte: claim more than there are bytes for.
    rows = b"K" + bytes([clip.num_frames])
    (tmp_path / "a.pkl").write_bytes(good.replace(rows, b"K\xff"))
    assert_refused(tmp_path / "a.pkl", "nothing in it was run")


def test_damaged_pickles_never_escape_as_another_error(clip, tmp_path):
    good = pickle.dumps(gmr(clip), 4)
    rng = np.random.default_rng(0)
    path = tmp_path / "a.pkl"
    for _ in range(300):
        damaged = bytearray(good[: rng.integers(0, len(good))])
        # Mostly in the first bytes, where the structure is.
        for place in rng.integers(0, max(1, min(len(damaged), 300)), 3):
            if damaged:
                damaged[place] = rng.integers(0, 256)
        path.write_bytes(bytes(damaged))
        with pytest.raises(SoloError):
            load_clip(path, G1)


def test_legged_lab_pickles_are_told_apart(clip, tmp_path):
    content = {**gmr(clip), "loop_mode": 1}
    assert_refused(write_pickle(tmp_path / "a.pkl", content), "legged_lab")


@pytest.fixture(scope="module")
def mjlab_content(clip) -> dict[str, np.ndarray]:
    """What mjlab's csv_to_npz writes: all bodies by forward kinematics."""
    model = G1.spec_fn().compile()
    data = mujoco.MjData(model)
    pos, quat = [], []
    joints = all_joints(clip)
    for frame in range(clip.num_frames):
        data.qpos[:3], data.qpos[3:7] = clip.root_pos_w[frame], clip.root_quat_w[frame]
        data.qpos[7:] = joints[frame]
        mujoco.mj_kinematics(model, data)
        pos.append(data.xpos[1:].copy())
        quat.append(data.xquat[1:].copy())
    return {
        "fps": np.array([50]),
        "joint_pos": joints.astype(np.float32),
        "joint_vel": np.zeros_like(joints),
        "body_pos_w": np.array(pos),
        "body_quat_w": np.array(quat),
    }


def write_npz(path: Path, content: dict) -> Path:
    np.savez(path, **content)
    return path


def test_an_npz_of_mjlab_is_the_clip_it_was_made_of(clip, mjlab_content, tmp_path):
    found = load_clip(write_npz(tmp_path / "motion.npz", mjlab_content), G1)
    assert_equal(found, clip, atol=1e-6)
    assert (found.name, found.fps) == ("motion", 50.0)


def test_isaac_labs_joint_order_is_noticed(mjlab_content, tmp_path):
    joints = mjlab_content["joint_pos"]
    mixed = {
        **mjlab_content,
        "joint_pos": joints[:, [0, 6, *range(1, 6), *range(7, 29)]],
    }
    assert_refused(write_npz(tmp_path / "a.npz", mixed), "Isaac Lab's order")


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"joint_pos": None}, ("has no joint_pos", "it has fps")),
        ({"joint_pos": np.zeros((5, 25))}, ("[5, 25]", "29")),
        ({"body_pos_w": np.zeros((55, 3))}, ("body_pos_w", "[55, 3]")),
        ({"fps": np.array([30, 50])}, ("fps",)),
        ({"fps": np.array(["x"])}, ("fps",)),
        ({"joint_pos": np.array([None])}, ("plain arrays",)),
    ],
)
def test_wrong_npz_files_are_refused(mjlab_content, tmp_path, change, parts):
    content = {k: v for k, v in {**mjlab_content, **change}.items() if v is not None}
    assert_refused(write_npz(tmp_path / "a.npz", content), *parts)


def test_truncated_npz_files_are_refused(clip, tmp_path):
    path = tmp_path / "a.npz"
    save_clip(clip, path)
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert_refused(path, "plain arrays")
    path.write_bytes(b"no archive")
    assert_refused(path, "plain arrays (it is no ZIP archive)")


def test_our_format_of_another_version_or_robot_is_refused(clip, tmp_path):
    path = tmp_path / "a.npz"
    save_clip(clip, path)
    with np.load(path) as file:
        content = dict(file)
    write_npz(path, {**content, "format": np.array("solo-motion-9")})
    assert_refused(path, "solo-motion-9", "solo motions make")
    write_npz(path, {**content, "joint_names": content["joint_names"][::-1]})
    assert_refused(path, "is for the 25 joints right_wrist_roll_joint")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("0 frames",)),
        ("x,y,z\n", ("line 1", "no header")),
        ("1,2,3\n", ("line 1", "3 columns", "36")),
        (",".join(["0"] * 36) + "\n" + ",".join(["0"] * 35) + "\n", ("line 2", "35")),
        ((",".join(["0"] * 36) + "\n") * 5, ("quaternion of frame 0", "length 0")),
        ((",".join(["nan"] * 36) + "\n") * 5, ("not finite",)),
        ("\x00\x01\xff", ("line 1",)),
    ],
)
def test_wrong_csv_files_are_refused(tmp_path, text, parts):
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode("latin1"))
    assert_refused(path, *parts)


def test_missing_and_unknown_files_are_refused(tmp_path):
    assert_refused(tmp_path / "a.csv", "There is no motion file")
    (tmp_path / "b.npz").mkdir()
    assert_refused(tmp_path / "b.npz", "There is no motion file")
    (tmp_path / "a.bvh").write_text("")
    assert_refused(tmp_path / "a.bvh", ".npz, .csv, .pkl")
