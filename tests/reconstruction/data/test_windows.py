"""Windows made from recorded sequences equal those of training."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from mjlab.utils.buffers import CircularBuffer

from solo.errors import SoloError
from solo.reconstruction.cfg import FitCfg
from solo.reconstruction.data.recorder import collect, plan_shard
from solo.reconstruction.data.shards import Manifest, read_arrays
from solo.reconstruction.data.windows import WindowSet, episode_starts
from solo.reconstruction.offline import open_split
from solo.sensors.depth.camera import DepthHistory
from tests.reconstruction.tiny import IMAGE, NoiseSampler, record, small_cfg


def test_windows_equal_the_history_of_training_across_a_reset(tmp_path):
    """Same images, same delays; the second episode begins at step 17."""
    sampler, cfg = NoiseSampler(reset_at=17), small_cfg(frames=90)
    collect(cfg, sampler, tmp_path)
    recording = WindowSet(tmp_path / "train")
    history = DepthHistory(3, shape=IMAGE)
    frames = CircularBuffer(max_len=10, batch_size=3, device="cpu")
    robots = np.arange(3)
    steps = NoiseSampler(reset_at=17).sample(plan_shard(cfg, 0), cfg.steps)
    for k, step in enumerate(steps):
        if step.is_first.all():
            history.reset()
            frames.reset()
        history.delays[:] = step.delay
        history.push((step.depth_m * 1000).round() / 1000)
        frames.append(step.proprioception)
        found = recording.windows(robots, np.full(3, k))
        assert torch.allclose(found.depth, history.read() / 3.0, atol=1e-6)
        assert torch.equal(found.proprioception, frames.buffer)
        assert torch.equal(found.velocity, step.velocity)
        assert torch.allclose(found.height, step.height, atol=0.00051)


def test_no_window_reaches_into_another_episode_or_robot(tmp_path):
    """Each step's image and frame hold the number of its robot and episode."""
    collect(small_cfg(), NoiseSampler(reset_at=9), tmp_path)
    recording = WindowSet(tmp_path / "train")
    number = np.arange(6)[:, None] * 2 + (np.arange(30) >= 9)
    recording._depth = np.broadcast_to(number[..., None, None], (6, 30, 2, 2)) * 100.0
    recording._proprioception = np.broadcast_to(number[..., None], (6, 30, 84)).astype(
        np.float32
    )
    numbers = np.arange(recording.num_samples)
    batch = recording.windows(numbers // 30, numbers % 30)
    expected = torch.from_numpy(number.reshape(-1)).float()
    assert torch.equal(
        (batch.depth * 30).round(), expected[:, None, None, None].expand(-1, 4, 2, 2)
    )
    assert torch.equal(batch.proprioception, expected[:, None, None].expand(-1, 10, 84))


def test_the_start_of_each_episode():
    is_first = np.array([[True, False, False, True, False]])
    assert episode_starts(is_first).tolist() == [[0, 0, 0, 3, 3]]


def test_samples_are_sequences_in_the_order_of_the_shards(tmp_path):
    record(tmp_path, "train")
    folder = tmp_path / "train"
    recording, manifest = WindowSet(folder), Manifest.read(folder)
    assert (recording.num_sequences, recording.num_steps) == (6, 30)
    second = read_arrays(folder, manifest.shards[1])
    batch = recording.windows(np.array([4]), np.array([7]))
    assert np.array_equal(batch.velocity[0], second["velocity"][7, 1])
    assert recording.terrains[4] == manifest.shards[1].terrains[1]
    assert recording.levels[4] == manifest.shards[1].levels[1]


def test_images_of_another_size_are_refused(tmp_path):
    record(tmp_path, "train")
    assert (
        open_split(FitCfg("qr", profile="laptop"), tmp_path / "train").num_samples
        == 180
    )
    with pytest.raises(SoloError, match="are 57 x 32; profile paper takes 113 x 64"):
        open_split(FitCfg("qr", profile="paper"), tmp_path / "train")


def test_an_extended_recording_is_unpacked_anew(tmp_path):
    record(tmp_path, "train")
    assert WindowSet(tmp_path / "train").num_samples == 180
    record(tmp_path, "train", frames=270)
    assert WindowSet(tmp_path / "train").num_samples == 270


def test_statistics_are_those_of_the_frames(tmp_path):
    record(tmp_path, "train")
    recording = WindowSet(tmp_path / "train")
    mean, std = recording.statistics()
    frames = np.array(recording._proprioception).reshape(-1, 84)
    assert torch.allclose(mean, torch.from_numpy(frames.mean(0)), atol=1e-5)
    assert torch.allclose(std, torch.from_numpy(frames.std(0)), atol=1e-5)
