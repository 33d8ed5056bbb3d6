"""A loop at a fixed rate with absolute deadlines, which accounts for its own lateness.

Deadlines are start + k * period, so that delays do not add up. A tick that is still
running at the next deadline makes that deadline late; deadlines that have passed
entirely are skipped and counted, never caught up in a burst.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from solo.errors import SoloError

JITTER_EDGES_MS = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
"""Lower edges of the histogram's bins; the last bin is open."""

LATE_S = 0.001
"""A start later than this after its deadline counts as late.

Chosen because 1 ms is 5 % of the control period: below it the policy cannot notice.
"""


@dataclass
class LoopStats:
    """Deadline accounting of a run; numbers only, so it never grows."""

    num_ticks: int = 0
    """Ticks that ran."""
    num_late: int = 0
    """Ticks that started more than `LATE_S` after their deadline."""
    num_overruns: int = 0
    """Ticks that took longer than a period: lateness caused by our own code."""
    num_skipped: int = 0
    """Deadlines that passed without a tick."""
    max_jitter_s: float = 0.0
    """Latest start after a deadline."""
    max_tick_s: float = 0.0
    """Longest tick."""
    sum_tick_s: float = 0.0
    """Time spent in ticks."""
    histogram: np.ndarray = field(
        default_factory=lambda: np.zeros(len(JITTER_EDGES_MS), dtype=np.int64)
    )
    """Ticks per bin of lateness, see `JITTER_EDGES_MS`."""

    def add(self, lateness_s: float, tick_s: float, period_s: float) -> None:
        """Account for one tick."""
        self.num_ticks += 1
        self.num_late += lateness_s > LATE_S
        self.num_overruns += tick_s > period_s
        self.max_jitter_s = max(self.max_jitter_s, lateness_s)
        self.max_tick_s = max(self.max_tick_s, tick_s)
        self.sum_tick_s += tick_s
        index = np.searchsorted(JITTER_EDGES_MS, 1e3 * lateness_s, side="right") - 1
        self.histogram[max(int(index), 0)] += 1

    def summary(self) -> dict[str, Any]:
        """The numbers for people and for JSON, in milliseconds."""
        return {
            "ticks": self.num_ticks,
            "late_ticks": self.num_late,
            "overruns": self.num_overruns,
            "skipped": self.num_skipped,
            "max_jitter_ms": 1e3 * self.max_jitter_s,
            "mean_tick_ms": 1e3 * self.sum_tick_s / max(self.num_ticks, 1),
            "max_tick_ms": 1e3 * self.max_tick_s,
            "jitter_edges_ms": list(JITTER_EDGES_MS),
            "jitter_histogram": self.histogram.tolist(),
        }


def ask_for_priority(level: int = 20) -> None:
    """Run the calling thread before all ordinary work of the machine.

    Raises:
        SoloError: The system does not allow it.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(level))
    except (AttributeError, OSError) as error:
        raise SoloError(
            f"Cannot get real-time priority: {error}. Allow it (ulimit -r, or rtprio "
            "in /etc/security/limits.conf), or run without --realtime."
        ) from error


class FixedRateLoop:
    """Calls a function at a fixed rate."""

    def __init__(
        self,
        period_s: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.period_s = period_s
        self.stats = LoopStats()
        self._clock, self._sleep = clock, sleep

    def run(
        self, tick: Callable[[float], bool], max_ticks: int | None = None
    ) -> LoopStats:
        """Call ``tick(now)`` at every deadline until it returns false.

        Args:
            tick: One step; gets the time at which it starts.
            max_ticks: End after so many ticks.
        """
        start, deadline_index = self._clock(), 0
        while max_ticks is None or self.stats.num_ticks < max_ticks:
            deadline = start + deadline_index * self.period_s
            now = self._clock()
            if now < deadline:
                self._sleep(deadline - now)
                now = self._clock()
            go_on = tick(now)
            end = self._clock()
            self.stats.add(max(now - deadline, 0.0), end - now, self.period_s)
            if not go_on:
                break
            # The newest deadline that has passed may still run, late; older ones not.
            passed = int((end - start) / self.period_s)
            skipped = max(passed - deadline_index - 1, 0)
            self.stats.num_skipped += skipped
            deadline_index += 1 + skipped
        return self.stats
