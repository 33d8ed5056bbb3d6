"""``solo bench``: measure speed in one run; the options are the fields of a config."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from rich.table import Table

from solo.bench.cfg import (
    DepthBenchCfg,
    MachineBenchCfg,
    PolicyBenchCfg,
    ReconBenchCfg,
    SimBenchCfg,
    StopBenchCfg,
    TrainBenchCfg,
)
from solo.cli import Verb, print_table
from solo.cli.checks import check_exists, find_bundle, pick_device, say_loading


@dataclass(frozen=True)
class BenchSim(SimBenchCfg, Verb):
    __doc__ = SimBenchCfg.__doc__

    def run(self) -> dict[str, Any]:
        say_loading()
        from solo.bench.sim import bench_sim

        result = bench_sim(self)
        _print(result, ",.2f")
        return {"kind": "bench sim", **result}


@dataclass(frozen=True)
class BenchDepth(DepthBenchCfg, Verb):
    __doc__ = DepthBenchCfg.__doc__

    def run(self) -> dict[str, Any]:
        say_loading()
        from solo.bench.depth import bench_depth

        result = bench_depth(self)
        _print(result)
        return {"kind": "bench depth", **result}


@dataclass(frozen=True)
class BenchTrain(TrainBenchCfg, Verb):
    __doc__ = TrainBenchCfg.__doc__

    def run(self) -> dict[str, Any]:
        say_loading()
        from solo.bench.train import bench_train
        from solo.stages.processes import read_processes

        result = bench_train(replace(self, device=pick_device(self.device)))
        if read_processes().is_first:
            _print_columns("measurement", {name: result[name] for name in self.stages})
        return {"kind": "bench train", **result}


@dataclass(frozen=True)
class BenchRecon(ReconBenchCfg, Verb):
    __doc__ = ReconBenchCfg.__doc__

    def run(self) -> dict[str, Any]:
        say_loading()
        from solo.bench.recon import bench_recon

        result = bench_recon(self)
        for profile in self.profiles:
            _print_columns(profile, result[profile])
        return {"kind": "bench recon", **result}


@dataclass(frozen=True)
class BenchMachine(MachineBenchCfg, Verb):
    __doc__ = MachineBenchCfg.__doc__

    def run(self) -> dict[str, Any]:
        from solo.bench.machine import bench_machine

        result = bench_machine(self)
        _print(result)
        return result


@dataclass(frozen=True)
class BenchStop(StopBenchCfg, Verb):
    __doc__ = StopBenchCfg.__doc__

    def run(self) -> dict[str, Any]:
        from solo.bench.stop import bench_stop

        result = bench_stop(self)
        _print(result, ".1f")
        return result


@dataclass(frozen=True)
class BenchPolicy(PolicyBenchCfg, Verb):
    __doc__ = PolicyBenchCfg.__doc__

    def run(self) -> dict[str, Any]:
        check_exists("bundle", self.bundle, "Give a file that `solo export` wrote.")

        say_loading()
        from solo.bench.policy import bench_policy

        result = bench_policy(replace(self, bundle=find_bundle(self.bundle)))
        _print_columns("threads", result["threads"])
        print(f"bundle_bytes: {result['bundle_bytes']:,}")
        return {"kind": "bench policy", **result}


def _print(result: dict[str, Any], number: str = ",.4g") -> None:
    table = Table("measurement", "value")
    for key, value in result.items():
        table.add_row(
            key, f"{value:{number}}" if isinstance(value, float) else f"{value}"
        )
    print_table(table)


def _print_columns(title: str, columns: dict[str, dict[str, float]]) -> None:
    """A column for each part; a dash where it has not been measured."""
    table = Table(title, *columns)
    for key in dict.fromkeys(key for column in columns.values() for key in column):
        values = (column.get(key) for column in columns.values())
        table.add_row(key, *("-" if v is None else f"{v:,.4g}" for v in values))
    print_table(table)
