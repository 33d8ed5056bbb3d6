"""The raw bound of simulation speed: a bare native loop of ``mj_step``.

Nothing but loading a recorded state and calling ``mj_step``: no tensors, no checks, no
results copied out. All substeps of an environment run back to back, when its data is
still in the cache, which no task with sensors between substeps could do.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import carray, njit  # pyright: ignore[reportPrivateImportUsage]

from solo.sim import NativeSimulation, libmujoco
from solo.sim.kernels import call, pointer, select_env


class RawLoop:
    """Replays recorded states and controls of a native simulation."""

    def __init__(self, sim: NativeSimulation, num_substeps: int) -> None:
        self._sim = sim
        self._num_substeps = num_substeps
        self._step_address = libmujoco.function_address("mj_step")

    def record(self) -> dict[str, np.ndarray]:
        """Copy the state of all environments."""
        state = self._sim.data.state
        return {n: t.exact.copy() for n, t in state.items() if t.exact.shape[1]}

    def replay(self, recordings: list[dict[str, np.ndarray]]) -> float:
        """Step every environment from every recorded state; return the seconds."""
        tables = [
            np.array([(a.ctypes.data, a.shape[1]) for a in r.values()], np.int64)
            for r in recordings
        ]
        workers, fields = self._sim.workers, self._sim.tables
        inside = np.array(
            [[worker.address_of(name) for name in recordings[0]] for worker in workers],
            np.int64,
        )

        def run(table: np.ndarray) -> None:
            def work(slot: int, lo: int, hi: int) -> None:
                _step_from(
                    self._step_address,
                    lo,
                    hi,
                    workers[slot].model_address,
                    workers[slot].data._address,
                    table,
                    inside[slot],
                    fields.model_fields,
                    fields.model_offsets,
                    self._num_substeps,
                )

            self._sim.pool.run(work, self._sim.num_envs)

        start = time.perf_counter()
        with self._sim.collision():
            for table in tables:
                run(table)
        return time.perf_counter() - start


@njit(nogil=True, cache=True)
def _step_from(
    step: int,
    lo: int,
    hi: int,
    model: int,
    data: int,
    recorded: Any,
    inside: Any,
    model_fields: Any,
    model_offsets: Any,
    num_substeps: int,
) -> None:
    for env in range(lo, hi):
        for f in range(recorded.shape[0]):
            n = recorded[f, 1]
            source = carray(pointer(recorded[f, 0] + env * n * 8), n, np.float64)
            target = carray(pointer(inside[f]), n, np.float64)
            target[:] = source
        select_env(model, env, model_fields, model_offsets)
        for _ in range(num_substeps):
            call(step, model, data)
