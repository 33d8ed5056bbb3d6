"""What the discriminator and episode starts get from clips."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from solo.deploy import contract
from solo.errors import SoloError
from solo.motions import rotations
from solo.motions.clip import CONTROL_HZ, MotionClip
from solo.motions.library import (
    AMP_STATE_DIM,
    MotionLibrary,
    amp_state,
    clip_amp_transitions,
)
from solo.robots.g1 import G1
from solo.tasks.profiles import PROFILES

DEFAULT = np.array(G1.joint_values(G1.default_joint_pos))


def rigid(velocity: float, yaw: float, num_frames: int = 11, fps: float = 50.0):
    """The default pose carried along its heading."""
    time = np.arange(num_frames)[:, None] / fps
    heading = np.array([np.cos(yaw), np.sin(yaw), 0.0])
    return MotionClip(
        name=f"rigid_{velocity}",
        fps=fps,
        joint_names=G1.joint_names,
        root_pos_w=time * velocity * heading + [0.0, 0.0, 0.75],
        root_quat_w=np.repeat(rotations.about_axis(2, yaw)[None], num_frames, axis=0),
        joint_pos=np.repeat(DEFAULT[None], num_frames, axis=0),
    )


def test_clips_profiles_and_robot_have_the_same_control_rate():
    steps_s = [profile.physics[0] * profile.physics[1] for profile in PROFILES.values()]
    assert steps_s == pytest.approx([1.0 / CONTROL_HZ] * len(PROFILES))
    assert contract.CONTROL_HZ == CONTROL_HZ


def test_the_state_is_joined_in_the_order_of_the_contract():
    parts = [
        torch.full((2, size), float(k)) for k, size in enumerate((25, 25, 3, 3, 3))
    ]
    state = amp_state(*parts)
    assert state.shape == (2, AMP_STATE_DIM)
    expected = [0.0] * 25 + [1.0] * 25 + [2.0] * 3 + [3.0] * 3 + [4.0] * 3
    assert state[1].tolist() == expected


@pytest.mark.parametrize("yaw", [0.0, 2.0])
def test_a_rigid_walk_by_hand(yaw):
    states, following = clip_amp_transitions(rigid(0.4, yaw), DEFAULT)
    expected = torch.zeros(AMP_STATE_DIM)
    expected[50] = 0.4  # Forward in the base frame, whatever the heading.
    expected[58] = -1.0  # Gravity.
    assert states.shape == following.shape == (10, AMP_STATE_DIM)
    torch.testing.assert_close(states[3], expected, atol=1e-6, rtol=0.0)
    torch.testing.assert_close(following[9], expected, atol=1e-6, rtol=0.0)


def test_next_states_are_one_control_step_later(clips):
    clip = clips["walk_forward_0.50"]
    states, following = clip_amp_transitions(clip, DEFAULT)
    assert len(states) == clip.num_frames - 1
    torch.testing.assert_close(states[1:], following[:-1])
    # The period closes: the last next state is the first state.
    torch.testing.assert_close(following[-1], states[0], atol=1e-3, rtol=0.0)
    moved = following[:, :25] - states[:, :25]
    mean_rate = 0.5 * (states[:, 25:50] + following[:, 25:50])
    torch.testing.assert_close(moved, mean_rate / 50.0, atol=5e-3, rtol=0.0)


def test_other_rates_are_resampled():
    states, _ = clip_amp_transitions(rigid(0.4, 1.0, num_frames=31, fps=30.0), DEFAULT)
    assert len(states) == 50
    torch.testing.assert_close(states[:, 50], torch.full((50,), 0.4))


def test_clips_are_drawn_equally_often_whatever_their_length():
    slow, fast = rigid(0.2, 0.0, num_frames=200), rigid(0.6, 0.0, num_frames=20)
    library = MotionLibrary([slow, fast], G1)
    generator = torch.Generator().manual_seed(0)
    states, _ = library.sample_transitions(4000, generator)
    share = (states[:, 50] > 0.4).float().mean().item()
    assert share == pytest.approx(0.5, abs=0.03)


def test_the_same_generator_draws_the_same(clips):
    library = MotionLibrary(list(clips.values()), G1)
    draws = [
        library.sample_transitions(32, torch.Generator().manual_seed(5))[0]
        for _ in range(2)
    ]
    assert torch.equal(*draws)


def test_start_states_are_frames_of_the_clips_without_their_heading(clips):
    names = ("walk_forward_0.70", "turn_left_1.00")
    library = MotionLibrary([clips[name] for name in names], G1)
    assert library.names == names
    states = library.sample_states(300, torch.Generator().manual_seed(1))
    yaw = rotations.yaw_of(states.root_quat_w.double().numpy())
    np.testing.assert_allclose(yaw, 0.0, atol=1e-6)
    for index, command in ((0, (0.7, 0.0, 0.0)), (1, (0.0, 0.0, 1.0))):
        rows = states.clip_index == index
        assert rows.any()
        expected = torch.tensor(command).expand(int(rows.sum()), 3)
        torch.testing.assert_close(states.command[rows], expected, atol=0.05, rtol=0.0)
    clip = clips[names[0]]
    row = int((states.clip_index == 0).nonzero()[0])
    distance = np.abs(clip.joint_pos - states.joint_pos[row].numpy()).max(1)
    frame = int(distance.argmin())
    assert distance[frame] < 1e-6
    np.testing.assert_allclose(
        states.root_lin_vel_h[row], clip.root_lin_vel_h[frame], atol=1e-6
    )
    np.testing.assert_allclose(states.joint_vel[row], clip.joint_vel[frame], atol=1e-5)
    assert states.root_height_m[row].item() == pytest.approx(
        clip.root_pos_w[frame, 2], abs=1e-6
    )


def test_a_library_needs_clips_of_the_robot():
    clip = rigid(0.3, 0.0)
    with pytest.raises(SoloError, match="no clips"):
        MotionLibrary([], G1)
    other = MotionClip(
        "other", 50.0, ("a",), clip.root_pos_w, clip.root_quat_w, np.zeros((11, 1))
    )
    with pytest.raises(SoloError, match="has 1 joints"):
        MotionLibrary([other], G1)
