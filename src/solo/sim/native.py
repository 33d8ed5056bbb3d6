"""mjlab's simulation on CPU: MuJoCo C, all environments, native threads.

Stock mjlab runs MuJoCo Warp, which is made for GPUs; on a CPU it reaches some tens of
environment steps per second. This subclass keeps mjlab's interface (``data``,
``model``, ``step``, ``forward``, ``reset``, randomised fields) and replaces the
physics. See ``kernels`` for how an environment is advanced and why the result does not
depend on the number of threads.

What differs from mjlab's own simulation:

- Results are those of MuJoCo C in float64, rounded to float32 for the tensors.
- ``forward`` refreshes poses, velocities and their sensors; forces and accelerations
  stay those of the last physics step (see ``fields``).
- Same seed, same trajectory to the bit. MuJoCo Warp does not promise this.
- An environment in which MuJoCo warns or a number is not finite is put back to the
  model's default state and reported in ``diverged``; the others are not touched. A
  task ends the episode with the term ``solo.envs.mdp.physics_diverged``.
- Not available: mjlab's cameras and ray-cast sensors, mesh variants and per-environment
  collision geometry. They say so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import mujoco
import numpy as np
import torch
from mjlab.managers.event_manager import _DERIVED_FIELDS, RecomputeLevel
from mjlab.sim import SimulationCfg
from mjlab.sim.sim import Simulation
from mjlab.utils.nan_guard import NanGuard
from mjlab.viewer.model_sync import disable_model_sameframe_shortcuts

from solo.errors import SoloError
from solo.sim import kernels, libmujoco
from solo.sim.fields import (
    DerivedConstants,
    NativeData,
    NativeModel,
    make_twin,
    refresh_functions,
)
from solo.sim.height_field.collision import direct_contacts
from solo.sim.threads import Worker, WorkerPool, available_cores, build_tables

if TYPE_CHECKING:
    from mjlab.sensor.sensor_context import SensorContext

Backend = Literal["auto", "native", "warp"]

_STEP = ("mj_step",)
# mj_step checks the state itself, mj_forward does not.
_FORWARD = ("mj_checkPos", "mj_checkVel", "mj_forward", "mj_checkAcc")


@dataclass(kw_only=True)
class SoloSimulationCfg(SimulationCfg):
    """mjlab's simulation settings plus the choice of physics."""

    backend: Backend = "auto"
    """``native``: MuJoCo C on CPU. ``warp``: stock mjlab. ``auto``: native on CPU."""
    num_threads: int | None = None
    """Threads of the native backend. None: one per core this process may use."""
    direct_sphere_contacts: bool = True
    """Native backend: our contacts of spheres with height fields, see
    ``solo.sim.height_field.sphere``. False: MuJoCo's own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_threads is not None and self.num_threads < 1:
            raise SoloError(
                f"Number of threads is {self.num_threads}, must be at least 1. "
                "Leave it out to use all cores."
            )


def use_native(cfg: SimulationCfg, device: str) -> bool:
    """Tell whether a configuration asks for the native backend on this device."""
    if not isinstance(cfg, SoloSimulationCfg) or cfg.backend == "warp":
        return False
    on_cpu = device == "cpu"
    if cfg.backend == "native" and not on_cpu:
        raise SoloError(
            f"The native backend runs on device 'cpu', not on {device!r}. "
            "Choose device cpu, or backend warp."
        )
    return on_cpu


class NativeSimulation(Simulation):
    """Steps all environments with MuJoCo C in native threads."""

    cfg: SoloSimulationCfg

    def __init__(self, num_envs: int, cfg: SoloSimulationCfg, **kwargs: Any) -> None:
        if kwargs.get("variant_info"):
            raise SoloError(
                "Entities with mesh variants need MuJoCo Warp. Set backend to 'warp'."
            )
        super().__init__(num_envs, cfg, **kwargs)

    def _init_with_model(self, model: mujoco.MjModel) -> None:
        _choose_fast_options(model)
        self._mj_model = model
        self._mj_data = mujoco.MjData(model)
        mujoco.mj_forward(model, self._mj_data)
        self._finish_init()

    def _finish_init(self) -> None:
        model = self._mj_model
        num_threads = self.cfg.num_threads or available_cores()
        self.pool = WorkerPool(num_threads)
        self.workers = [Worker(model) for _ in range(num_threads)]
        self._data = NativeData(self._mj_data, self.num_envs, self._on_new_output)
        self._model = NativeModel(model, self.num_envs)
        self._mean_inertia = make_twin(
            np.array([model.stat.meaninertia]), (), self.num_envs
        )
        self._initial_state = {
            name: twin.exact[0].copy() for name, twin in self._data.state.items()
        }
        self._constants = DerivedConstants(model)
        self._has_run = False
        self._stepped = np.zeros(self.num_envs, np.uint8)
        self._bad = np.zeros(self.num_envs, np.uint8)
        with torch.inference_mode(False):
            self.diverged = torch.zeros(self.num_envs, dtype=torch.bool)
        self.divergence_count = 0
        self._build_tables()
        self.collision = self._choose_collision()
        self._sensor_context = None
        self.use_cuda_graph = False
        self.create_graph()
        self.nan_guard = NanGuard(self.cfg.nan_guard, self.num_envs, model)

    # What mjlab and tasks see.

    @property
    def data(self) -> Any:
        return self._data

    @property
    def model(self) -> Any:
        return self._model

    @property
    def wp_model(self) -> Any:
        raise _needs_warp("the Warp model (`sim.wp_model`)")

    @property
    def wp_data(self) -> Any:
        raise _needs_warp("the Warp data (`sim.wp_data`)")

    @property
    def num_threads(self) -> int:
        """Number of threads that step environments."""
        return self.pool.num_threads

    def step(self) -> None:
        """Advance every environment by one physics step."""
        with self.nan_guard.watch(self.data):
            self._run(_STEP)

    def forward(self) -> None:
        """Recompute what follows from the states; see ``solo.sim.fields``."""
        self._run(_FORWARD, self._refresh)

    def reset(self, env_ids: torch.Tensor | None = None) -> None:
        """Put environments back to the model's default state."""
        rows = slice(None) if env_ids is None else env_ids.numpy()
        for name, twin in self._data.state.items():
            twin.exact[rows] = self._initial_state[name]
            twin.rows[rows] = self._initial_state[name]
        self._stepped[rows] = 0
        self.diverged[rows] = False

    def expand_model_fields(self, fields: tuple[str, ...]) -> None:
        """Give every environment its own values of model fields."""
        unknown = [name for name in fields if not hasattr(self._mj_model, name)]
        if unknown:
            raise ValueError(f"Fields not found in model: {unknown}")
        for name in fields:
            self._model.expand(name)
        if {"body_ipos", "body_iquat"} & set(fields):
            # MuJoCo notes at compile time which geoms sit in the inertial frame of
            # their body; they would move along with the centre of mass.
            disable_model_sameframe_shortcuts(self._mj_model)
        self._expanded_fields.update(fields)
        self._build_tables()

    def recompute_constants(self, level: RecomputeLevel) -> None:
        """Recompute what follows from randomised masses, inertias and the like."""
        if level == RecomputeLevel.none:
            return
        self._model.merge_written()
        self._constants.update(self._model, _DERIVED_FIELDS[level], self._mean_inertia)

    def set_sensor_context(self, ctx: SensorContext) -> None:
        raise _needs_warp("mjlab's camera and ray-cast sensors")

    def sense(self) -> None:
        """Nothing to do: mjlab's cameras and ray casts need Warp."""

    # Running MuJoCo.

    def _run(
        self,
        functions: tuple[str, ...],
        refresh: tuple[str, ...] = (),
        *,
        keep_state: bool = True,
    ) -> None:
        self._has_run = True
        if self._model.merge_written():
            self._stepped[:] = 0
        self._bad[:] = 0
        with self.collision():
            work = self._bind(functions, refresh, keep_state)
            self.pool.run(work, self.num_envs)
        bad = np.flatnonzero(self._bad)
        if len(bad):
            self._restart(bad)

    def _bind(
        self, functions: tuple[str, ...], refresh: tuple[str, ...], keep_state: bool
    ) -> Callable[[int, int, int], None]:
        """The work of a thread: call MuJoCo's functions on a range of environments."""
        tables, workers = self.tables, self.workers
        to_call, to_refresh = (
            np.array([libmujoco.function_address(n) for n in names], np.int64)
            for names in (functions, refresh)
        )

        def work(slot: int, lo: int, hi: int) -> None:
            worker = workers[slot]
            kernels.advance(
                to_call,
                to_refresh,
                lo,
                hi,
                worker.model_address,
                worker.data._address,
                worker.warnings,
                tables.state,
                tables.state_of_data[slot],
                tables.outputs,
                tables.outputs_of_data[slot],
                tables.model_fields,
                tables.model_offsets,
                self._stepped,
                self._bad,
                keep_state,
            )

        return work

    def _restart(self, bad: np.ndarray) -> None:
        """Put diverged environments to the default state and count them."""
        self.reset(torch.from_numpy(bad))
        with self.collision():
            work = self._bind(_FORWARD, (), keep_state=True)
            for env in bad:
                work(0, int(env), int(env) + 1)
        self.diverged[bad] = True
        self.divergence_count += len(bad)

    def _choose_collision(self) -> Callable[[], AbstractContextManager[None]]:
        """What to do to MuJoCo's table of collision functions while stepping."""
        model = self._mj_model
        if not model.nhfield:
            return contextlib.nullcontext
        kinds: list[mujoco.mjtGeom] = []
        spheres = model.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE
        if spheres.any() and self.cfg.direct_sphere_contacts:
            kinds.append(mujoco.mjtGeom.mjGEOM_SPHERE)
        boxes = model.geom_type == mujoco.mjtGeom.mjGEOM_BOX
        if model.body_weldid[model.geom_bodyid[boxes]].any():  # One that can move.
            kinds.append(mujoco.mjtGeom.mjGEOM_BOX)
        return direct_contacts(model, self._mj_data, *kinds)

    def _build_tables(self) -> None:
        self._refresh = refresh_functions(
            self._mj_model, has_sensors="sensordata" in self._data.outputs
        )
        self.tables = build_tables(
            self.workers, self._data, self._model, self._mj_model, self._mean_inertia
        )

    def _on_new_output(self, name: str) -> None:
        """Start to copy a field out; if the simulation runs already, fill it."""
        self._build_tables()
        if self._has_run:
            self._run(_FORWARD, keep_state=False)


def _choose_fast_options(model: mujoco.MjModel) -> None:
    """Set what changes the time of a step but not its result, beyond rounding.

    Measured on the G1: without midphase 8 % less, without islands 2 %, with sparse
    matrices 8 %.
    """
    # A tree of boxes per body, searched before geoms are compared, is for many geoms.
    if model.body_geomnum.max() < 32:
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MIDPHASE
    # Islands are solved apart from each other; a robot alone is one island.
    if model.ntree == 1:
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
    # MuJoCo's rule is dense below 60 degrees of freedom. The limbs of a robot do not
    # couple with each other, so most entries are zero well before.
    if model.opt.jacobian == mujoco.mjtJacobian.mjJAC_AUTO and model.nv > 20:
        model.opt.jacobian = mujoco.mjtJacobian.mjJAC_SPARSE


def _needs_warp(what: str) -> SoloError:
    return SoloError(
        f"The native CPU backend does not have {what}. Set the simulation's backend "
        "to 'warp', or use solo's own height map and depth camera."
    )
