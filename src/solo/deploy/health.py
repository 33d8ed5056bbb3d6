"""What the system says about this program: memory, and time spent waiting for a core.

Linux only; elsewhere the answers are None, and the loop runs as well.
"""

from __future__ import annotations

import os
import threading

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def memory_mb(pid: int | str = "self") -> float | None:
    """Resident memory of a process, megabytes."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * _PAGE_BYTES / 1e6
    except (OSError, ValueError, IndexError):
        return None


class QueueClock:
    """How long the thread that asks first was ready to run and had no core.

    Sleeping, waiting for a lock and waiting for the interpreter do not count: this time
    is that of other programs. It takes a few microseconds to ask.
    """

    def __init__(self) -> None:
        self._file: int | None = None
        self._is_open = False

    def __call__(self) -> float | None:
        """Seconds so far; None if the system does not tell."""
        if not self._is_open:
            self._is_open = True
            path = f"/proc/self/task/{threading.get_native_id()}/schedstat"
            try:
                self._file = os.open(path, os.O_RDONLY)
            except OSError:
                self._file = None
        if self._file is None:
            return None
        try:
            return 1e-9 * int(os.pread(self._file, 96, 0).split()[1])
        except (OSError, ValueError, IndexError):
            return None

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None:
            os.close(self._file)
        self._file, self._is_open = None, False


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
