"""A loop at a fixed rate with absolute deadlines, which accounts for its own lateness.

Deadlines are start + k * period, so that delays do not add up. A tick that is still
running at the next deadline makes that deadline late; deadlines that have passed
entirely are skipped and counted, never caught up in a burst.

A late tick has one of four causes, looked for from the beginning of the tick before it.
``own_code``: that one used more CPU time than a period. ``stolen``: so it did, but not
without what the host of this virtual machine took meanwhile, which Linux books as CPU
time. ``scheduler``: the loop was ready to run but had no core for at least half of the
lateness; other programs had it. ``other``: a lock, the interpreter held by another
thread of ours, a paused machine.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from solo.errors import SoloError

JITTER_EDGES_MS = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
"""Lower edges of the histogram's bins; the last bin is open."""

LATE_S = 0.001
"""A start later than this after its deadline counts as late.

Chosen because 1 ms is 5 % of the control period: below it the policy cannot notice.
"""

WARM_UP_TICKS = 250
"""Ticks at the beginning whose lateness is counted apart.

Chosen because in five seconds the robot has stood up and every part has run.
"""

CAUSES = ("own_code", "stolen", "scheduler", "other")
"""Why a tick was late."""


@dataclass
class LoopStats:
    """Deadline accounting of a run; numbers only, so it never grows."""

    num_ticks: int = 0
    """Ticks that ran."""
    num_late: int = 0
    """Ticks that started more than `LATE_S` after their deadline."""
    num_overruns: int = 0
    """Ticks that took longer than a period, whether they worked or waited."""
    num_skipped: int = 0
    """Deadlines that passed without a tick."""
    max_jitter_s: float = 0.0
    """Latest start after a deadline."""
    max_tick_s: float = 0.0
    """Longest tick."""
    sum_tick_s: float = 0.0
    """Time spent in ticks."""
    sum_cpu_s: float = 0.0
    """CPU time of the ticks: without waiting for a core or a lock."""
    max_cpu_s: float = 0.0
    """Most CPU time of a tick after the warm-up."""
    last_tick_s: float = 0.0
    """Duration of the last tick."""
    last_jitter_s: float = 0.0
    """Lateness of the last tick."""
    causes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CAUSES, 0))
    """Late ticks after the warm-up by cause."""
    histogram: np.ndarray = field(
        default_factory=lambda: np.zeros(len(JITTER_EDGES_MS), dtype=np.int64)
    )
    """Ticks per bin of lateness, see `JITTER_EDGES_MS`."""

    def add(
        self,
        lateness_s: float,
        tick_s: float,
        period_s: float,
        cpu_s: float = 0.0,
        cause: str = "other",
    ) -> None:
        """Account for a tick: how late it began, how long it and its CPU time were."""
        is_late = lateness_s > LATE_S
        if self.num_ticks >= WARM_UP_TICKS:
            self.causes[cause] += is_late
            self.max_cpu_s = max(self.max_cpu_s, cpu_s)
        self.num_ticks += 1
        self.num_late += is_late
        self.num_overruns += tick_s > period_s
        self.max_jitter_s = max(self.max_jitter_s, lateness_s)
        self.max_tick_s = max(self.max_tick_s, tick_s)
        self.sum_tick_s += tick_s
        self.sum_cpu_s += cpu_s
        self.last_tick_s, self.last_jitter_s = tick_s, lateness_s
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
            "mean_tick_cpu_ms": 1e3 * self.sum_cpu_s / max(self.num_ticks, 1),
            "max_tick_cpu_ms_after_warm_up": 1e3 * self.max_cpu_s,
            "warm_up_ticks": min(WARM_UP_TICKS, self.num_ticks),
            "late_ticks_after_warm_up": sum(self.causes.values()),
            "late_causes_after_warm_up": dict(self.causes),
            "jitter_edges_ms": list(JITTER_EDGES_MS),
            "jitter_histogram": self.histogram.tolist(),
        }


def ask_for_priority(level: int = 20) -> None:
    """Run the calling thread before all ordinary work of the machine."""
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
        cpu_clock: Callable[[], float] = time.thread_time,
        lost_clock: Callable[[], LostTime] | None = None,
    ) -> None:
        """Prepare a loop; tests give it other clocks than the computer's."""
        self.period_s = period_s
        self.stats = LoopStats()
        self._clock, self._sleep, self._cpu_clock = clock, sleep, cpu_clock
        self._lost_clock = lost_clock

    def run(
        self, tick: Callable[[float], bool], max_ticks: int | None = None
    ) -> LoopStats:
        """Call ``tick(now)`` at every deadline until it returns false."""
        with closing(LostTimeClock()) as own_clock:
            return self._run(tick, max_ticks, self._lost_clock or own_clock)

    def _run(
        self,
        tick: Callable[[float], bool],
        max_ticks: int | None,
        lost_clock: Callable[[], LostTime],
    ) -> LoopStats:
        start, deadline_index, cpu_s = self._clock(), 0, 0.0
        lost = lost_clock()
        while max_ticks is None or self.stats.num_ticks < max_ticks:
            deadline = start + deadline_index * self.period_s
            now = self._clock()
            if now < deadline:
                self._sleep(deadline - now)
                now = self._clock()
            lateness_s, before = max(now - deadline, 0.0), lost
            lost = lost_clock()
            cause = self._cause(lateness_s, cpu_s, before, lost)
            cpu_begin = self._cpu_clock()
            go_on = tick(now)
            cpu_s = self._cpu_clock() - cpu_begin
            end = self._clock()
            self.stats.add(lateness_s, end - now, self.period_s, cpu_s, cause)
            if not go_on:
                break
            # The newest deadline that has passed may still run, late; older ones not.
            passed = int((end - start) / self.period_s)
            skipped = max(passed - deadline_index - 1, 0)
            self.stats.num_skipped += skipped
            deadline_index += 1 + skipped
        return self.stats

    def _cause(
        self, lateness_s: float, cpu_s: float, before: LostTime, lost: LostTime
    ) -> str:
        """Why a tick is late, from the CPU time of the one before and the lost time."""
        if cpu_s > self.period_s:
            own_s = cpu_s - (lost.stolen_s - before.stolen_s)
            return "stolen" if own_s <= self.period_s else "own_code"
        if lost.queued_s - before.queued_s >= 0.5 * lateness_s:
            return "scheduler"
        return "other"


_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_TICKS_PER_S = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def memory_mb(pid: int | str = "self") -> float | None:
    """Resident memory of a process, megabytes."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * _PAGE_BYTES / 1e6
    except (OSError, ValueError, IndexError):
        return None


class LostTime(NamedTuple):
    """Seconds so far in which a thread could not run though it wanted to; NaN: unknown.

    Sleeping, waiting for a lock and waiting for the interpreter are not in them.
    """

    queued_s: float
    """Ready, and other programs had the cores."""
    stolen_s: float
    """The host of a virtual machine ran something else, on all cores together and in
    steps of 10 ms. Linux adds it to the CPU time of whoever runs."""


class LostTimeClock:
    """Reads the lost time of the thread that made it, in about 20 microseconds."""

    def __init__(self) -> None:
        schedstat = f"/proc/self/task/{threading.get_native_id()}/schedstat"
        self._files = _open(schedstat), _open("/proc/stat")

    def __call__(self) -> LostTime:
        """The lost time so far."""
        queue, machine = self._files
        return LostTime(1e-9 * _number(queue, 1), _number(machine, 8) / _TICKS_PER_S)

    def close(self) -> None:
        """Let the files go."""
        for file in self._files:
            if file is not None:
                os.close(file)


def _open(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY)
    except OSError:
        return None


def _number(file: int | None, column: int) -> float:
    """A column of the first line; NaN if it cannot be read."""
    if file is None:
        return float("nan")
    try:
        return float(os.pread(file, 256, 0).split()[column])
    except (OSError, ValueError, IndexError):
        return float("nan")


class MemoryLog:
    """Memory over a run: a sample every few seconds, so that growth shows."""

    def __init__(self, period_s: float = 10.0) -> None:
        self.samples_mb: list[float] = []
        """One per period."""
        self._period_s, self._due_s = period_s, -float("inf")

    def sample(self, now: float) -> None:
        """Take a sample if it is due; cheap enough for the control loop."""
        if now < self._due_s:
            return
        self._due_s = now + self._period_s
        self._append()

    def summary(self) -> dict[str, float]:
        """Megabytes at start, middle and end of the run, and the most of all."""
        self._append()
        if not self.samples_mb:
            return {}
        last = len(self.samples_mb) - 1
        return {
            "start": self.samples_mb[0],
            "middle": self.samples_mb[(last + 1) // 2],
            "end": self.samples_mb[last],
            "max": max(self.samples_mb),
        }

    def _append(self) -> None:
        if (found := memory_mb()) is not None:
            self.samples_mb.append(found)
