"""Our clips are good, and the checks find what is wrong with bad ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solo.motions import rotations
from solo.motions.catalogue import EXTRA, make_clips
from solo.motions.checks import LIMITS, Limit, measure
from solo.motions.clip import MotionClip
from solo.names import MOTIONS
from solo.robots.g1 import G1


def changed(clip: MotionClip, **arrays) -> MotionClip:
    base = {
        "root_pos_w": clip.root_pos_w,
        "root_quat_w": clip.root_quat_w,
        "joint_pos": clip.joint_pos,
        "loops": clip.loops,
    }
    return MotionClip(clip.name, clip.fps, clip.joint_names, **{**base, **arrays})


def mirrored(clip: MotionClip) -> MotionClip:
    """Left and right exchanged."""
    joints = np.empty_like(clip.joint_pos)
    for column, name in enumerate(G1.joint_names):
        other = name.replace("left", "?").replace("right", "left").replace("?", "right")
        sign = -1.0 if "roll" in name or "yaw" in name else 1.0
        joints[:, column] = sign * clip.joint_pos[:, G1.joint_names.index(other)]
    return changed(
        clip,
        root_pos_w=clip.root_pos_w * [1, -1, 1],
        root_quat_w=clip.root_quat_w * [1, -1, 1, -1],
        joint_pos=joints,
    )


def half_a_period_later(clip: MotionClip) -> MotionClip:
    half = (clip.num_frames - 1) // 2
    qpos = clip.extended_qpos(half)[2 * half :]
    turn = rotations.about_axis(2, -rotations.yaw_of(qpos[0, 3:7]))
    pos = rotations.rotate(turn, qpos[:, :3] - qpos[0, :3] * [1, 1, 0])
    quat = rotations.multiply(turn, qpos[:, 3:7])
    return changed(clip, root_pos_w=pos, root_quat_w=quat, joint_pos=qpos[:, 7:])


def from_origin(clip: MotionClip) -> MotionClip:
    turn = rotations.about_axis(2, -rotations.yaw_of(clip.root_quat_w[0]))
    pos = rotations.rotate(turn, clip.root_pos_w - clip.root_pos_w[0] * [1, 1, 0])
    quat = rotations.multiply(turn, clip.root_quat_w)
    return changed(clip, root_pos_w=pos, root_quat_w=quat)


@pytest.mark.parametrize("name", MOTIONS)
def test_our_clips_are_good(clips, skeleton, name):
    quality = measure(G1, skeleton, clips[name])
    assert set(quality.verdicts().values()) == {"good"}, quality
    if name == "stand":
        assert quality.single_percent is None
        return
    # Sharper than the limits of other people's clips.
    assert quality.slide_mm < 1.0
    assert quality.ground_mm < 0.1
    assert quality.lift_cm is not None
    assert 6.0 < quality.lift_cm < 10.0
    assert quality.single_percent is not None
    assert 60.0 <= quality.single_percent <= 85.0
    assert quality.speed_radps < 12.0


@pytest.mark.parametrize("speed", ["0.30", "0.50", "0.70", "0.90"])
def test_walking_has_the_speed_in_its_name(clips, speed):
    clip = clips[f"walk_forward_{speed}"]
    moved = clip.root_pos_w[-1] - clip.root_pos_w[0]
    np.testing.assert_allclose(
        moved / clip.duration_s, [float(speed), 0.0, 0.0], atol=1e-4
    )


@pytest.mark.parametrize("rate", ["0.40", "0.70", "1.00"])
def test_turning_has_the_rate_in_its_name(clips, rate):
    clip = clips[f"turn_left_{rate}"]
    yaw = np.unwrap(rotations.yaw_of(clip.root_quat_w))
    assert (yaw[-1] - yaw[0]) / clip.duration_s == pytest.approx(float(rate))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("turn_left_0.40", "turn_right_0.40"),
        ("turn_left_1.00", "turn_right_1.00"),
        (f"{EXTRA}curve_left_0.70", f"{EXTRA}curve_right_0.70"),
        (f"{EXTRA}side_left_0.15", f"{EXTRA}side_right_0.15"),
        ("walk_forward_0.50", "walk_forward_0.50"),
    ],
)
def test_left_and_right_mirror_each_other(clips, left, right):
    # Both begin with the left stance, so the mirror image is half a period late. The
    # robot itself is symmetric to 0.1 mm only.
    expected = from_origin(mirrored(clips[left]))
    found = half_a_period_later(clips[right])
    np.testing.assert_allclose(found.joint_pos, expected.joint_pos, atol=5e-3)
    np.testing.assert_allclose(found.root_pos_w, expected.root_pos_w, atol=2e-3)
    np.testing.assert_allclose(found.root_quat_w, expected.root_quat_w, atol=1e-3)


@pytest.mark.parametrize("name", ["walk_forward_0.30", "walk_forward_0.90"])
def test_arms_swing_against_the_legs_and_knees_stay_bent(clips, name):
    clip = clips[name]
    column = {joint: k for k, joint in enumerate(G1.joint_names)}
    for side in ("left", "right"):
        hip = clip.joint_pos[:, column[f"{side}_hip_pitch_joint"]]
        arm = clip.joint_pos[:, column[f"{side}_shoulder_pitch_joint"]]
        # Negative is forward for both.
        assert np.corrcoef(hip, arm)[0, 1] < -0.6
        assert clip.joint_pos[:, column[f"{side}_knee_joint"]].min() > 0.25


@pytest.mark.slow
def test_another_seed_is_another_set_of_good_clips(clips, skeleton):
    varied = {clip.name: clip for clip in make_clips(G1, seed=7, extras=False)}
    assert set(varied) == {name for name in clips if not name.startswith(EXTRA)}
    fast = varied["walk_forward_0.90"]
    assert fast.num_frames != clips["walk_forward_0.90"].num_frames or not np.allclose(
        fast.joint_pos, clips["walk_forward_0.90"].joint_pos
    )
    for clip in varied.values():
        verdicts = measure(G1, skeleton, clip).verdicts()
        assert set(verdicts.values()) == {"good"}, (clip.name, verdicts)


def test_a_clip_that_drifts_slides(clips, skeleton):
    clip = clips["walk_forward_0.50"]
    time = np.arange(clip.num_frames)[:, None] / clip.fps
    bad = changed(clip, root_pos_w=clip.root_pos_w + time * [0.0, 0.1, 0.0])
    quality = measure(G1, skeleton, bad)
    assert quality.slide_cmps == pytest.approx(10.0, abs=0.2)
    # Both soles stand for 0.58 of 1.08 s.
    assert quality.slide_mm == pytest.approx(100 * 0.58 * 1.08, rel=0.1)
    assert quality.verdicts()["slide_mm"] == "poor"


@pytest.mark.parametrize("shift_m", [-0.02, 0.03])
def test_a_clip_off_the_ground_is_seen(clips, skeleton, shift_m):
    clip = clips["walk_forward_0.50"]
    up = np.array([0.0, 0.0, shift_m])
    bad = changed(clip, root_pos_w=clip.root_pos_w + up)
    quality = measure(G1, skeleton, bad)
    assert quality.ground_mm == pytest.approx(1000 * abs(shift_m), abs=0.1)
    assert quality.verdicts()["ground_mm"] == "poor"


def test_a_joint_that_jumps_is_seen(clips, skeleton):
    clip = clips["walk_forward_0.50"]
    joints = clip.joint_pos.copy()
    joints[20, 18] += 0.3
    quality = measure(G1, skeleton, changed(clip, joint_pos=joints))
    assert quality.accel_radps2 > 1400.0  # 2 * 0.3 rad * 50^2.
    assert quality.verdicts()["accel_radps2"] == "poor"


def test_a_joint_beyond_its_stop_cannot_be_used(clips, skeleton):
    clip = clips["walk_forward_0.50"]
    joints = clip.joint_pos.copy()
    joints[:, G1.joint_names.index("left_ankle_roll_joint")] = 0.3
    quality = measure(G1, skeleton, changed(clip, joint_pos=joints))
    assert quality.verdicts()["range_percent"] == "unusable"


def test_a_loop_that_does_not_close_is_seen(clips, skeleton):
    clip = clips["walk_forward_0.50"]
    joints = clip.joint_pos.copy()
    joints[:, 17] = np.linspace(0.0, 0.05, clip.num_frames)
    quality = measure(G1, skeleton, changed(clip, joint_pos=joints))
    assert quality.closure_mrad == pytest.approx(50.0, rel=1e-3)


def test_standing_on_one_leg_needs_the_weight_over_it(clips, skeleton):
    clip = clips["stand"]
    joints = clip.joint_pos.copy()
    for joint, turn in (("hip_pitch", -0.4), ("knee", 0.8), ("ankle_pitch", -0.4)):
        joints[:, G1.joint_names.index(f"left_{joint}_joint")] += turn
    assert measure(G1, skeleton, clip).zmp_percent == 100.0
    assert measure(G1, skeleton, changed(clip, joint_pos=joints)).zmp_percent == 0.0


def test_limits_judge_both_ways():
    upper = LIMITS["slide_mm"]
    assert [upper.judge(v) for v in (4.9, 5.1, None)] == ["good", "poor", "good"]
    lower = Limit("x", "m", 5.0, 1.0, at_least=True)
    assert [lower.judge(v) for v in (6.0, 2.0, 0.5)] == ["good", "poor", "unusable"]
    assert replace(upper, usable=9.0).judge(float("nan")) == "unusable"
