"""Freed memory is used again; linear layers by oneDNN are those of PyTorch."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest
import torch
from torch import nn

from solo import cpu

COUNT = """
import resource, sys
import numpy as np
from solo.cpu import keep_freed_memory
if "keep" in sys.argv:
    assert keep_freed_memory()
def faults(times):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        [np.ones(2 * 2**20) for _ in range(5)]  # 80 MiB, 20 480 pages.
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults(2)
print(faults(3))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc's allocator")
def test_the_same_pages_serve_again():
    counts = [
        int(subprocess.check_output([sys.executable, "-c", COUNT, *option]))
        for option in ([], ["keep"])
    ]
    # Pages may be huge ones, of which one fault brings 512.
    assert counts[0] > 3 * 20_480 / 512
    assert counts[1] < 0.1 * counts[0]


@pytest.fixture
def onednn(monkeypatch: pytest.MonkeyPatch):
    """Blocks in which linear layers are oneDNN's, whatever the processor."""
    monkeypatch.setattr(cpu, "_has_avx512_of_amd", lambda: True)
    return cpu.onednn_linear


def gradients(layer: nn.Linear, x: torch.Tensor) -> list[torch.Tensor]:
    """Outputs, their gradients, and those of a gradient penalty (twice differentiated),
    as the motion discriminator has it."""
    x = x.clone().requires_grad_()
    out = torch.tanh(layer(x))
    inputs = [x, layer.weight, layer.bias]
    first = torch.autograd.grad(out.square().sum(), inputs, create_graph=True)
    penalty = first[0].square().sum()
    second = torch.autograd.grad(penalty, inputs)
    return [out, *first, *second]


@pytest.mark.parametrize("shape", [(5, 7), (3, 4, 7), (1, 7)])
def test_linear_layers_are_the_same_with_onednn(onednn, shape):
    torch.manual_seed(0)
    layer, x = nn.Linear(7, 6), torch.randn(shape)
    expected = gradients(layer, x)
    with onednn():
        assert nn.Linear.forward is cpu._forward
        found = gradients(layer, x)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_other_numbers_and_vectors_stay_with_pytorch(onednn):
    layer = nn.Linear(7, 6).double()
    x = torch.randn(7, dtype=torch.float64)
    with onednn():
        torch.testing.assert_close(layer(x), layer.weight @ x + layer.bias)
        assert layer(torch.randn(2, 7, dtype=torch.float64)).dtype is torch.float64


def test_activations_in_place_are_learned_through(onednn):
    """A ReLU in place on a batch of tokens, as in the Transformer's layers."""
    layer = nn.Linear(7, 6)
    x = torch.randn(3, 4, 7)
    with onednn():
        torch.relu_(layer(x)).sum().backward()
    assert layer.weight.grad is not None
    expected = ((layer(x) > 0).float().flatten(0, 1).T @ x.flatten(0, 1)).detach()
    torch.testing.assert_close(layer.weight.grad, expected)


def test_after_the_block_layers_are_pytorchs_again(onednn):
    """A trained network is traced for its export in the same process."""
    before = nn.Linear.forward
    with pytest.raises(KeyError), onednn():
        raise KeyError
    assert nn.Linear.forward is before
    torch.jit.trace(nn.Linear(7, 6), torch.randn(2, 7))


def test_it_is_left_to_mkl_on_other_processors(monkeypatch):
    monkeypatch.setattr(cpu, "_has_avx512_of_amd", lambda: False)
    before = nn.Linear.forward
    with cpu.onednn_linear():
        assert nn.Linear.forward is before
