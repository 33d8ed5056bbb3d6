"""``solo bench``: measure speed in one run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
        table = Table("measurement", "value")
        for key, value in result.items():
            table.add_row(
                key, f"{value:,.2f}" if isinstance(value, float) else f"{value}"
            )
        Console().print(table)
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
        table = Table("measurement", "value")
        for key, value in result.items():
            table.add_row(
                key, f"{value:,.4g}" if isinstance(value, float) else f"{value}"
            )
        Console().print(table)
        return result
