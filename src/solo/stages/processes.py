"""One training in several processes, as ``torchrun`` starts them.

Each process has environments and a device of its own; rsl_rl averages the gradients.
The first process owns the run's folder, writes the curves and saves checkpoints.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch
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
    local_world_size: int = 1
    """How many there are on this machine."""

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
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
    defaults = ("0", "0", "1", "1")
    return Processes(*map(int, map(os.environ.get, names, defaults)))


def take_cores(processes: Processes) -> None:
    """Give this process cores of its own among those of its machine.

    Two processes with one core each learn faster than one process with two: small
    tensors gain little from a second thread. Where there are fewer cores than
    processes, or the system cannot do it, they share them all.
    """
    num_processes = processes.local_world_size
    if num_processes == 1 or not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    if mine := cores[processes.local_rank :: num_processes]:
        os.sched_setaffinity(0, mine)
        torch.set_num_threads(len(mine))


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
