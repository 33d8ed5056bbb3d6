"""Recordings on disk: resumable, checked, and a pure function of their options."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from solo.errors import SoloError
from solo.files import owned_folder, write_json
from solo.reconstruction.cfg import HELD_OUT_SEED, CollectCfg
from solo.reconstruction.data.recorder import (
    check_disjoint,
    collect,
    num_shards,
    pack_step,
    plan_shard,
)
from solo.reconstruction.data.shards import (
    MANIFEST,
    Manifest,
    checksum,
    pack_images,
    read_arrays,
    shard_name,
    unpack_images,
)
from solo.reconstruction.data.windows import WindowSet
from tests.reconstruction.tiny import NoiseSampler, record, small_cfg


def test_an_interrupted_recording_goes_on_and_ends_the_same(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    collect(small_cfg(frames=270), NoiseSampler(), whole)
    with pytest.raises(KeyboardInterrupt):
        collect(small_cfg(frames=270), NoiseSampler(fail_at=1), broken)
    again = NoiseSampler()
    collect(small_cfg(frames=270), again, broken)
    assert again.shards == 2  # The first one was kept.
    for index in range(3):
        name = shard_name(index)
        first, second = whole / "train" / name, broken / "train" / name
        assert first.read_bytes() == second.read_bytes()
    first, second = whole / "train" / MANIFEST, broken / "train" / MANIFEST
    assert first.read_text() == second.read_text()


def test_a_kill_between_shard_and_manifest_neither_loses_nor_repeats(tmp_path):
    folder = record(tmp_path, "train") / "train"
    manifest = Manifest.read(folder)
    del manifest.shards[1]
    write_json(folder / MANIFEST, manifest.to_dict())
    before = checksum(folder / shard_name(1))
    found = collect(small_cfg(), NoiseSampler(), tmp_path)
    assert found.frames == 180
    assert found.shards[1].sha256 == before


def test_a_second_recording_into_the_same_folder_is_refused(tmp_path):
    refused = pytest.raises(SoloError, match="Another process")
    with owned_folder(tmp_path / "train"), refused:
        record(tmp_path, "train")
    record(tmp_path, "train")


def test_a_shard_of_other_arrays_is_refused_though_its_checksum_fits(tmp_path):
    folder = record(tmp_path, "train") / "train"
    path = folder / shard_name(1)
    with np.load(path) as archive:
        arrays = {**archive, "velocity": np.zeros((30, 3, 2), np.float32)}
    np.savez(path, **arrays)
    manifest = Manifest.read(folder)
    manifest.shards[1] = replace(manifest.shards[1], sha256=checksum(path))
    write_json(folder / MANIFEST, manifest.to_dict())
    with pytest.raises(SoloError, match=r"velocity has shape \[30, 3, 2\].*3, 3\]"):
        WindowSet(folder)


def test_more_frames_extend_a_recording(tmp_path):
    record(tmp_path, "train")
    sampler = NoiseSampler()
    manifest = collect(small_cfg(frames=181), sampler, tmp_path)
    assert (sampler.shards, manifest.frames) == (1, 270)


def test_other_options_are_refused_by_name(tmp_path):
    record(tmp_path, "train")
    with pytest.raises(SoloError, match="seed is 0 there and 1 here"):
        collect(small_cfg(seed=1), NoiseSampler(), tmp_path)


def test_a_damaged_shard_is_told_in_one_line(tmp_path):
    folder = record(tmp_path, "train") / "train"
    path = folder / shard_name(1)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(SoloError, match=r"shard_00001.npz' is damaged") as error:
        WindowSet(folder)
    assert "\n" not in str(error.value)


def test_a_missing_shard_is_recorded_again(tmp_path):
    folder = record(tmp_path, "train") / "train"
    (folder / shard_name(0)).unlink()
    with pytest.raises(SoloError, match="is missing"):
        WindowSet(folder)
    collect(small_cfg(), NoiseSampler(), tmp_path)
    assert WindowSet(folder).num_samples == 180


def test_packing_images_is_lossless():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 2**16, (3, 2, 5, 7), dtype=np.uint16)
    planes = pack_images(images)
    assert planes.dtype == np.uint8
    assert np.array_equal(unpack_images(planes), images)


def test_values_survive_to_half_a_millimetre(tmp_path):
    record(tmp_path, "train")
    step = next(iter(NoiseSampler().sample(plan_shard(small_cfg(), 0), 1)))
    arrays = read_arrays(
        tmp_path / "train", Manifest.read(tmp_path / "train").shards[0]
    )
    depth = torch.from_numpy(arrays["depth_mm"][0].astype(np.float32)) / 1000
    height = torch.from_numpy(arrays["height_mm"][0].astype(np.float32)) / 1000
    assert (depth - step.depth_m).abs().max() <= 0.00051
    assert (height - step.height).abs().max() <= 0.00051
    assert np.array_equal(arrays["proprioception"][0], step.proprioception)
    assert pack_step(step)["depth_mm"].dtype == np.uint16


def test_held_out_sets_are_850_instances_on_other_seeds():
    cfg = CollectCfg(split="eval")
    plans = [plan_shard(cfg, k) for k in range(num_shards(cfg))]
    seeds = [plan.scene.seed for plan in plans]
    assert sum(len(plan.columns) for plan in plans) == 850
    assert len(set(seeds)) == 5
    assert min(seeds) >= HELD_OUT_SEED
    for plan in plans:
        places = set(zip(plan.columns.tolist(), plan.levels.tolist(), strict=True))
        assert len(places) == 170
    with pytest.raises(SoloError, match="Larger ones are held out"):
        CollectCfg(terrain_seeds=(0, HELD_OUT_SEED))


def test_training_covers_all_patches_before_any_comes_again():
    cfg = CollectCfg(frames=4 * 12_800)
    plans = [plan_shard(cfg, k) for k in range(4)]
    columns = np.concatenate([plan.columns for plan in plans])
    levels = np.concatenate([plan.levels for plan in plans])
    places = list(zip(columns.tolist(), levels.tolist(), strict=True))
    assert len(set(places[:170])) == 170
    assert {plan.scene.seed for plan in plans} == {0, 1, 2, 3}


def test_extents_differ_in_the_patch_alone():
    cfg = CollectCfg(split="extent")
    small, large = plan_shard(cfg, 0), plan_shard(cfg, 1)
    assert (small.scene.patch_m, large.scene.patch_m) == (8.0, 10.0)
    assert np.array_equal(small.columns, large.columns)
    assert small.seed == large.seed


def test_held_out_terrain_that_was_trained_on_is_refused(tmp_path):
    record(tmp_path, "train", "eval")
    check_disjoint(tmp_path)
    manifest = Manifest.read(tmp_path / "eval")
    manifest.shards[0].scene["seed"] = 1
    write_json(tmp_path / "eval" / MANIFEST, manifest.to_dict())
    with pytest.raises(SoloError, match=r"Terrain seeds \[1\] .* are in the training"):
        check_disjoint(tmp_path)
