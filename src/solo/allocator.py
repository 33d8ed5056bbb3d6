"""Keep the memory that a training frees, instead of handing it back to the system.

glibc returns free memory to the system when there is more of it than twice the largest
array. A training makes and frees the same arrays thousands of times, and each time the
system clears every page before it lends it again: a tenth of a teacher's CPU time on 2
cores (`solo bench train --stages teacher`: 107 s, and 95 s with these settings, which
glibc also takes from environment variables).
"""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
"""Parameters of glibc's mallopt."""

_LARGEST_KEPT = 32 * 2**20
"""Bytes; glibc takes no more for arrays that come from the heap."""

_LARGEST_HEAP = 2**31 - 1
"""Bytes of free memory at the end of the heap from which on some is returned."""


def keep_freed_memory() -> bool:
    """Let arrays of up to 32 MiB come from memory that was used before.

    Returns:
        Whether the system's allocator was told; on others than glibc's nothing changes.
    """
    if sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # Another C library.
        return False
    settings = (
        (_MMAP_THRESHOLD, _LARGEST_KEPT),
        (_TRIM_THRESHOLD, _LARGEST_HEAP),
        (_TOP_PAD, 2 * _LARGEST_KEPT),
    )
    return all([mallopt(name, value) == 1 for name, value in settings])
