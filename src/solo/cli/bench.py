"""``solo bench``: measure speed in one run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.table import Table

from solo.cli.checks import check_at_least, pick_device
from solo.cli.tables import print_table


@dataclass(frozen=True)
class BenchSim:
    """Measure environment steps per second on rough terrain with all managers.

    Compares the native backend with stock mjlab on CPU and with a bare loop of mj_step
    on the same model, states and controls.
    """

    num_envs: int = 512
    """Number of environments."""
    threads: int | None = None
    """Threads of the native backend; all cores if omitted."""
    rounds: int = 5
    """Rounds in which native and raw alternate."""
    steps: int = 10
    """Control steps per round."""
    warp_steps: int = 5
    """Timed steps of stock mjlab after its warm-up; 0 skips it."""
    mjlab_task: bool = False
    """Also time mjlab's own unmodified rough-terrain task for the G1 (minutes)."""
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
        return {"kind": "bench sim", **result}


@dataclass(frozen=True)
class BenchDepth:
    """Measure depth images per second, and their error against MuJoCo's own rays.

    Compares the depth camera with mj_multiRay on the same ground, robots and number of
    threads, over all terrain variants.
    """

    images: int = 16
    """Images per terrain variant."""
    threads: int | None = None
    """Threads of both; all cores if omitted."""
    json: Path | None = None
    """File to write the result to."""

    def run(self) -> dict[str, Any]:
        check_at_least("images", self.images, 1)
        if self.threads is not None:
            check_at_least("threads", self.threads, 1)

        from solo.bench.depth import DepthBenchCfg, bench_depth

        result = bench_depth(DepthBenchCfg(self.images, self.threads))
        _print(result)
        return {"kind": "bench depth", **result}


@dataclass(frozen=True)
class BenchTrain:
    """Measure training end to end: steps per second, and where the time goes."""

    profile: str = "laptop"
    """paper, reduced, laptop or smoke."""
    iterations: int = 8
    """Timed iterations per stage, after two for warm-up; the student stage runs them
    again with each objective, to compare TA-MSE with MSE+PPO."""
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
        from solo.tasks.profiles import get_profile

        result = bench_train(
            TrainBenchCfg(
                get_profile(self.profile),
                self.stages,
                self.iterations,
                pick_device(self.device),
            )
        )
        table = Table("measurement", *self.stages)
        for key in dict.fromkeys(key for stage in self.stages for key in result[stage]):
            values = (result[stage].get(key) for stage in self.stages)
            table.add_row(key, *("-" if v is None else f"{v:,.4g}" for v in values))
        print_table(table)
        return {"kind": "bench train", **result}


@dataclass(frozen=True)
class BenchRecon:
    """Measure the reconstructors: training rate, and latency of one step.

    Latency is for a single robot on one core, with torch and with onnxruntime.
    """

    methods: tuple[str, ...] = ("qr", "start", "dpl")
    """Reconstructors to measure."""
    profiles: tuple[Literal["paper", "reduced", "laptop"], ...] = ("paper",)
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
            print_table(table)
        return {"kind": "bench recon", **result}


@dataclass(frozen=True)
class BenchMachine:
    """Measure whether this computer can hold 50 Hz, without a policy.

    Runs the control loop of `solo deploy` with constant work. Ticks that are late here
    are not the policy's fault.
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


@dataclass(frozen=True)
class BenchStop:
    """Measure how fast a G1's motors are damped when `solo deploy` is stopped.

    Sends every signal in every phase, with a simulated G1 on loopback. Reports the
    milliseconds from signal to damped motors, longest of all rounds. Needs Cyclone DDS.
    """

    rounds: int = 3
    """How often each signal is sent in each phase."""
    json: Path | None = None
    """File to write the result to."""

    def run(self) -> dict[str, Any]:
        check_at_least("rounds", self.rounds, 1)

        from solo.bench.stop import StopBenchCfg, bench_stop

        result = bench_stop(StopBenchCfg(self.rounds))
        _print(result, ".1f")
        return result


def _print(result: dict[str, Any], number: str = ",.4g") -> None:
    table = Table("measurement", "value")
    for key, value in result.items():
        table.add_row(
            key, f"{value:{number}}" if isinstance(value, float) else f"{value}"
        )
    print_table(table)
