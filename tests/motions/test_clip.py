"""Velocities follow from positions, across the seam of a loop too."""

from __future__ import annotations

import numpy as np
import pytest

from solo.errors import SoloError
from solo.motions import rotations
from solo.motions.clip import MotionClip, mean_velocity_h, resample

JOINTS = ("hip", "knee")


def make(pos, quat, joints=None, fps=50.0, loops=False) -> MotionClip:
    joints = np.zeros((len(pos), 2)) if joints is None else joints
    return MotionClip("test", fps, JOINTS, np.asarray(pos), quat, joints, loops)


def straight(num_frames: int, velocity_w, yaw: float = 0.0, **kwargs) -> MotionClip:
    time = np.arange(num_frames)[:, None] / 50.0
    quat = np.repeat(rotations.about_axis(2, yaw)[None], num_frames, axis=0)
    return make(time * np.asarray(velocity_w) + [0, 0, 0.7], quat, **kwargs)


@pytest.mark.parametrize("loops", [False, True])
def test_constant_velocity_is_the_same_in_every_frame(loops):
    # Facing +y and moving along +y: forward in the base frame.
    clip = straight(20, (0.0, 0.5, 0.0), yaw=np.pi / 2, loops=loops)
    np.testing.assert_allclose(clip.root_lin_vel_b, [[0.5, 0.0, 0.0]] * 20, atol=1e-12)
    np.testing.assert_allclose(clip.root_lin_vel_h, [[0.5, 0.0, 0.0]] * 20, atol=1e-12)
    np.testing.assert_allclose(clip.root_ang_vel_b, 0.0, atol=1e-12)
    np.testing.assert_allclose(
        clip.projected_gravity_b, [[0.0, 0.0, -1.0]] * 20, atol=1e-12
    )


@pytest.mark.parametrize("loops", [False, True])
def test_a_tilted_body_that_turns_about_the_vertical(loops):
    # Pitched by 0.3 rad nose down: the vertical is (-sin, 0, cos) in the base frame.
    yaw = 0.8 * np.arange(30) / 50.0
    quat = rotations.multiply(
        rotations.about_axis(2, yaw), rotations.about_axis(1, np.full(30, 0.3))
    )
    clip = make(np.tile([0, 0, 0.7], (30, 1)), quat, loops=loops)
    expected = 0.8 * np.array([-np.sin(0.3), 0.0, np.cos(0.3)])
    np.testing.assert_allclose(clip.root_ang_vel_b, [expected] * 30, atol=1e-9)
    np.testing.assert_allclose(
        clip.projected_gravity_b[7], [np.sin(0.3), 0.0, -np.cos(0.3)], atol=1e-12
    )


def test_a_loop_on_a_circle_goes_on_along_the_circle():
    # A quarter of a circle of radius 1, facing along it.
    angle = np.linspace(0.0, np.pi / 2, 51)
    pos = np.stack([np.sin(angle), 1.0 - np.cos(angle), 0.7 + 0 * angle], axis=1)
    clip = make(pos, rotations.about_axis(2, angle), loops=True)
    extended = clip.extended_qpos(3)
    step = angle[1]
    for row, frame in zip(extended, range(-3, 54), strict=True):
        expected = [np.sin(frame * step), 1.0 - np.cos(frame * step), 0.7]
        np.testing.assert_allclose(row[:3], expected, atol=1e-12)
        assert rotations.yaw_of(row[3:7]) == pytest.approx(frame * step)
    speed = np.sin(step) * 50.0  # The chord over two frames.
    np.testing.assert_allclose(clip.root_lin_vel_h[0], [speed, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(clip.root_lin_vel_h[-1], [speed, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(
        mean_velocity_h(clip)[4], [speed, 0.0, step * 50.0], atol=1e-9
    )


def test_joint_velocity_wraps_in_a_loop():
    phase = np.linspace(0.0, 2 * np.pi, 101)
    joints = np.stack([np.sin(phase), np.cos(phase)], axis=1)
    clip = straight(101, (0.3, 0, 0))
    clip = make(clip.root_pos_w, clip.root_quat_w, joints, loops=True)
    rate = 2 * np.pi / 2.0  # One period in 2 s.
    np.testing.assert_allclose(clip.joint_vel[0], [rate, 0.0], atol=3e-3)
    np.testing.assert_allclose(clip.joint_vel[0], clip.joint_vel[-1], atol=1e-12)


def test_sign_flips_of_quaternions_do_not_matter():
    quat = rotations.about_axis(2, np.linspace(0.0, 1.0, 40))
    flipped = quat * np.where(np.arange(40) % 3 == 0, -1.0, 1.0)[:, None]
    pos = np.tile([0, 0, 0.7], (40, 1))
    np.testing.assert_allclose(
        make(pos, flipped).root_ang_vel_b, make(pos, quat).root_ang_vel_b, atol=1e-12
    )


@pytest.mark.parametrize("loops", [False, True])
def test_resampling_follows_the_motion_between_frames(loops):
    def motion(time):
        phase = 2 * np.pi * time / 1.2
        pos = np.stack([0.5 * time, 0.03 * np.sin(phase), 0.7 + 0 * time], axis=1)
        quat = rotations.about_axis(0, 0.1 * np.sin(phase))
        joints = np.stack([np.sin(phase), np.cos(phase)], axis=1)
        return pos, quat, joints

    clip = make(*motion(np.arange(37) / 30.0), fps=30.0, loops=loops)
    dense = resample(clip, 50.0)
    pos, quat, joints = motion(np.arange(dense.num_frames) / 50.0)
    assert dense.num_frames == 61
    assert dense.fps == pytest.approx(50.0)
    np.testing.assert_allclose(dense.root_pos_w, pos, atol=1e-3)
    np.testing.assert_allclose(dense.root_quat_w, quat, atol=1e-3)
    inner = slice(None) if loops else slice(3, -3)
    np.testing.assert_allclose(dense.joint_pos[inner], joints[inner], atol=2e-3)
    rate = 2 * np.pi / 1.2
    velocity = rate * np.stack([joints[:, 1], -joints[:, 0]], axis=1)
    np.testing.assert_allclose(dense.joint_vel[inner], velocity[inner], atol=0.12)


def test_the_mean_velocity_of_a_long_clip_follows_its_changes():
    speed = np.where(np.arange(400) < 200, 0.3, 0.9)
    pos = np.stack([np.cumsum(speed) / 50.0, np.zeros(400), np.full(400, 0.7)], axis=1)
    clip = make(pos, np.tile([1.0, 0, 0, 0], (400, 1)))
    mean = mean_velocity_h(clip)
    assert mean[100, 0] == pytest.approx(0.3)
    assert mean[300, 0] == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, q, j: (p[:2], q[:2], j[:2]), "2 frames"),
        (lambda p, q, j: (p, q, j[:, :1]), r"joint_pos has shape \[9, 1\]"),
        (lambda p, q, j: (p[:5], q, j), r"root_quat_w has shape \[9, 4\]"),
        (lambda p, q, j: (p, 1.1 * q, j), "length 1.1"),
        (lambda p, q, j: (p, 0.0 * q, j), "length 0"),
        (lambda p, q, j: (p * np.nan, q, j), "root_pos_w has a value"),
        (lambda p, q, j: (p, q, j + 1e9), "joint_pos has a value"),
        (lambda p, q, j: (p, q, [["x", "y"]] * 9), "does not hold numbers"),
    ],
)
def test_damaged_clips_are_refused_in_one_line(change, message):
    arrays = np.tile([0, 0, 0.7], (9, 1)), np.tile([1.0, 0, 0, 0], (9, 1))
    pos, quat, joints = change(*arrays, np.zeros((9, 2)))
    with pytest.raises(SoloError, match=message) as error:
        make(pos, quat, joints)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("fps", [0.0, -30.0, np.nan, np.inf, 1e5])
def test_impossible_rates_are_refused(fps):
    with pytest.raises(SoloError, match="frames per second"):
        straight(9, (0, 0, 0), fps=fps)


def test_rotation_vectors_come_back():
    rng = np.random.default_rng(0)
    vectors = rng.uniform(-1.7, 1.7, (50, 3))
    vectors[0], vectors[1] = 0.0, [1e-12, 0, 0]
    quat = rotations.from_rotation_vector(vectors)
    np.testing.assert_allclose(rotations.to_rotation_vector(-quat), vectors, atol=1e-12)
    np.testing.assert_allclose(
        rotations.rotate(rotations.about_axis(2, np.pi / 2), np.array([1.0, 0, 0])),
        [0, 1, 0],
        atol=1e-12,
    )
