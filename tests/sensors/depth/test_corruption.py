"""Corruption of whole batches: switches, seeds, episodes, sharing among threads."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
import torch

from solo.sensors.depth.cfg import (
    CORRUPTIONS,
    BlurCfg,
    CloseBlocksCfg,
    DepthCorruptionCfg,
    EdgeCfg,
    MissingCfg,
    SideMaskCfg,
    StereoCfg,
    ValueNoiseCfg,
)
from solo.sensors.depth.corruption import DepthCorruptor, normalise, without_near_limit
from tests.sensors.depth.scenes import CAMERA, legs_and_step, plane

ALL_OFF = DepthCorruptionCfg().only()
STRONG = {
    "value_noise": ValueNoiseCfg((0.3, 0.4), (0.02, 0.03)),
    "edge_noise": EdgeCfg((0.8, 0.9)),
    "edge_holes": EdgeCfg((0.8, 0.9)),
    "missing": MissingCfg((0.1, 0.2), (4.0, 6.0)),
    "close_blocks": CloseBlocksCfg((0.4, 0.5), (0.5, 0.6), (0.2, 0.3)),
    "left_band": StereoCfg((1.0, 1.0)),
    "shadow": StereoCfg((1.0, 1.0)),
    "side_masks": SideMaskCfg((1.0, 1.0)),
    "blur": BlurCfg((4.0, 5.0)),
}


def corruptor(cfg: DepthCorruptionCfg, num: int = 4, **options) -> DepthCorruptor:
    return DepthCorruptor(cfg, CAMERA, num, "cpu", **options)


def test_switched_off_leaves_only_the_range():
    depth = plane(1.0)
    depth[:, 0], depth[:, 1], depth[:, 2] = 0.1, 5.0, 0.0
    result = corruptor(ALL_OFF, 1)(depth)
    assert result[0, :4, 0].tolist() == [0.0, 3.0, 0.0, 1.0]
    assert normalise(result, CAMERA)[0, :4, 0].tolist() == pytest.approx(
        [0.0, 1.0, 0.0, 1.0 / 3.0]
    )


@pytest.mark.parametrize("name", STRONG)
def test_each_corruption_has_its_switch_and_keeps_invalid_invalid(name):
    scene = legs_and_step(4)
    result = corruptor(replace(ALL_OFF, **{name: STRONG[name]}))(scene.clone())
    assert not result.equal(scene)
    assert (result[scene == 0.0] == 0.0).all()


def test_all_together_stay_in_range_and_invalid():
    assert set(STRONG) == set(CORRUPTIONS)
    scene = legs_and_step(8)
    result = corruptor(replace(ALL_OFF, **STRONG), 8)(scene.clone())
    assert (result[scene == 0.0] == 0.0).all()
    valid = result[result > 0.0]
    assert valid.min() >= CAMERA.min_range_m
    assert valid.max() <= CAMERA.max_range_m


def test_the_seed_decides_the_result_and_sharing_out_does_not():
    def by_threads(work, num):
        cuts = [0, 1, 4, num]
        threads = [
            threading.Thread(target=work, args=(k, cuts[k], cuts[k + 1]))
            for k in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    cfg, scene = DepthCorruptionCfg(), legs_and_step(8)
    alone, shared = corruptor(cfg, 8, seed=3), corruptor(cfg, 8, seed=3, run=by_threads)
    first = alone(scene.clone())
    assert shared(scene.clone()).equal(first)
    assert not alone(scene.clone()).equal(first)  # The next frame has its own noise.
    assert not corruptor(cfg, 8, seed=4)(scene.clone()).equal(first)


def test_only_reset_envs_get_new_strengths():
    images = corruptor(DepthCorruptionCfg(), 6)
    before = {name: values.clone() for name, values in images.state.items()}
    images.reset(torch.tensor([1, 4]))
    for name, values in images.state.items():
        same = values == before[name]
        assert same[[0, 2, 3, 5]].all(), name
        if name not in ("left_px", "right_px"):
            assert not same[[1, 4]].any(), name


def test_strengths_cover_their_ranges():
    state = corruptor(DepthCorruptionCfg(), 2000).state
    noise = DepthCorruptionCfg().value_noise
    assert noise is not None
    low, high = noise.subpixel_px
    assert low <= state["subpixel_px"].min() < low + 0.01 * (high - low)
    assert high - 0.01 * (high - low) < state["subpixel_px"].max() <= high
    # 20 % of the sides are masked, at most 0.1 * 113 = 11.3, rounded up to 12 columns.
    share = (state["left_px"] > 0).float().mean().item()
    assert share == pytest.approx(0.2, abs=4 * (0.2 * 0.8 / 2000) ** 0.5)
    assert state["left_px"].max() == 12


def test_new_strengths_take_effect_without_rebuilding():
    images = corruptor(replace(ALL_OFF, side_masks=STRONG["side_masks"]), 1)
    images.state["left_px"][:] = 7
    images.state["right_px"][:] = 0
    assert (images(plane(1.0)) == 0.0).sum(-1).unique().tolist() == [7]


def test_a_thing_too_close_to_measure_still_casts_its_shadow():
    assert without_near_limit(CAMERA).min_range_m < 0.1
    scene = plane(1.0)
    scene[:, :, 50:60] = 0.25
    result = corruptor(replace(ALL_OFF, shadow=STRONG["shadow"]), 1)(scene)
    # 36.48 / 0.25 - 36.48 = 109.4 raw px or 19.3 columns: 31.5 > 50.5 - 19.3 > 30.5.
    assert (result == 0.0).all(1).nonzero()[:, 1].tolist() == list(range(31, 60))


def test_resetting_takes_a_slice_or_no_env():
    images = corruptor(DepthCorruptionCfg(), 3)
    before = images.state["subpixel_px"].clone()
    images.reset(torch.arange(0))
    assert images.state["subpixel_px"].equal(before)
    images.reset(slice(1, None))
    assert (images.state["subpixel_px"] != before).tolist() == [False, True, True]


def test_impossible_ranges_are_refused():
    with pytest.raises(ValueError, match=r"MissingCfg\.pixel_prob is \(0\.2, 0\.1\)"):
        MissingCfg(pixel_prob=(0.2, 0.1))
    with pytest.raises(ValueError, match=r"blobs is .*from 0 to 8"):
        MissingCfg(blobs=(0.0, 9.0))


def test_wrong_shape_is_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 64, 113\); expected"):
        corruptor(DepthCorruptionCfg(), 3)(plane(1.0, 2))
