"""Faults of the simulated G1: they change what it reports, not what it does."""

from __future__ import annotations

import numpy as np

from solo.errors import unknown_name

KNEE = 3
"""Motor slot of the left knee, which most faults are of."""

NAMES = (
    "motor_error",
    "hot_winding",
    "hot_casing",
    "low_voltage",
    "gyroscope",
    "frozen_clock",
    "clock_back",
    "frozen_state",
    "wild_joint",
    "mode_machine",
    "low_battery",
)
"""All faults that can be injected."""


def _damage(name: str, state: np.ndarray, last: np.ndarray) -> None:
    """Change the next state message; ``last`` is the one that was sent before."""
    motors, tick = state["motor_state"], int(state["tick"])
    if name == "motor_error":
        motors["motorstate"][KNEE] = 0x200  # Winding too hot.
    elif name == "hot_winding":
        motors["temperature"][KNEE, 1] = 121
    elif name == "hot_casing":
        motors["temperature"][KNEE, 0] = 86
    elif name == "low_voltage":
        motors["vol"] = 38.0
    elif name == "gyroscope":
        state["imu_state"]["gyroscope"][1] = 6.5
    elif name == "frozen_clock":
        state["tick"] = last["tick"]
    elif name == "clock_back":
        state["tick"] = last["tick"] - 100
    elif name == "frozen_state":
        state[...] = last
        state["tick"] = tick
    elif name == "wild_joint" and tick % 60 < 40:  # Two control steps of three.
        motors["q"][KNEE] = 50.0
    elif name == "mode_machine":
        state["mode_machine"] = 4  # A G1 whose waist is locked.


class InjectedFault:
    """A fault that begins at some time."""

    def __init__(self, name: str | None = None, start_s: float = 0.0) -> None:
        """Choose the fault; None for a sound robot.

        Raises:
            SoloError: There is no such fault.
        """
        if name is not None and name not in NAMES:
            raise unknown_name("fault", name, NAMES, "Choose one of these.")
        self._name, self._start_s = name, start_s
        self._last: np.ndarray | None = None

    def change(self, state: np.ndarray, time_s: float) -> np.ndarray:
        """The state message that is sent instead, at a simulated time."""
        changed = state.copy()
        if self._name is not None and time_s >= self._start_s:
            _damage(self._name, changed, state if self._last is None else self._last)
        self._last = changed
        return changed

    def battery(self, time_s: float) -> int:
        """Charge of the battery, per cent."""
        is_low = self._name == "low_battery" and time_s >= self._start_s
        return 19 if is_low else 80
