"""What makes learning faster on a CPU, without a change of what is learned.

Freed memory. glibc returns free memory to the system when there is more of it than
twice the largest array. A training makes and frees the same arrays thousands of times,
and each time the system clears every page before it lends it again: a tenth of a
teacher's CPU time on 2 cores (`solo bench train --stages teacher`: 107 s, and 95 s with
these settings, which glibc also takes from environment variables).

Linear layers. PyTorch leaves them to MKL, which does not use AVX-512 on AMD's
processors; oneDNN, which PyTorch brings for convolutions, does: 250 instead of 108
GFLOP/s on one core of an EPYC with AVX-512 (4096 x 256 by 256 x 256). Three iterations
each, with and without in turn, on one idle core, timed by hand: 11.9 instead of 13.2 s
for a teacher, 24.6 instead of 26.6 s for stage 3. With two threads no gain was seen.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
"""Parameters of glibc's mallopt."""

_LARGEST_KEPT = 32 * 2**20
"""Bytes; glibc takes no more for arrays that come from the heap."""

_LARGEST_HEAP = 2**31 - 1
"""Bytes of free memory at the end of the heap from which on some is returned."""


def keep_freed_memory() -> bool:
    """Let arrays of up to 32 MiB come from memory that was used before.

    Returns:
        Whether the system's allocator was told; on others than glibc's nothing changes.
    """
    if sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # Another C library.
        return False
    settings = (
        (_MMAP_THRESHOLD, _LARGEST_KEPT),
        (_TRIM_THRESHOLD, _LARGEST_HEAP),
        (_TOP_PAD, 2 * _LARGEST_KEPT),
    )
    return all([mallopt(name, value) == 1 for name, value in settings])


@contextmanager
def onednn_linear() -> Iterator[None]:
    """Let oneDNN compute linear layers inside the block, where MKL is slow.

    Decided by the kind of processor and not by a measurement, so that a run repeats to
    the bit on the same kind. Not for good: what is exported must be PyTorch's own.
    """
    if not (_has_avx512_of_amd() and hasattr(torch.ops.mkldnn, "_linear_pointwise")):
        yield
        return
    before = nn.Linear.forward
    nn.Linear.forward = _forward  # type: ignore[method-assign] - For rsl_rl's, too.
    try:
        yield
    finally:
        nn.Linear.forward = before  # type: ignore[method-assign] - As above.


def _has_avx512_of_amd() -> bool:
    try:
        words = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:  # Not Linux.
        return False
    return {"AuthenticAMD", "avx512f"} <= words


class OneDnnLinear(torch.autograd.Function):
    """``x @ weight.T + bias`` for matrices x [N, K]; may be differentiated twice."""

    @staticmethod
    def forward(
        x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None
    ) -> torch.Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        x, weight, _ = inputs
        ctx.save_for_backward(x, weight)

    @staticmethod
    def backward(ctx, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (gradient,) = gradients
        x, weight = ctx.saved_tensors
        by_x = by_weight = by_bias = None
        if ctx.needs_input_grad[0]:
            by_x = OneDnnLinear.apply(gradient, weight.t(), None)
        if ctx.needs_input_grad[1]:
            by_weight = OneDnnLinear.apply(gradient.t(), x.t(), None)
        if ctx.needs_input_grad[2]:
            by_bias = gradient.sum(dim=0)
        return by_x, by_weight, by_bias


def _forward(self: nn.Linear, x: torch.Tensor) -> torch.Tensor:
    """`torch.nn.Linear.forward` by oneDNN, for batches of 32-bit numbers on a CPU."""
    if x.dim() < 2 or x.dtype is not torch.float32 or x.device.type != "cpu":
        return nn.functional.linear(x, self.weight, self.bias)
    rows = x.flatten(0, -2)
    out = OneDnnLinear.apply(rows, self.weight, self.bias)
    # As torch.matmul has it: a ReLU in place on a view would copy its gradient twice.
    return torch.ops.aten._unsafe_view(out, (*x.shape[:-1], len(self.weight)))
