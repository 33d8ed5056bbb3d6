"""One training in several processes, as ``torchrun`` starts them.

Each process has environments and a device of its own; rsl_rl averages the gradients.
The first process owns the run's folder, writes the curves and saves checkpoints.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch.distributed


@dataclass(frozen=True)
class Processes:
    """Which of how many processes this one is."""

    rank: int = 0
    """Number among all processes."""
    local_rank: int = 0
    """Number among the processes of this machine."""
    world_size: int = 1
    """How many there are, on all machines."""

    @property
    def is_first(self) -> bool:
        """Whether this one writes."""
        return self.rank == 0

    def device(self, wanted: str) -> str:
        """The device of this process: each has a GPU of its own; the CPU is shared."""
        if self.world_size > 1 and wanted.startswith("cuda"):
            return f"cuda:{self.local_rank}"
        return wanted


def read_processes() -> Processes:
    """What ``torchrun`` wrote into the environment; one process without it."""
    rank, local_rank, world_size = (
        int(os.environ.get(name, default))
        for name, default in (("RANK", "0"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "1"))
    )
    return Processes(rank, local_rank, world_size)


def join_cpu_processes(processes: Processes) -> dict[str, int]:
    """Connect processes that train on CPUs, which rsl_rl does for GPUs alone.

    Returns:
        What rsl_rl keeps as ``multi_gpu`` in its configuration.
    """
    torch.distributed.init_process_group(
        "gloo", rank=processes.rank, world_size=processes.world_size
    )
    return {
        "global_rank": processes.rank,
        "local_rank": processes.local_rank,
        "world_size": processes.world_size,
    }


def leave_processes() -> None:
    """Disconnect, if there was a connection."""
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
