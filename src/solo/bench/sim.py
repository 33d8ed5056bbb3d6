"""Speed of the simulation: ours, stock mjlab on CPU, and the raw bound."""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.tasks.registry import load_env_cfg
from numba import carray, njit  # pyright: ignore[reportPrivateImportUsage]
from rich.progress import Progress

from solo.bench.cfg import SimBenchCfg
from solo.envs.locomotion_env_cfg import make_locomotion_env_cfg, make_simulation_cfg
from solo.envs.make import make_env
from solo.progress import make_progress
from solo.robots import get_robot
from solo.sim import NativeSimulation, libmujoco
from solo.sim.kernels import call, pointer, select_env
from solo.sim.native import Backend
from solo.sim.threads import stepping_threads

_SEED = 0
# Random actions of this spread move the robots about and let some fall: contacts as in
# early training, the same for all three measurements.
_ACTION_STD = 0.5
_WARM_UP_STEPS = 25
# mjlab's own walking task on rough terrain: its robot model, terrain, ray-cast height
# scan and rewards. What a user of mjlab without a GPU has today.
_MJLAB_TASK = "Mjlab-Velocity-Rough-Unitree-G1"


def bench_sim(cfg: SimBenchCfg) -> dict[str, Any]:
    """Measure environment steps per second on one configuration.

    Native and raw alternate in short rounds, and each raw round replays the states and
    controls of the native round before it, so that both meet the same load, contacts
    and falls. All rates count control steps of one environment (4 physics steps).
    """
    with make_progress() as progress, stepping_threads():
        start = time.perf_counter()
        env = _make_env(cfg, "native")
        env.reset()
        startup_s = time.perf_counter() - start
        native_s, raw_s = _alternate(env, cfg, progress)
        steps = cfg.num_envs * cfg.rounds * cfg.steps
        sim = env.sim
        assert isinstance(sim, NativeSimulation)
        result: dict[str, Any] = {
            "native_steps_per_s": steps / native_s,
            "raw_steps_per_s": steps / raw_s,
            "fraction_of_raw": raw_s / native_s,
            "height_map_share": _time_height_map(env) * steps / cfg.num_envs / native_s,
            "num_envs": cfg.num_envs,
            "threads": sim.num_threads,
            "startup_s": startup_s,
            "peak_memory_gb": _peak_memory_gb(),
            "diverged": sim.divergence_count,
        }
        env.close()
        if cfg.warp_steps:
            env = _make_env(cfg, "warp")
            rate = _time_stock(env, cfg, progress, "stock mjlab (Warp on CPU)")
            result["warp_steps_per_s"] = rate
            result["speedup_over_warp"] = result["native_steps_per_s"] / rate
        if cfg.warp_steps and cfg.mjlab_task:
            env_cfg = load_env_cfg(_MJLAB_TASK)
            env_cfg.scene.num_envs, env_cfg.seed = cfg.num_envs, _SEED
            rate = _time_stock(make_env(env_cfg), cfg, progress, _MJLAB_TASK)
            result["mjlab_task_steps_per_s"] = rate
            result["speedup_over_mjlab_task"] = result["native_steps_per_s"] / rate
    return result


def _make_env(cfg: SimBenchCfg, backend: Backend) -> ManagerBasedRlEnv:
    env_cfg = make_locomotion_env_cfg(
        get_robot("g1"),
        num_envs=cfg.num_envs,
        sim=make_simulation_cfg(backend=backend, num_threads=cfg.threads),
        seed=_SEED,
    )
    return make_env(env_cfg)


def _random_actions(env: ManagerBasedRlEnv) -> torch.Tensor:
    return _ACTION_STD * torch.randn(env.num_envs, env.action_manager.total_action_dim)


def _alternate(
    env: ManagerBasedRlEnv, cfg: SimBenchCfg, progress: Progress
) -> tuple[float, float]:
    """Seconds of the native rounds and of the raw rounds."""
    sim = env.sim
    assert isinstance(sim, NativeSimulation)
    raw = RawLoop(sim, env.cfg.decimation)
    task = progress.add_task(
        "native and raw", total=_WARM_UP_STEPS + cfg.rounds * cfg.steps
    )
    for _ in range(_WARM_UP_STEPS):
        env.step(_random_actions(env))
        progress.advance(task)
    raw.replay([raw.record()])  # Compile.
    native_s = raw_s = 0.0
    for _ in range(cfg.rounds):
        recordings = []
        for _ in range(cfg.steps):
            actions = _random_actions(env)
            recordings.append(raw.record())
            start = time.perf_counter()
            env.step(actions)
            native_s += time.perf_counter() - start
            recordings[-1]["ctrl"] = sim.data.state["ctrl"].exact.copy()
            progress.advance(task)
        raw_s += raw.replay(recordings)
    return native_s, raw_s


def _time_height_map(env: ManagerBasedRlEnv, repeats: int = 50) -> float:
    """Seconds that the height maps of one step take."""
    term = env.observation_manager.get_term_cfg("height_map", "height_map")
    start = time.perf_counter()
    for _ in range(repeats):
        term.func(env, **term.params)
    return (time.perf_counter() - start) / repeats


def _time_stock(
    env: ManagerBasedRlEnv, cfg: SimBenchCfg, progress: Progress, name: str
) -> float:
    """Environment steps per second of an environment on stock mjlab's physics.

    As for the native backend the robots have landed, and some have fallen, before time
    is taken; the first step also compiles kernels.
    """
    task = progress.add_task(name, total=_WARM_UP_STEPS + cfg.warp_steps)
    env.reset()
    for _ in range(_WARM_UP_STEPS):
        env.step(_random_actions(env))
        progress.advance(task)
    start = time.perf_counter()
    for _ in range(cfg.warp_steps):
        env.step(_random_actions(env))
        progress.advance(task)
    seconds = time.perf_counter() - start
    env.close()
    return cfg.num_envs * cfg.warp_steps / seconds


def _peak_memory_gb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e9 if sys.platform == "darwin" else 1e6)


class RawLoop:
    """The raw bound: replays recorded states in a bare loop of ``mj_step``.

    No tensors, no checks, no results copied out. All substeps of an environment run
    back to back, when its data is still in the cache, which no task with sensors
    between substeps could do.
    """

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
