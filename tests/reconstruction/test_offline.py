"""Training resumes exactly, meets the same samples, and is measured on others."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from solo.errors import SoloError
from solo.pictures.recon import write_pictures
from solo.reconstruction.cfg import FitCfg
from solo.reconstruction.comparison import (
    as_predict,
    compare,
    evaluate,
    flat_ground,
    from_windows,
    scored_steps,
)
from solo.reconstruction.data.windows import WindowSet
from solo.reconstruction.networks.interface import Reconstructor
from solo.reconstruction.offline import (
    batch_indices,
    fit,
    load,
    make_model,
    pick_cells,
    pick_steps,
    pick_windows,
)
from solo.reconstruction.update import cosine
from tests.reconstruction.tiny import record, tiny_model

CFG = FitCfg("start", updates=12, batch=16, seed=3, profile="reduced")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return record(tmp_path_factory.mktemp("data"), "train", "eval", "extent")


def test_an_interrupted_training_ends_as_if_it_had_not_been(data, tmp_path):
    whole = fit(CFG, data, tmp_path / "whole", factory=tiny_model)
    fit(CFG, data, tmp_path / "parts", factory=tiny_model, stop_after=5)
    torch.rand(7)  # What others draw meanwhile does not matter.
    resumed = fit(CFG, data, tmp_path / "parts", resume=True, factory=tiny_model)
    assert resumed.update == whole.update == 12
    for name, values in whole.model.state_dict().items():
        assert torch.equal(values, resumed.model.state_dict()[name])
    assert resumed.pending == whole.pending


def test_the_order_is_the_same_for_all_methods_and_covers_all_samples():
    order = np.concatenate([batch_indices(5, k, 7, 20) for k in range(20)])
    assert order.shape == (140,)
    for part in order.reshape(7, 20):
        assert sorted(part) == list(range(20))
    assert not np.array_equal(order[:20], order[20:40])
    other = np.concatenate([batch_indices(6, k, 7, 20) for k in range(3)])
    assert not np.array_equal(order[:20], other[:20])


def test_neighbours_are_4_steps_apart_and_no_window_comes_twice_in_a_pass():
    """3 sequences of 33 steps: 2 blocks of 16 steps hold 8 groups of 4 windows."""
    cfg = replace(CFG, neighbours=4)
    groups = set()
    for update in range(6):  # 4 groups each: 24 in all, one pass.
        sequences, steps = pick_windows(cfg, update, 3, 33)
        assert (np.diff(steps.reshape(4, 4)) == 4).all()
        assert (np.ptp(sequences.reshape(4, 4), axis=1) == 0).all()
        assert steps.min() >= 0
        assert steps.max() < 33
        offset = np.random.default_rng([cfg.seed, 13, update]).integers(2)
        groups |= set(zip(sequences[::4], steps[::4] - offset, strict=True))
    assert len(groups) == 24
    with pytest.raises(SoloError, match="the recording has 15"):
        pick_windows(cfg, 0, 3, 15)
    with pytest.raises(SoloError, match="must divide the batch of 16"):
        replace(CFG, neighbours=3)


def test_lanes_go_through_whole_sequences_in_order():
    """2 lanes of 8 steps on sequences of 24: three updates each."""
    picks = [pick_steps(CFG, update, 5, 24) for update in range(30)]
    for lane in range(2):
        sequences = [p[0][lane] for p in picks]
        first = [p[1][lane] for p in picks]
        begin = first.index(0)
        assert first[begin : begin + 6] == [0, 8, 16] * 2
        assert len(set(sequences[begin : begin + 3])) == 1
    begun = [int(p[0][k]) for p in picks for k in range(2) if p[1][k] == 0]
    assert set(begun) == set(range(5))


def test_some_cells_are_drawn_anew_for_each_update():
    assert pick_cells(CFG, 0) is None
    cfg = replace(CFG, cells=128)
    first, second = pick_cells(cfg, 0), pick_cells(cfg, 1)
    assert first is not None
    assert second is not None
    assert len(set(first.tolist())) == 128
    assert int(first.max()) < 512
    assert not torch.equal(first, second)


@pytest.mark.parametrize("method", ["start_memory", "qr_evidence"])
def test_the_real_networks_train_stop_and_go_on(method, data, tmp_path):
    """Memory, cells and shared images survive an interruption, too."""
    options = {"batch": 8, "profile": "laptop", "cells": 32, "neighbours": 2}
    cfg = FitCfg(method, 2, **options)  # type: ignore[arg-type]
    whole = fit(cfg, data, tmp_path / "whole")
    fit(cfg, data, tmp_path / "parts", stop_after=1)
    resumed = fit(cfg, data, tmp_path / "parts", resume=True)
    for name, values in whole.model.state_dict().items():
        assert torch.equal(values, resumed.model.state_dict()[name]), name


def test_an_episode_step_by_step_is_the_models_own_streaming(data):
    cfg = FitCfg("start_memory", profile="laptop")
    torch.manual_seed(0)
    model = make_model(cfg).eval()
    assert isinstance(model, Reconstructor)
    recording = WindowSet(data / "eval")
    found = as_predict(model, "cpu")(recording, "streaming")
    assert found.height.shape == (recording.num_sequences * 2, 16, 32)
    assert found.steps[:2].tolist() == [19, 29]
    state, outputs = model.initial_state(1), {}
    with torch.no_grad():
        for step in range(20):
            batch = recording.windows(np.array([3]), np.array([step]))
            outputs, state = model(batch.depth, batch.proprioception, state)
    np.testing.assert_allclose(found.height[3 * 2], outputs["height"][0], atol=1e-5)


def test_the_rate_falls_along_half_a_cosine():
    rates = [cosine(CFG.learning_rate, k / CFG.updates) for k in (0, 6, 12)]
    assert rates == pytest.approx([5e-4, 2.5e-4, 0.0])
    expected = 2.5e-4 * (1 + math.cos(math.pi / 4))
    assert cosine(CFG.learning_rate, 3 / CFG.updates) == pytest.approx(expected)


def test_other_options_are_refused_by_name(data, tmp_path):
    fit(CFG, data, tmp_path, factory=tiny_model, stop_after=1)
    with pytest.raises(SoloError, match="Resume it"):
        fit(CFG, data, tmp_path, factory=tiny_model)
    other = replace(CFG, updates=13)
    with pytest.raises(SoloError, match="updates 12, not 13"):
        fit(other, data, tmp_path, resume=True, factory=tiny_model)


def test_a_broken_checkpoint_is_told_in_one_line(tmp_path):
    with pytest.raises(SoloError, match="There is no checkpoint"):
        load(tmp_path)
    (tmp_path / "checkpoint.pt").write_bytes(b"nonsense")
    with pytest.raises(SoloError, match="Cannot read the checkpoint") as error:
        load(tmp_path)
    assert "\n" not in str(error.value)


def test_unknown_names_are_told():
    with pytest.raises(SoloError, match=r"Unknown method 'unet'\. Allowed: qr, start"):
        make_model(FitCfg("unet"))
    with pytest.raises(SoloError, match="Unknown profile"):
        FitCfg("qr", profile="desk")  # type: ignore[arg-type]


def test_the_comparison_has_the_agreed_keys(data, tmp_path):
    result, examples = compare(CFG, ("start", "dpl"), data, tmp_path, tiny_model)
    expected = {
        "parameters", "l1_cm", "l1_cm_std", "hard_l1_cm", "edge_f1", "edge_f1_std",
        "matched_edge_f1", "matched_edge_precision", "matched_edge_recall",
        "velocity_l1", "per_terrain_level9_cm", "samples_per_s",
    }  # fmt: skip
    for row in result["methods"].values():
        assert expected <= set(row)
        assert np.asarray(row["l1_cm_per_cell"]).shape == examples[0].truth.shape
        # Every instance has as many frames, so the parts make up the whole.
        seen, share = row["l1_cm_in_view"], result["share_in_view"]
        parts = share * seen + (1.0 - share) * row["l1_cm_out_of_view"]
        assert parts == pytest.approx(row["l1_cm"], rel=1e-6)
    names = [path.name for path in write_pictures(result, examples, tmp_path)]
    assert sorted(names) == sorted(p.name for p in tmp_path.glob("*.png"))
    assert len(names) == 3
    assert result["flat"]["parameters"] == result["noise"]["parameters"] == 0
    assert result["noise"]["l1_cm"] > result["flat"]["l1_cm"]
    assert result["cell_cm"] == 5.0
    assert result["data"]["train"]["sampler"] == "noise"
    assert set(result["extent_shift"]) == {"start", "dpl", "flat"}
    assert set(result["extent_shift"]["dpl"]) == {"8", "10"}
    assert [e.terrain for e in examples] == ["stairs_up_25"]
    assert set(examples[0].maps) == {"start", "dpl"}
    # Both are the same network here and met the same samples.
    first, second = result["methods"]["start"], result["methods"]["dpl"]
    assert first["l1_cm"] == second["l1_cm"]


def test_training_lowers_the_error(data, tmp_path):
    cfg = replace(CFG, updates=200, learning_rate=3e-2)
    trained = fit(cfg, data, tmp_path, factory=tiny_model)
    assert trained.curve[-1]["height_l1_m"] < 0.8 * trained.curve[0]["height_l1_m"]


def test_flat_ground_is_as_wrong_as_the_ground_is_high(data):
    recording = WindowSet(data / "eval")
    found = flat_ground(0.5)(recording, "flat")
    assert (found.height == -0.5).all()
    assert flat_ground(0.5, 0.03)(recording, "noise").height.std() == pytest.approx(
        0.03, rel=0.02
    )
    steps = scored_steps(recording.num_steps)
    assert steps.tolist() == [19, 29]
    batch = recording.windows(np.array([3]), np.array([29]))
    assert np.array_equal(found.true_height[3 * 2 + 1], batch.height[0])


def test_errors_in_view_and_beside_it_are_told_apart(data):
    recording = WindowSet(data / "eval")

    def off_on_the_left(batch):
        height = batch.height.clone()
        height[:, 8:] += 0.03
        return height, batch.velocity

    in_view = np.zeros((16, 32), dtype=bool)
    in_view[8:, 4:] = True
    found = from_windows(off_on_the_left)(recording, "off")
    row = evaluate(found, recording, in_view)
    assert row["l1_cm_in_view"] == pytest.approx(3.0, rel=1e-3)
    # Of the 288 other cells 32 are on the left, too.
    assert row["l1_cm_out_of_view"] == pytest.approx(3.0 * 32 / 288, rel=1e-3)


def test_scored_steps_of_a_short_sequence():
    assert scored_steps(5).tolist() == [4]
    assert scored_steps(60).tolist() == [19, 29, 39, 49, 59]
