"""``solo bench``: measure speed in one run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from solo.cli.checks import check_at_least


@dataclass(frozen=True)
class BenchSim:
    """Measure environment steps per second on rough terrain with all managers.

    Compares the native backend with stock mjlab on CPU and with a bare native loop of
    mj_step on the same model, states and controls.
    """

    num_envs: int = 512
    """Number of environments."""
    threads: int | None = None
    """Threads of the native backend; all cores if left out."""
    rounds: int = 5
    """Rounds in which native and raw alternate."""
    steps: int = 10
    """Control steps per round."""
    warp_steps: int = 5
    """Timed steps of stock mjlab after its warm-up; 0 leaves it out."""
    mjlab_task: bool = False
    """Also time mjlab's own rough-terrain task for the G1 as it comes (minutes)."""
    json: Path | None = None
    """File to write the result to."""

    def run(self) -> dict[str, Any]:
        for option in ("num_envs", "rounds", "steps"):
            check_at_least(option, getattr(self, option), 1)
        check_at_least("warp_steps", self.warp_steps, 0)
        if self.threads is not None:
            check_at_least("threads", self.threads, 1)

        from solo.bench.sim import SimBenchCfg, bench_sim

        result = bench_sim(
            SimBenchCfg(
                num_envs=self.num_envs,
                num_threads=self.threads,
                rounds=self.rounds,
                steps_per_round=self.steps,
                warp_steps=self.warp_steps,
                mjlab_task=self.mjlab_task,
            )
        )
        _print(result, ",.2f")
        return result


@dataclass(frozen=True)
class BenchDepth:
    """Measure depth images per second, and their error against MuJoCo's own rays.

    Compares the depth camera with mj_multiRay on the same ground, robots and number of
    threads, over all terrain variants.
    """

    images: int = 16
    """Images per terrain variant."""
    threads: int | None = None
    """Threads of both; all cores if left out."""
    json: Path | None = None
    """File to write the result to."""

    def run(self) -> dict[str, Any]:
        check_at_least("images", self.images, 1)
        if self.threads is not None:
            check_at_least("threads", self.threads, 1)

        from solo.bench.depth import DepthBenchCfg, bench_depth

        result = bench_depth(DepthBenchCfg(self.images, self.threads))
        _print(result)
        return result


@dataclass(frozen=True)
class BenchTrain:
    """Measure training end to end: steps per second, and where the time goes."""

    profile: str = "laptop"
    """paper, reduced, laptop or smoke."""
    iterations: int = 8
    """Timed iterations per stage, after two to warm up; for the cost of TA-MSE over
    MSE+PPO the student does as many of each once more."""
    stages: tuple[Literal["teacher", "student", "perceptive"], ...] = (
        "teacher",
        "student",
        "perceptive",
    )
    """Stages to measure."""
    device: str = "cpu"
    """cpu or cuda:0."""
    json: Path | None = None
    """File to write the result to."""

    def run(self) -> dict[str, Any]:
        check_at_least("iterations", self.iterations, 1)

        from solo.bench.train import TrainBenchCfg, bench_train
        from solo.stages.profiles import get_profile

        result = bench_train(
            TrainBenchCfg(
                get_profile(self.profile), self.stages, self.iterations, self.device
            )
        )
        table = Table("measurement", *self.stages)
        for key in dict.fromkeys(key for stage in self.stages for key in result[stage]):
            values = (result[stage].get(key) for stage in self.stages)
            table.add_row(key, *("-" if v is None else f"{v:,.4g}" for v in values))
        Console().print(table)
        return result


@dataclass(frozen=True)
class BenchRecon:
    """Measure the reconstructors: training rate, and latency of one step.

    Latency is that of a single robot on one core, with torch and with onnxruntime.
    """

    methods: tuple[str, ...] = ("qr", "start", "dpl")
    """Reconstructors to measure."""
    profiles: tuple[Literal["paper", "laptop"], ...] = ("paper",)
    """Sizes to measure."""
    steps: int = 200
    """Timed streaming steps."""
    json: Path | None = None
    """File to write the result to."""

    def run(self) -> dict[str, Any]:
        check_at_least("steps", self.steps, 1)

        from solo.bench.recon import ReconBenchCfg, bench_recon

        result = bench_recon(
            ReconBenchCfg(self.methods, self.profiles, streaming_steps=self.steps)
        )
        for profile in self.profiles:
            table = Table(profile, *self.methods)
            rows = result[profile]
            for key in rows[self.methods[0]]:
                table.add_row(key, *(f"{rows[m][key]:,.4g}" for m in self.methods))
            Console().print(table)
        return result


@dataclass(frozen=True)
class BenchMachine:
    """Measure whether this computer keeps 50 Hz, without any policy.

    Runs the loop of `solo deploy` with constant work: what is late here is not the
    policy's fault there.
    """

    seconds: float = 60.0
    """Length of the run."""
    work_ms: float = 3.5
    """CPU time of each tick; about that of the shipped policy."""
    json: Path | None = None
    """File to write the result to."""

    def run(self) -> dict[str, Any]:
        check_at_least("seconds", self.seconds, 0.02)
        check_at_least("work_ms", self.work_ms, 0.001)

        from solo.bench.machine import MachineBenchCfg, bench_machine

        result = bench_machine(MachineBenchCfg(self.seconds, self.work_ms))
        _print(result)
        return result


def _print(result: dict[str, Any], number: str = ",.4g") -> None:
    table = Table("measurement", "value")
    for key, value in result.items():
        table.add_row(
            key, f"{value:{number}}" if isinstance(value, float) else f"{value}"
        )
    Console().print(table)
