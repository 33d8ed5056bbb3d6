"""Attention with heads of 8 features on a CPU, forward and backward.

PyTorch's kernel multiplies small matrices one by one, and heads of 8 features are too
small for that. Here 48 queries (backward: 48 tokens) are the lanes of vectors, so that
each step is the same work for all of them, and no scores reach the memory: a third of
the time at the laptop's size, 42 tokens and 33 to 129 queries.

    scores[n, lane] = key[n] . query[lane]      in units of log2
    weights = 2 ** (scores - largest), divided by their sum at the end

Results are PyTorch's within rounding. One thread, whatever PyTorch's number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numba import njit
from torch.nn.functional import scaled_dot_product_attention

from solo.reconstruction.networks import transformer

HEAD = 8
"""Features per head; known when the kernel is compiled."""
LANES = 48
"""Fixed, and too many to be unrolled one by one; 32 and 64 are slower."""

_LOG2_E = np.float32(math.log2(math.e))
_LN_2 = np.float32(math.log(2.0))
_LOWEST = np.float32(-126.0)
_HALF = np.float32(0.5)
_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
# Taylor's series of 2 ** x; 5e-9 off at 0.5.
_C2, _C3, _C4, _C5, _C6, _C7 = (
    np.float32(math.log(2.0) ** k / math.factorial(k)) for k in range(2, 8)
)


@contextmanager
def fast_small_heads() -> Iterator[None]:
    """Let attention of reconstructors use this kernel inside the block.

    Not for good: what is exported must be PyTorch's own.
    """
    before = transformer.attend
    transformer.attend = attend
    try:
        yield
    finally:
        transformer.attend = before


def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Attention of queries [B, heads, Q, d] over tokens [B, heads, N, d].

    What the kernel cannot take is left to PyTorch.
    """
    sizes = (query.dim(), query.shape[-1])
    kind = (query.dtype, query.device.type)
    if sizes != (4, HEAD) or kind != (torch.float32, "cpu"):
        return scaled_dot_product_attention(query, key, value)
    found = _Attention.apply(query, key, value)
    assert isinstance(found, torch.Tensor)
    return found


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value):
        batch, heads, num, _ = query.shape
        # In the order of what follows: the heads of a query side by side.
        out = query.new_empty(batch, num, heads, HEAD).transpose(1, 2)
        log_sum = query.new_empty(batch, heads, num)
        tensors = (query, key, value, out, log_sum)
        _forward(LANES, *(_array(t) for t in tensors))
        ctx.save_for_backward(*tensors)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        query, key, value, out, log_sum = ctx.saved_tensors
        by_query, by_key, by_value = (
            t.new_empty(t.shape[0], t.shape[2], t.shape[1], HEAD).transpose(1, 2)
            for t in (query, key, value)
        )
        tensors = (query, key, value, out, log_sum, gradient)
        gradients = (by_query, by_key, by_value)
        _backward(LANES, *(_array(t) for t in (*tensors, *gradients)))
        return gradients


def _array(tensor: torch.Tensor) -> Any:
    """The same memory."""
    return tensor.detach().numpy()


@njit(cache=True, fastmath={"contract"}, error_model="numpy")
def _load(rows, first, factor, lanes):
    """Rows [R, 8] from ``first`` on as lanes [8, LANES], zeros behind the last."""
    count = min(LANES, rows.shape[0] - first)
    lanes[:] = _ZERO
    for i in range(count):
        for d in range(HEAD):
            lanes[d, i] = rows[first + i, d] * factor
    return count


@njit(cache=True, fastmath={"contract"}, error_model="numpy")
def _products(rows, lanes, start, out):
    """out[r, i] = rows[r] . lanes[:, i] + start[r]."""
    for r in range(rows.shape[0]):
        r0, r1, r2, r3 = rows[r, 0], rows[r, 1], rows[r, 2], rows[r, 3]
        r4, r5, r6, r7 = rows[r, 4], rows[r, 5], rows[r, 6], rows[r, 7]
        begin = start[r]
        for i in range(LANES):
            low = r0 * lanes[0, i] + r1 * lanes[1, i]
            low += r2 * lanes[2, i] + r3 * lanes[3, i]
            high = r4 * lanes[4, i] + r5 * lanes[5, i]
            high += r6 * lanes[6, i] + r7 * lanes[7, i]
            out[r, i] = low + high + begin


@njit(cache=True, fastmath={"contract"}, error_model="numpy")
def _weighted(weights, rows, out):
    """out[c, i] = sum over r of weights[r, i] * rows[r, c]; r in fours."""
    out[:] = _ZERO
    for r in range(0, rows.shape[0], 4):
        for c in range(rows.shape[1]):
            r0, r1, r2, r3 = rows[r, c], rows[r + 1, c], rows[r + 2, c], rows[r + 3, c]
            for i in range(LANES):
                low = r0 * weights[r, i] + r1 * weights[r + 1, i]
                high = r2 * weights[r + 2, i] + r3 * weights[r + 3, i]
                out[c, i] += low + high


@njit(cache=True, fastmath={"contract"}, error_model="numpy")
def _to_powers_of_two(x, shift, bits, twos):
    """x = 2 ** (x - shift[i]), which is to be 1 at most. bits and twos: one memory."""
    for r in range(x.shape[0]):
        for i in range(LANES):
            t = max(x[r, i] - shift[i], _LOWEST)
            whole = np.int32(t - _HALF)
            f = t - np.float32(whole)
            bits[r, i] = (whole + np.int32(127)) << np.int32(23)
            x[r, i] = _ONE + f * (
                _LN_2
                + f * (_C2 + f * (_C3 + f * (_C4 + f * (_C5 + f * (_C6 + f * _C7)))))
            )
    _multiply(x, twos)


@njit(cache=True, error_model="numpy")
def _multiply(x, factor):
    """x *= factor."""
    flat, factors = x.ravel(), factor.ravel()
    for j in range(flat.size):
        flat[j] *= factors[j]


@njit(cache=True, error_model="numpy")
def _largest(x, top):
    """top[i] = the largest x[r, i]."""
    top[:] = x[0]
    for r in range(1, x.shape[0]):
        for i in range(x.shape[1]):
            top[i] = max(top[i], x[r, i])


@njit(cache=True, fastmath=True, error_model="numpy")
def _add_sums(weights, lanes, out):
    """out[r, d] += sum over i of weights[r, i] * lanes[d, i]."""
    for r in range(out.shape[0]):
        for d in range(HEAD):
            total = _ZERO
            for i in range(weights.shape[1]):
                total += weights[r, i] * lanes[d, i]
            out[r, d] += total


@njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")
def _forward(lanes, query, key, value, out, log_sum):
    """The lanes are queries; ``lanes`` is LANES, unknown when this is compiled."""
    batch, heads, num, _ = query.shape
    tokens = key.shape[2]
    rows = (tokens + 3) // 4 * 4
    scale = _LOG2_E / np.float32(math.sqrt(HEAD))
    keys = np.zeros((tokens, HEAD), np.float32)
    values = np.zeros((rows, HEAD + 1), np.float32)  # A column of ones: the sum.
    values[:tokens, HEAD] = _ONE
    start = np.zeros(tokens, np.float32)
    weights = np.zeros((rows, lanes), np.float32)
    bits = np.zeros((tokens, lanes), np.int32)
    twos = bits.view(np.float32)
    asked = np.zeros((HEAD, lanes), np.float32)
    found = np.zeros((HEAD + 1, lanes), np.float32)
    top = np.zeros(lanes, np.float32)
    for b in range(batch):
        for h in range(heads):
            for n in range(tokens):
                for d in range(HEAD):
                    keys[n, d] = key[b, h, n, d]
                    values[n, d] = value[b, h, n, d]
            for first in range(0, num, LANES):
                count = _load(query[b, h], first, scale, asked)
                _products(keys, asked, start, weights)
                _largest(weights[:tokens], top)
                _to_powers_of_two(weights[:tokens], top, bits, twos)
                _weighted(weights, values, found)
                for i in range(count):
                    log_sum[b, h, first + i] = top[i] + np.log2(found[HEAD, i])
                    share = _ONE / found[HEAD, i]
                    for d in range(HEAD):
                        out[b, h, first + i, d] = found[d, i] * share


@njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")
def _backward(
    lanes, query, key, value, out, log_sum, gradient, by_query, by_key, by_value
):
    """The lanes are tokens; ``lanes`` as in `_forward`."""
    batch, heads, num, _ = query.shape
    tokens = key.shape[2]
    rows = (num + 3) // 4 * 4
    root = _ONE / np.float32(math.sqrt(HEAD))
    scale = _LOG2_E * root
    queries = np.zeros((rows, HEAD), np.float32)
    steps = np.zeros((rows, HEAD), np.float32)
    level, mean = np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    shift = np.zeros(lanes, np.float32)
    weights = np.zeros((rows, lanes), np.float32)
    slopes = np.zeros((rows, lanes), np.float32)
    bits = np.zeros((rows, lanes), np.int32)
    twos = bits.view(np.float32)
    keys = np.zeros((HEAD, lanes), np.float32)
    values = np.zeros((HEAD, lanes), np.float32)
    found = np.zeros((HEAD, lanes), np.float32)
    query_sums = np.zeros((num, HEAD), np.float32)
    for b in range(batch):
        for h in range(heads):
            query_sums[:] = _ZERO
            for i in range(num):
                level[i] = -log_sum[b, h, i]
                total = _ZERO
                for d in range(HEAD):
                    queries[i, d] = query[b, h, i, d] * scale
                    steps[i, d] = gradient[b, h, i, d]
                    total += steps[i, d] * out[b, h, i, d]
                mean[i] = -total
            for first in range(0, tokens, LANES):
                count = _load(key[b, h], first, _ONE, keys)
                _load(value[b, h], first, _ONE, values)
                _products(queries, keys, level, weights)
                _to_powers_of_two(weights, shift, bits, twos)
                _products(steps, values, mean, slopes)
                _multiply(slopes, weights)
                _add_sums(slopes, keys, query_sums)
                _weighted(slopes, queries, found)
                for i in range(count):
                    for d in range(HEAD):
                        by_key[b, h, first + i, d] = found[d, i] * _LN_2
                _weighted(weights, steps, found)
                for i in range(count):
                    for d in range(HEAD):
                        by_value[b, h, first + i, d] = found[d, i]
            for i in range(num):
                for d in range(HEAD):
                    by_query[b, h, i, d] = query_sums[i, d] * root
