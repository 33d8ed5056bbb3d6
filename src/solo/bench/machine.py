"""Whether a computer can keep 50 Hz: the control loop with constant work and no policy.

Every tick does the same arithmetic on one thread. Whatever makes a tick longer, or
late, is not the work: it is other programs, the host of a virtual machine, or a
neighbour on the same core or memory. The numbers are those of `solo deploy`, causes of
late ticks included, so that a run of it can be held against this one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from solo.bench.cfg import MachineBenchCfg
from solo.deploy.contract import CONTROL_HZ
from solo.deploy.loop import FixedRateLoop


def bench_machine(
    cfg: MachineBenchCfg, make_loop: Callable[[float], FixedRateLoop] = FixedRateLoop
) -> dict[str, Any]:
    """Run the loop and return what it says about the machine, in milliseconds."""
    work = ConstantWork(cfg.work_ms)
    spent: list[float] = []

    def tick(now: float) -> bool:
        spent.append(work())
        return True

    stats = make_loop(1.0 / CONTROL_HZ).run(
        tick, max_ticks=round(cfg.seconds * CONTROL_HZ)
    )
    cpu_ms = 1e3 * np.array(spent)
    return {
        "work_rounds": work.rounds,
        "median_cpu_ms": float(np.median(cpu_ms)),
        "p99_cpu_ms": float(np.percentile(cpu_ms, 99)),
        "max_cpu_ms": float(cpu_ms.max()),
        **stats.summary(),
    }


class ConstantWork:
    """The same arithmetic each time it is called, on numbers that stay in the cache."""

    def __init__(self, work_ms: float) -> None:
        """Find out how many rounds take ``work_ms`` here."""
        self._numbers = np.linspace(0.0, 1.0, 4096)
        self._result = np.empty_like(self._numbers)
        self.rounds = 64
        seconds = min(self() for _ in range(20))
        self.rounds = max(1, round(self.rounds * 1e-3 * work_ms / seconds))

    def __call__(self) -> float:
        """Work, and return the CPU time it took, seconds."""
        start = time.thread_time()
        for _ in range(self.rounds):
            np.sin(self._numbers, out=self._result)
        return time.thread_time() - start
