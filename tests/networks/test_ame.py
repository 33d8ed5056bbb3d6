"""The map encoder: what it computes, and what it may not depend on."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from solo.networks.ame import AmeCfg, AmeEncoder
from solo.networks.attention import OneQueryAttention, places
from solo.sensors.height_map import HeightMapCfg
from tests.networks.helpers import AME, MAP, OPTIONS

OLD_FEATURES = [-0.06814944, 0.02527943, -0.02333963, 0.03146423]
"""Of an encoder of seed 3 before it had any option."""


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def as_torch_attention(ours: OneQueryAttention) -> nn.MultiheadAttention:
    theirs = nn.MultiheadAttention(ours.dim, ours.num_heads, batch_first=True)
    inputs = (ours.query, ours.key, ours.value)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([p.weight for p in inputs]))
        # torch's key bias may be anything: it must not matter.
        biases = [ours.query.bias, torch.randn(ours.dim), ours.value.bias]
        theirs.in_proj_bias.copy_(torch.cat(biases))
    theirs.out_proj.load_state_dict(ours.output.state_dict())
    return theirs


@pytest.mark.parametrize(("dim", "heads", "cells"), [(64, 16, 512), (32, 8, 128)])
def test_folded_attention_equals_torch_attention(dim, heads, cells):
    ours = OneQueryAttention(dim, heads)
    for projection in (ours.query, ours.value, ours.output):
        nn.init.normal_(projection.bias)
    theirs = as_torch_attention(ours)
    query, tokens = torch.randn(5, dim), torch.randn(5, dim, cells, requires_grad=True)
    output, weights = ours(query, tokens)
    sequence = tokens.transpose(1, 2)
    expected, expected_weights = theirs(
        query[:, None], sequence, sequence, average_attn_weights=False
    )
    torch.testing.assert_close(output, expected[:, 0], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(weights, expected_weights[:, :, 0], atol=1e-5, rtol=0)
    (ours_grad,) = torch.autograd.grad(output.square().sum(), tokens)
    (their_grad,) = torch.autograd.grad(expected.square().sum(), tokens)
    torch.testing.assert_close(ours_grad, their_grad, atol=1e-5, rtol=1e-4)


def test_attention_starts_with_torchs_spread_of_weights():
    ours, theirs = OneQueryAttention(64, 16), nn.MultiheadAttention(64, 16)
    assert ours.key.weight.std().item() == pytest.approx(
        theirs.in_proj_weight.std().item(), rel=0.05
    )


def test_order_of_cells_does_not_matter_when_they_carry_their_coordinates():
    encoder = AmeEncoder(AmeCfg(**AME), MAP, query_dim=9)
    query = encoder.query(torch.randn(3, 9))
    tokens = encoder.tokens(torch.randn(3, *MAP.cells)).flatten(2)
    order = torch.randperm(tokens.shape[-1])
    plain, weights = encoder.attention(query, tokens)
    shuffled, shuffled_weights = encoder.attention(query, tokens[..., order])
    torch.testing.assert_close(plain, shuffled)
    torch.testing.assert_close(weights[..., order], shuffled_weights)


def test_attention_is_a_distribution_over_the_cells():
    encoder = AmeEncoder(AmeCfg(), HeightMapCfg(), query_dim=87)
    features, weights = encoder(torch.randn(4, 87), torch.randn(4, 16, 32))
    assert features.shape == (4, 64)
    assert weights.shape == (4, 16, 16, 32)
    assert (weights > 0).all()
    torch.testing.assert_close(weights.sum((-2, -1)), torch.ones(4, 16))


@pytest.mark.parametrize("options", [{}, OPTIONS])
def test_every_parameter_learns(options):
    encoder = AmeEncoder(AmeCfg(**AME, **options), MAP, query_dim=9)
    encoder(torch.randn(8, 9), torch.randn(8, *MAP.cells))[0].square().sum().backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_token_coordinates_are_those_of_the_cells():
    encoder = AmeEncoder(AmeCfg(**AME, unit_m=0.5, base_height_m=0.7), MAP, query_dim=9)
    height_map = torch.full((1, *MAP.cells), -0.7)
    height_map[0, 4, 5] += 0.15
    x, y, z = encoder.tokens(height_map)[0, -3:] * 0.5
    # Cell [4, 5]: x = -0.2 + 5.5 * 0.1 = 0.35 m, y = -0.3 + 4.5 * 0.1 = 0.15 m.
    found = [x[4, 5].item(), y[4, 5].item(), z[4, 5].item()]
    np.testing.assert_allclose(found, [0.35, 0.15, 0.15], atol=1e-6)
    assert z[0, 0] == 0.0


def test_depth_of_a_hole_beyond_the_limit_does_not_matter():
    encoder = AmeEncoder(AmeCfg(**AME), MAP, query_dim=9)
    hole = torch.full((1, *MAP.cells), -0.757)
    hole[0, 2, 3] = -3.0
    deeper = hole.clone()
    deeper[0, 2, 3] = -9.0
    torch.testing.assert_close(encoder.tokens(hole), encoder.tokens(deeper))


def test_stride_sees_the_kept_cells_alone_and_knows_where_they_are():
    strided = AmeEncoder(AmeCfg(**AME, map_stride=2), MAP, query_dim=9)
    coarse_map = HeightMapCfg(
        cells=(3, 4), cell_m=0.2, x_range_m=(-0.25, 0.55), y_range_m=(-0.35, 0.25)
    )
    coarse = AmeEncoder(AmeCfg(**AME), coarse_map, query_dim=9)
    coarse.load_state_dict(strided.state_dict())
    query, fine = torch.randn(2, 9), torch.randn(2, *MAP.cells)
    features, weights = strided(query, fine)
    assert weights.shape == (2, 3, 3, 4)
    torch.testing.assert_close(features, coarse(query, fine[:, ::2, ::2])[0])


def test_strided_tokens_see_all_cells_and_lie_symmetrically():
    encoder = AmeEncoder(AmeCfg(**AME, map_stride=2, strided=True), MAP, query_dim=9)
    flat = torch.full((1, *MAP.cells), -0.757, requires_grad=True)
    tokens = encoder.tokens(flat)[0]
    x, y, _ = tokens[-3:].detach() * 0.25
    # Cells are 0.1 m: tokens lie on the corners where four of them meet.
    np.testing.assert_allclose(x[0], [-0.1, 0.1, 0.3, 0.5], atol=1e-6)
    np.testing.assert_allclose(y[:, 0], [-0.2, 0.0, 0.2], atol=1e-6)
    (seen,) = torch.autograd.grad(tokens[-1].sum(), flat, retain_graph=True)
    np.testing.assert_allclose(seen, 1.0 / (4 * 0.25))  # Mean of four, in units.
    (seen,) = torch.autograd.grad(tokens[:-3].sum(), flat)
    assert (seen != 0.0).all()


def test_a_window_peaks_where_the_query_asks_on_even_ground():
    torch.manual_seed(1)
    cfg = AmeCfg(**AME, window_m=0.1)
    encoder = AmeEncoder(cfg, MAP, query_dim=9)
    assert encoder.windows is not None
    with torch.no_grad():
        encoder.attention.key.weight.zero_()  # Only the windows look.
        encoder.windows.centre.weight.zero_()
        encoder.windows.centre.weight[0, 0] = 1.0  # The first query is a distance,
        # from head 0's place: cell [3, 2] of y = 0.05 m and x = 0.05 m.
        encoder.windows.centre.bias.copy_(torch.tensor([0.2, 0.2] * 3))
    query = torch.zeros(2, 9)
    query[1, 0] = 0.8  # In units of 0.25 m: 0.2 m or two cells further.
    _, weights = encoder(query, torch.full((2, *MAP.cells), -0.757))
    peaks = weights[:, 0].flatten(1).argmax(dim=1).tolist()
    assert [divmod(peak, MAP.cells[1]) for peak in peaks] == [(3, 2), (3, 4)]
    # A Gaussian of 0.1 m: a neighbour at 0.1 m has exp(-1/2) of the weight.
    ratio = (weights[0, 0, 3, 3] / weights[0, 0, 3, 2]).item()
    assert ratio == pytest.approx(np.exp(-0.5), rel=1e-4)


def test_without_windows_even_ground_is_looked_at_from_its_corners():
    encoder = AmeEncoder(AmeCfg(**AME), MAP, query_dim=9)
    tokens = torch.cat(
        [torch.zeros(50, 9, *MAP.cells), torch.zeros(50, 3, *MAP.cells)], 1
    )
    tokens[:, -3:-1] = encoder.cell_xy
    _, weights = encoder.attention(torch.randn(50, 12), tokens.flatten(2))
    rows, columns = MAP.cells
    peaks = weights.flatten(0, 1).argmax(dim=1)
    assert set((peaks // columns).tolist()) == {0, rows - 1}
    assert set((peaks % columns).tolist()) == {0, columns - 1}


def test_windows_begin_symmetric_about_the_robot():
    for heads in (1, 2, 8, 12, 16):
        xy = places(heads)
        assert xy.shape == (heads, 2)
        mirrored = {(round(x, 4), round(-y, 4) + 0.0) for x, y in xy.tolist()}
        assert mirrored == {(round(x, 4), round(y, 4) + 0.0) for x, y in xy.tolist()}


def test_options_that_are_off_change_neither_parameters_nor_result():
    torch.manual_seed(3)
    encoder = AmeEncoder(AmeCfg(**AME), MAP, query_dim=9)
    shapes = {name: tuple(p.shape) for name, p in encoder.named_parameters()}
    assert set(shapes) == {
        *(f"convolution.{i}.{p}" for i in (0, 2) for p in ("weight", "bias")),
        *(f"query.{p}" for p in ("weight", "bias")),
        *(f"attention.{m}.weight" for m in ("query", "key", "value", "output")),
        *(f"attention.{m}.bias" for m in ("query", "value", "output")),
    }
    assert shapes["convolution.0.weight"] == (4, 1, 3, 3)
    features, _ = encoder(torch.ones(1, 9), torch.full((1, *MAP.cells), -0.7))
    np.testing.assert_allclose(features[0, :4].detach(), OLD_FEATURES, rtol=1e-5)


@pytest.mark.parametrize(
    "changes",
    [
        {"kernel_size": 4},
        {"num_heads": 5},
        {"dim": 3},
        {"strided": True},
        {"window_m": 0.0},
    ],
)
def test_impossible_sizes_are_refused(changes):
    with pytest.raises(ValueError, match="AmeCfg"):
        AmeCfg(**{**AME, **changes})
