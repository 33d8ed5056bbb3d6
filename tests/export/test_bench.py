"""`solo bench policy` reports what was promised."""

from __future__ import annotations

import json

import pytest

from solo.bench.cfg import PolicyBenchCfg
from solo.bench.policy import bench_policy
from solo.cli.bench import BenchPolicy
from solo.errors import SoloError

from .helpers import bundle_path

KEYS = {
    "mean_ms", "std_ms", "p95_ms", "p99_ms", "pipeline_mean_ms", "pipeline_p95_ms",
    "torch_mean_ms", "speedup_over_torch", "bundle_bytes", "max_abs_difference",
    "cpu_median_ms", "torch_cpu_median_ms", "cpu_speedup_over_torch",
}  # fmt: skip


def test_the_result_has_its_keys():
    cfg = PolicyBenchCfg(bundle_path(), 20, threads=(1,), rounds=2)
    result = bench_policy(cfg)
    assert set(result) >= KEYS
    assert set(result["threads"]["1"]) >= KEYS - {"bundle_bytes"}
    assert json.dumps(result)
    assert result["max_abs_difference"] < 1e-4
    assert result["pipeline_mean_ms"] > result["mean_ms"] > 0.0
    assert result["bundle_bytes"] == bundle_path().stat().st_size


def test_impossible_options_are_refused():
    with pytest.raises(SoloError, match="steps is 5"):
        BenchPolicy(bundle_path(), steps=5).run()
    with pytest.raises(SoloError, match="threads is 0"):
        BenchPolicy(bundle_path(), threads=(0,)).run()
