"""One record in memory that two processes share: the newest tick, nothing older.

The loop overwrites the record at every tick and waits for nobody. A reader copies it
and takes the copy only if no tick was written meanwhile. Nothing is queued, so a slow
reader misses ticks and cannot hold up the loop.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import time
from typing import Any

import numpy as np

from solo.deploy.loop import CAUSES, JITTER_EDGES_MS
from solo.deploy.recorder import Snapshot
from solo.deploy.safety import FAULTS

RECENT = 500
"""Ticks whose duration and lateness are kept: ten seconds."""
MESSAGE_BYTES = 160
"""Longer messages are cut."""


Shape = tuple[int, int]


def _dtype(depth: Shape, height_map: Shape, attention: Shape) -> np.dtype[Any]:
    """The record; see `Slot`."""
    faults = len(FAULTS)
    tick: list[Any] = [
        ("time_s", "f8"),
        ("phase", "u1"),
        ("phase_since_s", "f8"),
        ("ages_s", "f8", (3,)),
        ("command", "f8", (3,)),
        ("wanted", "f8", (3,)),
        ("measured", "f8", (3,)),
        ("quat_wxyz", "f8", (4,)),
        ("ticks", "i8"),
        ("late", "i8"),
        ("overruns", "i8"),
        ("skipped", "i8"),
        ("max_jitter_s", "f8"),
        ("max_tick_s", "f8"),
        ("histogram", "i8", (len(JITTER_EDGES_MS),)),
        ("causes", "i8", (len(CAUSES),)),
        ("depth_sequence", "i8"),
        ("has_view", "u1"),
        ("note", f"S{MESSAGE_BYTES}"),
    ]
    fields: list[Any] = [
        ("tick", tick),
        ("recent_tick_s", "f4", (RECENT,)),
        ("recent_jitter_s", "f4", (RECENT,)),
        ("fault_active", "u1", (faults,)),
        ("fault_count", "i8", (faults,)),
        ("fault_time_s", "f8", (faults,)),
        ("fault_reaction", "u1", (faults,)),
        ("fault_message", f"S{MESSAGE_BYTES}", (faults,)),
        ("depth_mm", "u2", depth),
        ("height_map", "f4", height_map),
        ("attention", "f4", attention),
    ]
    return np.dtype(fields)


class Slot:
    """The shared record. It can be handed to a child process when that is started."""

    def __init__(self, depth: Shape, height_map: Shape, attention: Shape) -> None:
        """Reserve the memory for images and maps of these rows and columns."""
        self._dtype = _dtype(depth, height_map, attention)
        self._memory = multiprocessing.get_context("spawn").RawArray(
            ctypes.c_uint8, 8 + self._dtype.itemsize
        )
        self._open()

    def _open(self) -> None:
        whole = np.frombuffer(memoryview(self._memory), dtype=np.uint8)
        self._sequence = whole[:8].view(np.uint64)
        self._record = whole[8:].view(self._dtype)
        # Views, because a look into a record by name takes a microsecond.
        names = self._dtype.names or ()
        self._parts = {n: self._record[n][0] for n in names if n != "tick"}
        self._tick = self._record["tick"]
        self._active: set[str] = set()
        self._phase, self._phase_since_s, self._depth_sequence = -1, 0.0, -1

    def __getstate__(self) -> tuple[np.dtype[Any], Any]:
        return self._dtype, self._memory

    def __setstate__(self, state: tuple[np.dtype[Any], Any]) -> None:
        self._dtype, self._memory = state
        self._open()

    def write(self, tick: Snapshot) -> None:
        """Overwrite the record with a tick; takes some ten microseconds."""
        state, image, view, stats = tick.state, tick.image, tick.view, tick.stats
        if tick.phase != self._phase:
            self._phase, self._phase_since_s = tick.phase, tick.time_s
        turn = state.ang_vel_b[2] if state is not None else 0.0
        velocity = view.velocity if view is not None else (0.0, 0.0)
        parts = self._parts
        self._sequence[0] += 1  # Odd while it is not whole.
        self._tick[0] = (
            tick.time_s, tick.phase, self._phase_since_s, tick.ages_s, tick.command,
            tick.wish.velocity, (velocity[0], velocity[1], turn),
            state.quat_wxyz if state is not None else (1.0, 0.0, 0.0, 0.0),
            stats.num_ticks, stats.num_late, stats.num_overruns, stats.num_skipped,
            stats.max_jitter_s, stats.max_tick_s, stats.histogram,
            tuple(stats.causes.values()), image.sequence if image is not None else -1,
            view is not None, _cut(tick.note),
        )  # fmt: skip
        if stats.num_ticks > 0:  # This tick has not ended: the one before is known.
            place = (stats.num_ticks - 1) % RECENT
            parts["recent_tick_s"][place] = stats.last_tick_s
            parts["recent_jitter_s"][place] = stats.last_jitter_s
        if tick.faults or self._active:
            self._write_faults(tick)
        if image is not None and image.sequence != self._depth_sequence:
            self._depth_sequence = image.sequence
            parts["depth_mm"][:] = image.depth_mm
        if view is not None:
            parts["height_map"][:] = view.height_map
            parts["attention"][:] = view.attention
        self._sequence[0] += 1

    def read(self, timeout_s: float = 0.5) -> np.void | None:
        """A copy of the newest whole record; None before the first tick."""
        deadline = time.monotonic() + timeout_s
        while True:
            before = int(self._sequence[0])
            copy = self._record.copy()[0]
            if before == int(self._sequence[0]) and before % 2 == 0:
                return copy if before > 0 else None
            if time.monotonic() > deadline:  # The loop died in the middle: show it.
                return copy
            time.sleep(0.0002)

    def _write_faults(self, tick: Snapshot) -> None:
        parts = self._parts
        parts["fault_active"][:] = 0
        for fault in tick.faults:
            place = FAULTS.index(fault.name)
            parts["fault_active"][place] = 1
            parts["fault_count"][place] += fault.name not in self._active
            parts["fault_time_s"][place] = tick.time_s
            parts["fault_reaction"][place] = fault.reaction
            parts["fault_message"][place] = _cut(fault.message)
        self._active = {fault.name for fault in tick.faults}


def _cut(text: str) -> bytes:
    return text.encode("utf-8", "replace")[:MESSAGE_BYTES]
