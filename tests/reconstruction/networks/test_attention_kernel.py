"""The kernel for small heads gives PyTorch's attention, and its gradients."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from solo.reconstruction.networks import transformer
from solo.reconstruction.networks.attention_kernel import attend, fast_small_heads
from solo.reconstruction.networks.transformer import Attention, AttentionLayer


def outputs_and_gradients(function, *inputs: torch.Tensor) -> list[torch.Tensor]:
    inputs = tuple(x.detach().requires_grad_() for x in inputs)
    out = function(*inputs)
    step = torch.linspace(-1.0, 1.0, out.numel()).view(out.shape).to(out)
    return [out.detach(), *torch.autograd.grad(out, inputs, step)]


@pytest.mark.parametrize("spread", [1.0, 30.0])
@pytest.mark.parametrize(("num", "tokens"), [(1, 1), (33, 42), (48, 48), (129, 103)])
def test_the_kernel_is_pytorchs_attention(num: int, tokens: int, spread: float):
    torch.manual_seed(0)
    query = spread * torch.randn(2, num, 3, 8).transpose(1, 2)
    key, value = torch.randn(2, 2, tokens, 3, 8).transpose(2, 3)
    exact = (x.double() for x in (query, key, value))
    expected = outputs_and_gradients(scaled_dot_product_attention, *exact)
    found = outputs_and_gradients(attend, query, key, value)
    for ours, theirs in zip(found, expected, strict=True):
        # Scores grow with the spread, and their rounding with them.
        error = (ours - theirs).abs().max() / theirs.abs().max().clamp_min(1.0)
        assert error < 2e-6 * spread


def test_gradients_are_those_of_differences():
    """In units where rounding is small: the loss is linear in the output."""
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 1, 1, 5, 8)
    slopes = outputs_and_gradients(attend, query, key, value)[1:]
    step = torch.linspace(-1.0, 1.0, 40).view(1, 1, 5, 8)
    for i, slope in enumerate(slopes):
        direction = torch.randn(1, 1, 5, 8)
        losses = []
        for sign in (1.0, -1.0):
            inputs = [query, key, value]
            inputs[i] = inputs[i] + sign * 1e-2 * direction
            losses.append((attend(*inputs) * step).sum())
        expected = (losses[0] - losses[1]) / 2e-2
        torch.testing.assert_close(
            (slope * direction).sum(), expected, rtol=1e-2, atol=1e-3
        )


def test_scores_far_apart_leave_one_token():
    """2 ** -126 is the least weight; sums stay finite."""
    query, key = torch.full((1, 1, 1, 8), 40.0), torch.zeros(1, 1, 2, 8)
    key[0, 0, 1] = 40.0
    value = torch.tensor([3.0, 5.0]).view(1, 1, 2, 1).expand(1, 1, 2, 8)
    torch.testing.assert_close(attend(query, key, value), torch.full((1, 1, 1, 8), 5.0))


def test_the_layers_of_a_block_use_it_and_others_do_not():
    torch.manual_seed(0)
    layer = AttentionLayer(dim=16, num_heads=2, ff_dim=8)
    tokens = torch.randn(2, 5, 16)
    expected = layer(tokens)
    with fast_small_heads():
        assert transformer.attend is attend
        torch.testing.assert_close(layer(tokens), expected)
    assert transformer.attend is scaled_dot_product_attention


def test_queries_that_all_share_get_the_sum_of_their_gradients():
    torch.manual_seed(0)
    attention, queries = Attention(16, 2), torch.randn(4, 16)
    memory = torch.randn(3, 5, 16)
    expected = outputs_and_gradients(attention, queries, memory)
    with fast_small_heads():
        found = outputs_and_gradients(attention, queries, memory)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_other_heads_and_numbers_stay_with_pytorch():
    wide, double = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 3, 8).double()
    for x in (wide, double):
        expected = scaled_dot_product_attention(x, x, x)
        torch.testing.assert_close(attend(x, x, x), expected)
