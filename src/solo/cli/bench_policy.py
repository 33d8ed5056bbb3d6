"""``solo bench policy``: measure a policy bundle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from rich.console import Console
from rich.table import Table
from tyro.conf import Positional, arg

from solo.cli.checks import check_at_least


@dataclass(frozen=True)
class BenchPolicy:
    """Measure a policy bundle on one robot, and torch on the same observations.

    A simulated D455 streams at 60 Hz while the policy runs at its rate. The pipeline is
    image processing, observation, inference, checks and targets.
    """

    bundle: Annotated[Positional[Path], arg(metavar="BUNDLE")]
    """Policy bundle that `solo export` wrote."""
    steps: int = 1000
    """Control steps for each number of threads."""
    threads: tuple[int, ...] = (1, 2)
    """Numbers of threads; the first one gives the main result."""
    provider: Literal["cpu", "cuda", "tensorrt"] = "cpu"
    """Where the bundle runs; torch runs on the CPU."""
    json: Path | None = None
    """File to write the result to."""

    def run(self) -> dict[str, Any]:
        """Measure.

        Raises:
            SoloError: The bundle or the provider cannot be used.
        """
        check_at_least("steps", self.steps, 20)
        check_at_least("threads", min(self.threads, default=0), 1)

        from solo.bench.policy import PolicyBenchCfg, bench_policy

        result = bench_policy(
            PolicyBenchCfg(
                self.bundle,
                self.steps,
                torch_steps=max(self.steps // 5, 20),
                threads=self.threads,
                provider=self.provider,
            )
        )
        runs = result["threads"]
        table = Table("threads", *runs)
        for key in next(iter(runs.values())):
            table.add_row(key, *(f"{row[key]:,.3g}" for row in runs.values()))
        table.add_row("bundle_bytes", f"{result['bundle_bytes']:,}")
        Console().print(table)
        return result
