"""Torch views of all environments' states and model parameters.

mjlab reads and writes ``sim.data.<field>`` and ``sim.model.<field>`` as float32
tensors with one row per environment. Here those tensors are plain CPU memory that the
stepping threads fill from, and load into, MuJoCo's own structs.

What to recompute after a control step: motion, not forces. mjlab calls ``forward`` once
per control step, because after ``mj_step`` everything that follows from the state is
one physics step behind it. Of an environment that was not written to since, poses and
velocities are computed anew and so are the sensors that read them. Forces and
accelerations (``qacc``, ``actuator_force``, contact sensors) stay those of the last
physics step, which is what rewards and terminations saw; computing them again would
cost as much as a physics step, a sixth of the time of a control step. Environments that
were reset, pushed or otherwise moved get a full ``mj_forward``.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import mujoco
import mujoco_warp as mjwarp
import numpy as np
import torch

from solo.sim.kernels import RECOMPUTED, STALE, UPDATED, merge_rows

# What an integration step starts from, mjSTATE_INTEGRATION in MuJoCo's terms. Writable
# by tasks; `time` is handled beside them because it is a number and not an array.
STATE_FIELDS = (
    "qpos",
    "qvel",
    "act",
    "history",
    "qacc_warmstart",
    "ctrl",
    "qfrc_applied",
    "xfrc_applied",
    "mocap_pos",
    "mocap_quat",
    "userdata",
)

FORCE_FIELDS = ("ctrl", "qfrc_applied", "xfrc_applied")
"""State that acts from the next step on; poses and velocities do not follow from it."""

# Per-environment geometry would leave MuJoCo's bounding-volume tree, which is shared,
# out of date: contacts would be missed without a word.
_SHARED_GEOMETRY = ("geom_size", "geom_pos", "geom_quat", "geom_aabb", "geom_rbound")


@dataclasses.dataclass(frozen=True)
class Twin:
    """A float32 tensor for tasks and the exact float64 values for MuJoCo."""

    tensor: torch.Tensor
    """float32 [B, ...], what mjlab and tasks read and write."""
    exact: np.ndarray
    """float64 [B, numbers per environment]."""

    @property
    def rows(self) -> np.ndarray:
        """The tensor's memory as [B, numbers per environment]."""
        return self.tensor.numpy().reshape(self.exact.shape)

    def merge(self) -> None:
        """Take over what was written to the tensor."""
        merge_rows(self.rows, self.exact, 0, len(self.exact))


def make_twin(default: np.ndarray, shape: tuple[int, ...], num_envs: int) -> Twin:
    """Repeat one environment's values for all of them."""
    flat = np.asarray(default, dtype=np.float64).reshape(1, -1)
    exact = np.repeat(flat, num_envs, axis=0)
    with torch.inference_mode(False):
        tensor = torch.from_numpy(exact.astype(np.float32)).reshape(num_envs, *shape)
    return Twin(tensor=tensor, exact=exact)


class NativeData:
    """State and results of all environments, by the names of ``mjData``.

    A result (``xpos``, ``sensordata``, ...) is copied out of MuJoCo after each step
    only from its first use on, so nobody pays for what nobody reads.
    """

    def __init__(
        self,
        template: mujoco.MjData,
        num_envs: int,
        on_new_output: Callable[[str], None],
    ) -> None:
        self.nworld = num_envs
        self._template = template
        self._on_new_output = on_new_output
        self.state: dict[str, Twin] = {
            "time": make_twin(np.zeros(1), (), num_envs),
        }
        for name in STATE_FIELDS:
            value = getattr(template, name)
            self.state[name] = make_twin(value, value.shape, num_envs)
        self.outputs: dict[str, torch.Tensor] = {}

    def __getattr__(self, name: str) -> torch.Tensor:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.state:
            return self.state[name].tensor
        if name not in self.outputs:
            self.outputs[name] = self._allocate(name)
            self._on_new_output(name)
        return self.outputs[name]

    def _allocate(self, name: str) -> torch.Tensor:
        value = getattr(self._template, name, None)
        if not isinstance(value, np.ndarray) or value.dtype != np.float64:
            raise AttributeError(
                f"mjData has no array of numbers {name!r} that the native backend "
                "could hand out. Use the Warp backend if the task needs it."
            )
        shape = value.shape
        if name.endswith("mat"):
            shape = (*shape[:-1], 3, 3)
        with torch.inference_mode(False):
            return torch.zeros(self.nworld, *shape)


class NativeModel:
    """Model parameters by the names of ``mjModel``, with MuJoCo Warp's shapes.

    A parameter that Warp can hold per environment has a leading dimension B; until it
    is expanded all rows are one and the same.
    """

    def __init__(self, model: mujoco.MjModel, num_envs: int) -> None:
        self._model = model
        self._num_envs = num_envs
        self._shared: dict[str, Any] = {}
        self.expanded: dict[str, Twin] = {}
        self._versions: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.expanded:
            return self.expanded[name].tensor
        if name not in self._shared:
            self._shared[name] = self._make_shared(name)
        return self._shared[name]

    def expand(self, name: str) -> None:
        """Give every environment its own row of a parameter."""
        if name in self.expanded:
            return
        value = getattr(self._model, name, None)
        is_numbers = isinstance(value, np.ndarray) and value.dtype.kind == "f"
        if name in _SHARED_GEOMETRY or not is_numbers:
            raise ValueError(
                f"The native backend cannot hold {name!r} per environment: it is "
                "not a number, or it moves collision geometry, which all "
                "environments share. Use the Warp backend for this randomisation."
            )
        assert isinstance(value, np.ndarray)
        shape = _warp_shape(self._model, name, value)
        self.expanded[name] = make_twin(value, shape, self._num_envs)
        self._versions[name] = self.expanded[name].tensor._version

    def merge_written(self) -> bool:
        """Take over what tasks wrote to expanded parameters; tell if they did."""
        written = False
        for name, twin in self.expanded.items():
            version = twin.tensor._version
            if version != self._versions[name]:
                self._versions[name] = version
                twin.merge()
                written = True
        return written

    def _make_shared(self, name: str) -> Any:
        value = getattr(self._model, name)
        if not isinstance(value, np.ndarray):
            return value
        kind = torch.float32 if value.dtype.kind == "f" else torch.int32
        with torch.inference_mode(False):
            tensor = torch.as_tensor(np.array(value)).to(kind)
            if _is_batched(name):
                shape = _warp_shape(self._model, name, value)
                tensor = tensor.reshape(1, *shape).expand(self._num_envs, *shape)
        return tensor


class DerivedConstants:
    """Lets MuJoCo recompute constants in a scratch model, one environment at a time.

    Only environments whose parameters changed since the last time are visited, because
    mjlab asks for all of them whenever one is reset.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self._original = model
        self._scratch: mujoco.MjModel | None = None
        self._sources: list[str] = []
        self._values = np.empty((0, 0))

    def update(
        self, model: NativeModel, derived: tuple[str, ...], mean_inertia: Twin
    ) -> None:
        """Recompute mean inertia and the ``derived`` fields of each environment."""
        expanded = model.expanded
        targets = [name for name in derived if name in expanded]
        sources = [name for name in expanded if name not in targets]
        values = np.hstack([expanded[name].exact for name in sources])
        if self._scratch is None:
            self._scratch = copy.copy(self._original)
        if self._sources != sources:
            self._sources = sources
            self._values = np.full_like(values, np.nan)
        scratch: mujoco.MjModel = self._scratch
        data = mujoco.MjData(scratch)
        for env in np.flatnonzero((values != self._values).any(axis=1)):
            for name in sources:
                field = getattr(scratch, name)
                field[:] = expanded[name].exact[env].reshape(field.shape)
            mujoco.mj_setConst(scratch, data)
            for name in targets:
                row = getattr(scratch, name).ravel()
                expanded[name].exact[env] = row
                expanded[name].rows[env] = row
            mean_inertia.exact[env] = scratch.stat.meaninertia
        self._values = values


_WARP_FIELDS: dict[str, Any] = {
    f.name: f.type for f in dataclasses.fields(mjwarp.Model)
}


def _is_batched(name: str) -> bool:
    return getattr(_WARP_FIELDS.get(name), "shape", ("",))[0] == "*"


def _warp_shape(model: mujoco.MjModel, name: str, value: np.ndarray) -> tuple[int, ...]:
    """The shape of one environment's row in MuJoCo Warp, e.g. vectors unpacked."""
    if not _is_batched(name):
        return value.shape
    declared = _WARP_FIELDS[name]
    sizes = [getattr(model, d) if isinstance(d, str) else d for d in declared.shape[1:]]
    inner = getattr(declared.dtype, "_shape_", ())
    return (*sizes, *inner)


_MOTION_FIELDS = frozenset(
    (
        "xpos",
        "xquat",
        "xmat",
        "xipos",
        "ximat",
        "xanchor",
        "xaxis",
        "geom_xpos",
        "geom_xmat",
        "site_xpos",
        "site_xmat",
        "cam_xpos",
        "cam_xmat",
        "light_xpos",
        "light_xdir",
        "subtree_com",
        "cdof",
        "cinert",
        "cvel",
        "cdof_dot",
    )
)

_Sensor = mujoco.mjtSensor
_MOTION_SENSORS = frozenset(
    int(kind)
    for kind in (
        _Sensor.mjSENS_VELOCIMETER,
        _Sensor.mjSENS_GYRO,
        _Sensor.mjSENS_JOINTPOS,
        _Sensor.mjSENS_JOINTVEL,
        _Sensor.mjSENS_FRAMEPOS,
        _Sensor.mjSENS_FRAMEQUAT,
        _Sensor.mjSENS_FRAMEXAXIS,
        _Sensor.mjSENS_FRAMEYAXIS,
        _Sensor.mjSENS_FRAMEZAXIS,
        _Sensor.mjSENS_FRAMELINVEL,
        _Sensor.mjSENS_FRAMEANGVEL,
        _Sensor.mjSENS_SUBTREECOM,
        _Sensor.mjSENS_SUBTREELINVEL,
        _Sensor.mjSENS_SUBTREEANGMOM,
    )
)
"""Sensors of positions and velocities that need nothing but the motion of bodies."""

_MOTION = ("mj_kinematics", "mj_comPos", "mj_camlight", "mj_comVel")
# mj_subtreeVel: MuJoCo would call it only if it had not been for this state, which it
# cannot know when states are exchanged.
_SENSORS = ("mj_subtreeVel", "mj_sensorPos", "mj_sensorVel")


def refresh_level(field: str) -> int:
    """What a refresh does to a field of ``mjData``."""
    if field == "sensordata":
        return UPDATED
    return RECOMPUTED if field in _MOTION_FIELDS else STALE


def refresh_functions(model: mujoco.MjModel, has_sensors: bool) -> tuple[str, ...]:
    """The functions of a refresh; none if somebody reads sensors that need more."""
    if not has_sensors:
        return _MOTION
    of_forces = model.sensor_needstage == mujoco.mjtStage.mjSTAGE_ACC
    if all(int(kind) in _MOTION_SENSORS for kind in model.sensor_type[~of_forces]):
        return _MOTION + _SENSORS
    return ()
