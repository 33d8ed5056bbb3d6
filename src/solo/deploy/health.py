"""What the system says about this program: memory, and time spent waiting for a core.

Linux only; elsewhere the answers are None or NaN, and the loop runs as well.
"""

from __future__ import annotations

import os
import threading
from typing import NamedTuple

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
