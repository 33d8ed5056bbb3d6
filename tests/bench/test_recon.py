"""The benchmark measures every method and keeps its keys."""

from __future__ import annotations

import pytest
import torch

from solo.bench.cfg import ReconBenchCfg
from solo.bench.recon import bench_recon
from solo.errors import SoloError


@pytest.mark.slow
def test_every_method_gets_positive_numbers_and_torch_its_threads_back():
    before = torch.get_num_threads()
    cfg = ReconBenchCfg(profiles=("laptop",), batch=2, rounds=1, steps=2)
    result = bench_recon(cfg)
    assert torch.get_num_threads() == before
    assert set(result["laptop"]) == {"qr", "start", "dpl"}
    for numbers in result["laptop"].values():
        assert set(numbers) == {
            "parameters",
            "train_samples_per_s",
            "train_cells_samples_per_s",
            "train_shared_samples_per_s",
            "train_ms_per_sample",
            "forward_ms_per_sample",
            "streaming_torch_ms",
            "streaming_onnx_ms",
            "streaming_onnx_p99_ms",
        }
        assert min(numbers.values()) > 0.0


def test_unknown_profiles_are_refused():
    with pytest.raises(SoloError, match="Allowed: paper, reduced, laptop"):
        ReconBenchCfg(profiles=("phone",))  # type: ignore[arg-type] - Not one of them.
