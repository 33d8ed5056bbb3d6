"""How many threads torch uses while environments are stepped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


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
