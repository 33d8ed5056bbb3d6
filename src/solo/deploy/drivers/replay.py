"""Recorded runs: as a camera in real time, and as a whole run, tick by tick.

`solo.deploy.replay` drives the runtime with a `Recording`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from solo.deploy.camera import DepthImage, DepthProcessor
from solo.deploy.command import OperatorInput
from solo.deploy.contract import Contract
from solo.deploy.drivers.protocols import DepthFrame, JointCommand, RobotState
from solo.deploy.log import read_log
from solo.deploy.phase import Phase, Request
from solo.errors import SoloError


class Recording:
    """A log with a cursor: robot, depth source and operator of a replayed run.

    Reading the robot moves to the next tick, as the runtime does once per tick, first
    of all.
    """

    name = "replay"

    def __init__(self, folder: Path, contract: Contract) -> None:
        """Load a log.

        Raises:
            SoloError: It is no log, or one of other joints or another rate.
        """
        self.meta, self.records = read_log(folder)
        _check(folder, self.meta, contract)
        self.contract, self.commands = contract, list[JointCommand]()
        self._processor = DepthProcessor(contract.depth)
        self._row = -1

    def __len__(self) -> int:
        return len(self.records["time_s"])

    @property
    def start_phase(self) -> Phase:
        """Phase in which the run began."""
        return Phase[self.meta.get("start", "IDLE")]

    def start(self) -> None:
        """Back to the first tick."""
        self._row = -1
        self.commands.clear()

    def next_time_s(self) -> float:
        """Time of the tick that comes next."""
        return float(self.records["time_s"][self._row + 1])

    def read(self, now: float | None = None) -> Any:
        """The robot's state of the next tick."""
        del now
        self._row += 1
        age = self._value("state_age_s")
        if not np.isfinite(age):
            return None
        return RobotState(
            time_s=self._value("time_s") - age,
            joint_pos=self._value("joint_pos"),
            joint_vel=self._value("joint_vel"),
            quat_wxyz=self._value("quat_wxyz"),
            ang_vel_b=self._value("ang_vel_b"),
            joint_torque=self._value("joint_torque"),
            sequence=self._row,
        )

    def write(self, command: JointCommand) -> None:
        """Keep what the runtime would have sent."""
        self.commands.append(command)

    def newest(self) -> DepthImage | None:
        """The image of the present tick."""
        age = self._value("depth_age_s")
        if "depth_mm" not in self.records or not np.isfinite(age):
            return None
        frame = DepthFrame(
            self._value("time_s") - age,
            self._value("depth_mm"),
            int(self._value("depth_sequence")),
        )
        return self._processor(frame)

    def close(self) -> None:
        """Nothing to close."""

    def _value(self, name: str) -> Any:
        return self.records[name][self._row]


class RecordedOperator:
    """What the operator of a recording did."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def start(self) -> None:
        """Nothing to open."""

    def read(self, now: float) -> OperatorInput:
        """The input of the present tick."""
        value = self._recording._value
        vx, vy, wz = (float(v) for v in value("wanted_velocity"))
        age = float(value("command_age_s"))
        return OperatorInput(now - age, (vx, vy, wz), Request(int(value("request"))))

    def close(self) -> None:
        """Nothing to close."""


class ReplayCamera:
    """The depth images of a log at the times they were taken, over and over."""

    name = "replay"

    def __init__(
        self,
        folder: Path,
        contract: Contract,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        meta, records = read_log(folder)
        _check(folder, meta, contract)
        if "depth_mm" not in records:
            raise SoloError(f"The log {str(folder)!r} holds no depth images.")
        _, rows = np.unique(records["depth_sequence"], return_index=True)
        rows = rows[np.isfinite(records["depth_age_s"][rows])]
        if len(rows) == 0:
            raise SoloError(f"The log {str(folder)!r} holds no depth images.")
        self._images = records["depth_mm"][rows]
        times = records["time_s"][rows] - records["depth_age_s"][rows]
        self._times = times - times[0]
        self._length_s = float(self._times[-1]) + contract.period_s
        self._clock, self._sleep = clock, sleep
        self._next, self._start_s = 0, 0.0

    def start(self) -> None:
        """Begin with the first image now."""
        self._next, self._start_s = 0, self._clock()

    def wait(self, timeout_s: float) -> DepthFrame | None:
        """Sleep until the next image is due."""
        turn, row = divmod(self._next, len(self._images))
        due = self._start_s + turn * self._length_s + float(self._times[row])
        pause = due - self._clock()
        if pause > timeout_s:
            self._sleep(timeout_s)
            return None
        self._sleep(max(pause, 0.0))
        self._next += 1
        return DepthFrame(self._clock(), self._images[row], self._next)

    def close(self) -> None:
        """Nothing to close."""


def _check(folder: Path, meta: dict[str, Any], contract: Contract) -> None:
    names = tuple(meta.get("joint_names", ()))
    if names != contract.joints.names:
        raise SoloError(
            f"The log {str(folder)!r} is of a robot with the joints "
            f"{', '.join(names) or 'none'}; the policy has "
            f"{', '.join(contract.joints.names)}. Replay it with its own policy."
        )
    if meta.get("control_hz") != contract.control_hz:
        raise SoloError(
            f"The log {str(folder)!r} has {meta.get('control_hz')} ticks per second, "
            f"the policy {contract.control_hz}. Replay it with its own policy."
        )
