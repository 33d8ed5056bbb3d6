"""Depth corruptions one by one: formulas, probabilities, known geometry."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from solo.sensors.depth import corruption_ops as ops
from solo.sensors.depth.corruption import blur_weight
from tests.sensors.depth.scenes import (
    CAMERA,
    H,
    W,
    legs_and_step,
    per_env,
    plane,
    seeded,
)


@pytest.mark.parametrize(("z", "sigma_mm"), [(1.0, 2.193), (2.0, 8.772)])
def test_noise_grows_with_the_square_of_the_distance(z, sigma_mm):
    # 0.08 px / (384 px * 0.095 m) * z^2 = 2.193 mm at 1 m, four times that at 2 m.
    num = 20
    stage = ops.value_noise(per_env(0.08, num), per_env(0.0, num), CAMERA)
    error_mm = (stage(plane(z, num), seeded()) - z) * 1000.0
    samples = num * H * W  # 144 640: the mean is known to 0.3 %, sigma to 0.2 %.
    assert abs(error_mm.mean()) < 4 * sigma_mm / samples**0.5
    assert error_mm.std() == pytest.approx(sigma_mm, rel=0.01)
    kurtosis = (error_mm / error_mm.std()).pow(4).mean()
    assert kurtosis == pytest.approx(3.0, abs=0.1)  # Normal, not uniform.


def test_noise_is_independent_between_pixels_rows_and_images():
    stage = ops.value_noise(per_env(0.08, 8), per_env(0.0, 8), CAMERA)
    noise = stage(plane(1.0, 8), seeded()).sub(1.0).div(0.002193)
    for other in (noise.roll(1, 0), noise.roll(1, 1), noise.roll(1, 2)):
        assert abs((noise * other).mean()) < 0.02


def test_scale_error_multiplies_the_depth():
    stage = ops.value_noise(per_env(0.0), per_env(-0.02), CAMERA)
    assert stage(plane(2.0), seeded()).allclose(plane(1.96))


def test_what_is_out_of_range_gets_no_noise():
    far = plane(CAMERA.max_range_m)
    stage = ops.value_noise(per_env(0.1), per_env(-0.01), CAMERA)
    assert stage(far, seeded()).equal(far)


def test_a_slanted_plane_has_no_edges_but_a_step_has():
    always = ops.edges(per_env(0.0), per_env(1.0), CAMERA)
    rows, columns = torch.arange(H)[:, None], torch.arange(W)[None, :]
    slanted = (1.0 / (0.35 + 0.015 * rows + 0.004 * columns))[None]
    assert always(slanted, seeded()).equal(slanted)

    # Upper half 0.95 m, lower half 1 m: 38.4 - 36.5 = 1.9 px of disparity.
    step = plane(1.0)
    step[:, :32] = 0.95
    holed = always(step, seeded())
    assert (holed[:, 31:33] == 0.0).all()
    holed[:, 31:33] = step[:, 31:33]
    assert holed.equal(step)


def test_edge_holes_appear_with_their_probability():
    num = 50
    stage = ops.edges(per_env(0.0, num), per_env(0.2, num), CAMERA)
    step = plane(1.0, num)
    step[:, :, 60:] = 1.5
    holes = stage(step, seeded()) == 0.0
    samples = num * H * 2
    bound = 4 * (0.2 * 0.8 / samples) ** 0.5
    assert holes[:, :, 59:61].float().mean() == pytest.approx(0.2, abs=bound)


def test_edge_noise_only_swaps_depths_across_the_edge():
    stage = ops.edges(per_env(1.0, 20), per_env(0.0, 20), CAMERA)
    step = plane(1.0, 20)
    step[:, :, 60:] = 1.5
    noisy = stage(step, seeded())
    assert set(noisy.unique().tolist()) == {1.0, 1.5}
    changed = noisy != step
    assert changed[:, :, 59:61].float().mean() == pytest.approx(0.25, abs=0.04)
    assert not changed[:, :, :59].any()
    assert not changed[:, :, 61:].any()


def test_left_band_of_a_plane_at_1_m():
    # 0.095 m * 384 px / 1 m = 36.48 raw px = 6.44 of 113 columns: the centres of
    # columns 0 to 5 (0.5 to 5.5) lie inside it, that of column 6 (6.5) does not.
    band = ops.stereo(per_env(1.0), per_env(0.0), CAMERA)
    assert (band(plane(1.0)) == 0.0).sum(-1).unique().tolist() == [6]
    # At 2 m half of it, 3.22 columns: 0.5, 1.5 and 2.5.
    assert (band(plane(2.0)) == 0.0).sum(-1).unique().tolist() == [3]


def test_a_near_object_casts_a_stereo_shadow_to_its_left():
    # Disparity 36.48 / 0.6 = 60.8 px against 36.48 / 1.2 = 30.4 px: 30.4 raw px, or
    # 5.37 columns, are hidden: the pole begins at column 50, its first pixel is at
    # 50.5, so the centres above 50.5 - 5.37 = 45.13 are (45.5 to 49.5).
    scene = plane(1.2)
    scene[:, :, 50:60] = 0.6
    seen = ops.stereo(per_env(0.0), per_env(1.0), CAMERA)(scene)
    hidden = (seen == 0.0).nonzero()[:, 2].unique().tolist()
    assert hidden == [45, 46, 47, 48, 49]


def test_missing_fraction_equals_its_probability():
    probs = torch.tensor([0.001, 0.01, 0.3, 1.0]).repeat_interleave(10)
    holes = ops.missing_pixels(probs, CAMERA)(plane(1.0, 40), seeded()) == 0.0
    for prob in (0.001, 0.01, 0.3):
        share = holes[probs == prob].float().mean().item()
        bound = 4 * (prob * (1 - prob) / (10 * H * W)) ** 0.5
        assert share == pytest.approx(prob, abs=bound)
    assert holes[probs == 1.0].all()
    # Every column is hit alike: the jumps do not favour either end of a row.
    columns = holes[probs == 0.3].float().mean((0, 1))
    assert columns.min() > 0.2
    assert columns.max() < 0.4


def test_blobs_are_few_and_connected():
    num = 200
    stage = ops.missing_blobs(per_env(2.0, num), CAMERA)
    holes = stage(plane(1.0, num), seeded()) == 0.0
    # P(no blob) = (1 - 2/8)^8 = 0.100.
    share_without = (~holes.any(-1).any(-1)).float().mean().item()
    assert share_without == pytest.approx(0.1, abs=4 * (0.1 * 0.9 / num) ** 0.5)
    # Half axes up to 3.5 x 2.7 px: at most 2 * mean area of pi/4 * 9.4 = 7.4 px.
    assert 0.0003 < holes.float().mean() < 0.0025


def test_too_close_pixels_go_and_may_take_their_block_along():
    scene = plane(1.0)
    scene[:, 30, 50] = 0.25
    alone = ops.close_blocks(per_env(0.3), per_env(0.0), per_env(0.0), CAMERA)
    assert (alone(scene, seeded()) == 0.0).nonzero().tolist() == [[0, 30, 50]]
    # 24 raw px are 3 rows and 4 columns.
    block = ops.close_blocks(per_env(0.3), per_env(1.0), per_env(0.0), CAMERA)
    gone = block(scene, seeded()) == 0.0
    assert gone.sum() == 12
    assert gone[0, 30, 50]
    false = ops.close_blocks(per_env(0.3), per_env(0.0), per_env(1.0), CAMERA)
    changed = false(scene, seeded()) != scene
    assert changed.sum() == 12
    assert false(scene, seeded())[changed].unique().numel() == 1


def test_side_masks_have_the_given_width():
    left, right = torch.tensor([2], dtype=torch.int32), torch.tensor([3]).int()
    masked = ops.side_masks(left, right, CAMERA)(plane(1.0))
    expected = [*range(2), *range(W - 3, W)]
    assert (masked == 0.0).all(1).nonzero()[:, 1].tolist() == expected


def test_blur_is_a_mean_over_valid_pixels_only():
    stage = ops.blur(per_env(0.5), per_env(0.25), CAMERA)
    holed = plane(1.7)
    holed[:, ::3, ::2] = 0.0
    assert stage(holed).allclose(holed)  # Constant stays constant, holes stay holes.

    spike = plane(1.0)
    spike[:, 10, 20] = 2.0
    # Weights: columns 1 + 2 * 0.5, rows 1 + 2 * 0.25, together 2 * 1.5 = 3.
    blurred = stage(spike)[0]
    assert blurred[10, 20] == pytest.approx(1.0 + 1.0 / 3.0)
    assert blurred[10, 21] == pytest.approx(1.0 + 0.5 / 3.0)
    assert blurred[11, 20] == pytest.approx(1.0 + 0.25 / 3.0)
    assert blurred[9, 19] == pytest.approx(1.0 + 0.125 / 3.0)


def test_blur_weight_is_gaussian():
    # One standard deviation to the next pixel: exp(-1/2); none: 0.
    weights = blur_weight(torch.tensor([0.0, 6.0]), 6.0)
    assert weights.tolist() == pytest.approx([0.0, np.exp(-0.5)])


def test_zero_strength_is_the_identity_for_every_stage():
    zero, none = per_env(0.0), torch.zeros(1, dtype=torch.int32)
    scene = legs_and_step()
    for stage in (
        ops.value_noise(zero, zero, CAMERA),
        ops.edges(zero, zero, CAMERA),
        ops.stereo(zero, zero, CAMERA),
        ops.close_blocks(zero, zero, zero, CAMERA),
        ops.missing_pixels(zero, CAMERA),
        ops.missing_blobs(zero, CAMERA),
        ops.side_masks(none, none, CAMERA),
        ops.blur(zero, zero, CAMERA),
    ):
        assert stage(scene, seeded()).equal(scene), stage.kernel.key
