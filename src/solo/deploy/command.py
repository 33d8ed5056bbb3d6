"""The operator: velocity command and requests, from a script or a device.

Devices are in `operators`. A velocity is clamped to what the policy was trained for
and changes no faster than the rate limit, whatever the device says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from solo.deploy.phase import Request
from solo.errors import SoloError


@dataclass(frozen=True)
class CommandCfg:
    """Limits of the velocity command, in the heading frame."""

    low: tuple[float, float, float] = (-0.5, -0.5, -1.0)
    """Smallest vx, vy, wz; m/s, m/s, rad/s. The range of the training commands."""
    high: tuple[float, float, float] = (1.0, 0.5, 1.0)
    """Largest vx, vy, wz."""
    max_rate: tuple[float, float, float] = (1.0, 1.0, 2.0)
    """Largest change per second; m/s^2, m/s^2, rad/s^2.

    Not stated in the paper; chosen because full speed is then reached in one second.
    """

    def __post_init__(self) -> None:
        for low, high in zip(self.low, self.high, strict=True):
            if not (np.isfinite([low, high]).all() and low <= 0.0 <= high):
                raise SoloError(
                    f"The range of the velocity command is {self.low} to {self.high}; "
                    "it must be finite and hold zero, where the robot stands. Export "
                    "the bundle again."
                )

    def velocity(self, shares: Sequence[float]) -> tuple[float, float, float]:
        """Velocity of the axes of a device, each from -1 (lowest) to 1 (highest)."""
        vx, vy, wz = (
            share * (high if share >= 0.0 else -low)
            for share, low, high in zip(shares, self.low, self.high, strict=True)
        )
        return vx, vy, wz


@dataclass(frozen=True)
class OperatorInput:
    """What the operator wants now."""

    time_s: float
    """When the device last proved to be alive; an old time means it is lost."""
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Wanted vx, vy, wz, before clamping; m/s, m/s, rad/s."""
    request: Request = Request.NONE
    """A request made since the last read."""


class Operator(Protocol):
    """A device that a person steers with."""

    def start(self) -> None:
        """Open the device, if there is one.

        Raises:
            SoloError: It is not there.
        """

    def read(self, now: float) -> OperatorInput:
        """The present input; never blocks. A request is handed out once."""
        ...

    def close(self) -> None:
        """Close the device."""


class CommandFilter:
    """Clamps a velocity and limits its rate of change."""

    def __init__(self, cfg: CommandCfg, period_s: float) -> None:
        self.cfg = cfg
        self._low, self._high = np.array(cfg.low), np.array(cfg.high)
        self._step = np.array(cfg.max_rate) * period_s
        self.value = np.zeros(3)
        """The velocity command [3] of the last tick."""

    def reset(self) -> None:
        """Stand still at once; only for phases in which the policy does not run."""
        self.value = np.zeros(3)

    def step(self, wanted: tuple[float, float, float]) -> np.ndarray:
        """The command of the next tick [3]; what is not a number counts as zero."""
        target = np.nan_to_num(np.array(wanted, dtype=np.float64), nan=0.0)
        target = np.clip(target, self._low, self._high)
        change = np.clip(target - self.value, -self._step, self._step)
        self.value = self.value + change
        return self.value


class ScriptedOperator(Operator):
    """Stands up and walks at a constant velocity: for simulation and tests."""

    def __init__(
        self,
        velocity: tuple[float, float, float] = (0.0, 0.0, 0.0),
        insist_s: float = 0.0,
    ) -> None:
        """Prepare the script.

        Args:
            velocity: Velocity to walk at, vx, vy, wz; m/s, m/s, rad/s.
            insist_s: Ask to stand up for so long; only once if 0. On a busy computer
                the first state may come too late to be granted it.
        """
        self.velocity, self._insist_s = velocity, insist_s
        self._start: float | None = None
        self._num_reads = 0

    def read(self, now: float) -> OperatorInput:
        """Ask to stand up first, then to walk until it is granted."""
        self._start = now if self._start is None else self._start
        self._num_reads += 1
        is_begin = self._num_reads == 1 or now - self._start < self._insist_s
        request = Request.STAND_UP if is_begin else Request.WALK
        return OperatorInput(now, self.velocity, request)
