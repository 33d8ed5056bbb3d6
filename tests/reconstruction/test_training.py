"""Training resumes exactly, meets the same samples, and is measured on others."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from solo.errors import SoloError
from solo.reconstruction.checkpoint import FitCfg, load, make_model
from solo.reconstruction.comparison import (
    compare,
    evaluate,
    flat_predictor,
    predict_all,
    scored_steps,
)
from solo.reconstruction.training import batch_indices, fit, learning_rate
from solo.reconstruction.windows import Recording
from solo.viewer.recon_pictures import write_pictures
from tests.reconstruction.tiny import record, tiny_model

CFG = FitCfg("start", updates=12, batch=16, seed=3)


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


def test_the_rate_falls_along_half_a_cosine():
    rates = [learning_rate(CFG, k) for k in (0, 6, 12)]
    assert rates == pytest.approx([5e-4, 2.5e-4, 0.0])
    expected = 2.5e-4 * (1 + math.cos(math.pi / 4))
    assert learning_rate(CFG, 3) == pytest.approx(expected)


def test_other_options_are_refused_by_name(data, tmp_path):
    fit(CFG, data, tmp_path, factory=tiny_model, stop_after=1)
    with pytest.raises(SoloError, match="Add --resume"):
        fit(CFG, data, tmp_path, factory=tiny_model)
    other = FitCfg("start", updates=13, batch=16, seed=3)
    with pytest.raises(SoloError, match="updates 12, not 13"):
        fit(other, data, tmp_path, resume=True, factory=tiny_model)


def test_a_broken_checkpoint_is_told_in_one_line(tmp_path):
    with pytest.raises(SoloError, match="Cannot read the training"):
        load(tmp_path)
    (tmp_path / "checkpoint.pt").write_bytes(b"nonsense")
    with pytest.raises(SoloError, match="Cannot read the training") as error:
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
    assert result["flat"]["parameters"] == 0
    assert result["data"]["train"]["sampler"] == "noise"
    assert set(result["extent_shift"]) == {"start", "dpl", "flat"}
    assert set(result["extent_shift"]["dpl"]) == {"8", "10"}
    assert [e.terrain for e in examples] == ["stairs_up_25"]
    assert set(examples[0].maps) == {"start", "dpl"}
    # Both are the same network here and met the same samples.
    first, second = result["methods"]["start"], result["methods"]["dpl"]
    assert first["l1_cm"] == second["l1_cm"]


def test_training_lowers_the_error(data, tmp_path):
    cfg = FitCfg("start", updates=200, batch=16, learning_rate=3e-2)
    trained = fit(cfg, data, tmp_path, factory=tiny_model)
    assert trained.curve[-1]["height_l1_m"] < 0.8 * trained.curve[0]["height_l1_m"]


def test_flat_ground_is_as_wrong_as_the_ground_is_high(data):
    recording = Recording(data / "eval")
    found = predict_all(flat_predictor(0.5), recording)
    assert (found.height == -0.5).all()
    steps = scored_steps(recording.num_steps)
    assert steps.tolist() == [19, 29]
    batch = recording.windows(np.array([3]), np.array([29]))
    assert np.array_equal(found.true_height[3 * 2 + 1], batch.height[0])


def test_errors_in_view_and_beside_it_are_told_apart(data):
    recording = Recording(data / "eval")

    def off_on_the_left(batch):
        height = batch.height.clone()
        height[:, 8:] += 0.03
        return height, batch.velocity

    in_view = np.zeros((16, 32), dtype=bool)
    in_view[8:, 4:] = True
    row = evaluate(off_on_the_left, recording, in_view)
    assert row["l1_cm_in_view"] == pytest.approx(3.0, rel=1e-3)
    # Of the 288 other cells 32 are on the left, too.
    assert row["l1_cm_out_of_view"] == pytest.approx(3.0 * 32 / 288, rel=1e-3)


def test_scored_steps_of_a_short_sequence():
    assert scored_steps(5).tolist() == [4]
    assert scored_steps(60).tolist() == [19, 29, 39, 49, 59]
