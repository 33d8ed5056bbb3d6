"""One record in memory that two processes share: the newest tick, nothing older.

The loop overwrites the record at every tick and waits for nobody. A reader copies it
and takes the copy only if its checksum fits, so if no tick was written meanwhile.
Nothing is queued: a slow reader misses ticks and cannot hold up the loop.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import pickle
import struct
import time
import zlib
from typing import Any

ROOM = 1 << 20
"""Bytes for a record; that of a G1 has some 25 000."""

_HEADER = struct.Struct("=QQ")
"""Length and checksum of the record; zeros before the first."""


class Slot:
    """The shared record. It can be handed to a child process when that is started."""

    def __init__(self) -> None:
        self._memory = multiprocessing.get_context("spawn").RawArray(
            ctypes.c_uint8, _HEADER.size + ROOM
        )
        self._last: Any = None

    def write(self, record: Any) -> None:
        """Overwrite the record, in about 40 microseconds.

        Raises:
            ValueError: It is too large.
        """
        data = pickle.dumps(record, protocol=pickle.HIGHEST_PROTOCOL)
        if len(data) > ROOM:
            raise ValueError(f"a record of {len(data)} bytes; there is room for {ROOM}")
        memory = memoryview(self._memory).cast("B")
        memory[_HEADER.size : _HEADER.size + len(data)] = data
        _HEADER.pack_into(memory, 0, len(data), zlib.crc32(data))

    def read(self, timeout_s: float = 0.5) -> Any:
        """The newest whole record; None before the first."""
        memory = memoryview(self._memory).cast("B")
        deadline = time.monotonic() + timeout_s
        while True:
            length, checksum = _HEADER.unpack_from(memory)
            data = bytes(memory[_HEADER.size : _HEADER.size + length])
            if zlib.crc32(data) == checksum:
                self._last = pickle.loads(data) if data else None
                return self._last
            if time.monotonic() > deadline:  # The loop died in the middle.
                return self._last
            time.sleep(0.0002)
