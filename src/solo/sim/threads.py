"""Threads: those that step environments, and torch's meanwhile."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch

# Chunks per thread: enough that a thread with costly environments (many contacts) is
# helped by the others, few enough that handing them out costs nothing.
_CHUNKS_PER_THREAD = 8


def available_cores() -> int:
    """Number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class WorkerPool:
    """Runs a GIL-free function over ranges of environments.

    The calling thread works too, as slot 0. Which slot gets which range depends on
    timing; results must not (see ``kernels``).
    """

    def __init__(self, num_threads: int) -> None:
        self.num_threads = num_threads
        self._executor = ThreadPoolExecutor(
            max_workers=max(1, num_threads - 1), thread_name_prefix="solo-sim"
        )

    def run(self, work: Callable[[int, int, int], None], num_items: int) -> None:
        """Call ``work(slot, lo, hi)`` until all of ``range(num_items)`` is done."""
        size = max(1, num_items // (self.num_threads * _CHUNKS_PER_THREAD))
        starts = itertools.count(0, size)  # next() is atomic under the GIL.

        def drain(slot: int) -> None:
            while (lo := next(starts)) < num_items:
                work(slot, lo, min(lo + size, num_items))

        helpers = min(self.num_threads, -(-num_items // size)) - 1
        futures = [self._executor.submit(drain, k + 1) for k in range(helpers)]
        drain(0)
        for future in futures:
            future.result()


@contextmanager
def stepping_threads() -> Iterator[None]:
    """Let torch use one thread inside the block.

    The tensors of a step are small, so torch's threads cost more than they bring
    (58 ms against 17 ms per step at 256 environments), and they would take cores from
    the physics. Learning should run outside the block, with all threads.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
