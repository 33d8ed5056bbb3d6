"""What an operator reads during a run: changes of phase, faults, and refused requests.

A thread prints the lines, so a terminal that does not take them never holds up the
loop.
"""

from __future__ import annotations

import queue
import threading
from contextlib import suppress

import numpy as np

from solo.deploy.phase import Phase
from solo.deploy.recorder import Snapshot

REPEAT_S = 1.0
"""A fault that comes and goes is printed no more often than this."""


class Announcer:
    """Follows the ticks of a run and prints what changes."""

    def __init__(self) -> None:
        self._phase: Phase | None = None
        self._note = ""
        self._begin_s = np.nan
        self._printed_s: dict[str, float] = {}
        self._active: set[str] = set()
        self._open: set[str] = set()
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="announcer", daemon=True)
        self._thread.start()

    def see(self, tick: Snapshot) -> None:
        """Compare a tick with the one before; quick, for the loop's thread."""
        if self._phase is None:
            self._begin_s = tick.time_s
        now = tick.time_s - self._begin_s
        for fault in tick.faults:
            last_s = self._printed_s.get(fault.name, -np.inf)
            if fault.name not in self._active and now - last_s >= REPEAT_S:
                reaction = fault.reaction.name.lower()
                self._say(now, f"fault {fault.name}: {fault.message}; {reaction}")
                self._printed_s[fault.name] = now
                self._open.add(fault.name)
        self._active = {fault.name for fault in tick.faults}
        for name in sorted(self._open - self._active):
            self._say(now, f"fault {name} is over")
        self._open &= self._active
        if tick.phase != self._phase:
            self._say(now, tick.phase.name.lower().replace("_", " "))
        if tick.note and not self._note:
            self._say(now, f"request refused: {tick.note}")
        self._phase, self._note = tick.phase, tick.note

    def close(self) -> None:
        """Print what is left, unless the terminal does not take it."""
        self._lines.put(None)
        self._thread.join(timeout=1.0)

    def _say(self, now: float, text: str) -> None:
        self._lines.put(f"{now:8.2f} s  {text}")

    def _run(self) -> None:
        with suppress(OSError, ValueError):  # Nobody reads any more.
            while (line := self._lines.get()) is not None:
                print(line, flush=True)
