"""`solo bench train`: what several processes may measure."""

from __future__ import annotations

import pytest

from solo.bench.cfg import TrainBenchCfg
from solo.bench.train import bench_train
from solo.errors import SoloError


def test_several_processes_measure_one_stage(monkeypatch: pytest.MonkeyPatch):
    """Processes connect anew for each stage, which torchrun's store does not allow."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SoloError, match="2 processes measure one stage"):
        bench_train(TrainBenchCfg(profile="smoke"))


@pytest.mark.slow
def test_the_number_of_environments_can_be_chosen():
    cfg = TrainBenchCfg(
        profile="smoke", stages=("perceptive",), num_envs=3, iterations=1
    )
    result = bench_train(cfg)["perceptive"]
    assert result["num_envs"] == 3
    assert result["env_steps_per_s"] > 0.0
