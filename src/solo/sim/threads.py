"""Threads: those that step environments, what each of them owns, and torch's meanwhile.

Tables tell a thread where the fields of its environments are.
"""

from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import torch

from solo.sim import kernels, libmujoco
from solo.sim.fields import FORCE_FIELDS, NativeData, NativeModel, Twin, refresh_level

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


class Worker:
    """One thread's ``mjData`` and its shallow copy of ``mjModel``.

    The copy is of the struct alone, a few kilobytes: its pointers lead to the arrays
    of the original model, the terrain among them, except for randomised fields, which
    are pointed at the environment's own values before each step.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self.data = mujoco.MjData(model)
        size = libmujoco.struct_bytes(model._address)
        self._struct = ctypes.create_string_buffer(size)
        ctypes.memmove(self._struct, model._address, size)
        self.model_address = ctypes.addressof(self._struct)
        kinds = len(self.data.warning)
        warnings = (ctypes.c_int32 * (2 * kinds)).from_address(
            self.data._address + libmujoco.warning_offset(self.data)
        )
        self.warnings = np.ctypeslib.as_array(warnings).reshape(kinds, 2)
        self.warnings[:, 1] = kernels.WARNING_BASELINE
        self._time_offset = libmujoco.time_offset(self.data)

    def address_of(self, name: str) -> int:
        """Address of a member of this thread's ``mjData``."""
        if name == "time":
            return self.data._address + self._time_offset
        return getattr(self.data, name).ctypes.data


@dataclass(frozen=True)
class Tables:
    """Addresses and sizes for ``kernels.advance``, whose arguments they are."""

    state: np.ndarray
    state_of_data: np.ndarray
    outputs: np.ndarray
    outputs_of_data: np.ndarray
    model_fields: np.ndarray
    model_offsets: np.ndarray


def build_tables(
    workers: list[Worker],
    data: NativeData,
    model: NativeModel,
    mj_model: mujoco.MjModel,
    mean_inertia: Twin,
) -> Tables:
    """Look up where every exchanged field lives. To be redone when one is added."""
    state = {name: t for name, t in data.state.items() if t.exact.shape[1]}
    outputs = {name: t for name, t in data.outputs.items() if t.numel()}
    # Only what MuJoCo computes with: colours and the like are float32 in mjModel.
    randomised = {
        name: t
        for name, t in model.expanded.items()
        if t.exact.shape[1] and getattr(mj_model, name).dtype == np.float64
    }
    offsets = libmujoco.pointer_offsets(mj_model, list(randomised))
    return Tables(
        state=_table(
            [
                (
                    t.tensor.data_ptr(),
                    t.exact.ctypes.data,
                    t.exact.shape[1],
                    name not in FORCE_FIELDS,
                )
                for name, t in state.items()
            ],
            columns=4,
        ),
        state_of_data=_addresses(workers, state),
        outputs=_table(
            [
                (t.data_ptr(), t.numel() // len(t), refresh_level(name))
                for name, t in outputs.items()
            ],
            columns=3,
        ),
        outputs_of_data=_addresses(workers, outputs),
        model_fields=_table(
            [
                (t.exact.ctypes.data, t.exact.strides[0])
                for t in [*randomised.values(), mean_inertia]
            ],
            columns=2,
        ),
        model_offsets=np.array(
            [*offsets.values(), libmujoco.mean_inertia_offset(mj_model)], np.int64
        ),
    )


def _table(rows: list[tuple[int, ...]], columns: int) -> np.ndarray:
    return np.array(rows, np.int64).reshape(len(rows), columns)


def _addresses(
    workers: list[Worker], fields: dict[str, Twin] | dict[str, torch.Tensor]
) -> Any:
    rows = [[worker.address_of(name) for name in fields] for worker in workers]
    return np.array(rows, np.int64).reshape(len(workers), len(fields))
