"""Model constants that follow from randomised masses, inertias and the like."""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from solo.sim.fields import NativeModel, Twin


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
        """Recompute the ``derived`` fields that are kept per environment.

        Args:
            model: The parameters of all environments.
            derived: Names of the fields that depend on the others.
            mean_inertia: ``mjModel.stat.meaninertia`` of all environments.
        """
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
