"""``solo bench policy``: measure a policy bundle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from rich.table import Table
from tyro.conf import Positional, arg

from solo.cli.checks import check_at_least, check_exists
from solo.cli.tables import print_table


@dataclass(frozen=True)
class BenchPolicy:
    """Measure a policy bundle for one robot, and torch on the same observations.

    A simulated D455 streams at 60 Hz while the policy runs at its own rate. The
    pipeline is image processing, observation, inference, checks and joint targets.
    """

    bundle: Annotated[Positional[Path], arg(metavar="BUNDLE")]
    """Policy bundle written by `solo export`."""
    steps: int = 1000
    """Control steps per thread count."""
    threads: tuple[int, ...] = (1, 2)
    """Thread counts to measure; the first gives the main result."""
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
        check_exists("bundle", self.bundle, "Give a file that `solo export` wrote.")

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
        print_table(table)
        return {"kind": "bench policy", **result}
