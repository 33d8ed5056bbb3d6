"""Recorded runs: as a camera in real time, and as a whole run, tick by tick.

`replay` drives the runtime with a recorded run, at the recorded times. The same log and
the same policy give the same actions, to the bit; another policy shows what it would
have done in the same situations. Nothing moves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from solo.deploy.camera import DepthImage, DepthProcessor
from solo.deploy.command import Operator, OperatorInput
from solo.deploy.contract import Contract
from solo.deploy.drivers.protocols import Camera, DepthFrame, JointCommand, RobotState
from solo.deploy.log import read_log
from solo.deploy.observation import Policy
from solo.deploy.phase import Phase, Request
from solo.deploy.runtime import Runtime, RuntimeCfg
from solo.deploy.safety import DRIVER_FAULTS, FAULTS
from solo.errors import SoloError


class Recording:
    """A log with a cursor: robot, depth source and operator of a replayed run.

    Reading the robot moves to the next tick, as the runtime does once per tick, first
    of all.
    """

    name = "replay"

    def __init__(self, folder: Path, contract: Contract) -> None:
        self.meta, self.records = read_log(folder, contract)
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
            problems=self._problems(),
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

    def _problems(self) -> dict[str, str]:
        """What the driver found wrong in the present tick."""
        bits = int(self._value("faults"))
        return {n: "recorded" for n in DRIVER_FAULTS if bits >> FAULTS.index(n) & 1}


class RecordedOperator(Operator):
    """What the operator of a recording did."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def read(self, now: float) -> OperatorInput:
        """The input of the present tick."""
        value = self._recording._value
        vx, vy, wz = (float(v) for v in value("wanted_velocity"))
        age = float(value("command_age_s"))
        return OperatorInput(now - age, (vx, vy, wz), Request(int(value("request"))))


@dataclass(frozen=True, eq=False)
class ReplayResult:
    """What the policy did in the situations of a log; one row per tick."""

    actions: np.ndarray
    """Actions [T, joints]; zero where the policy was not in control."""
    phases: np.ndarray
    """Phases [T], see `solo.deploy.phase.Phase`."""
    max_abs_difference: float
    """Largest difference from the recorded actions, in units of action."""
    num_phase_differences: int
    """Ticks in another phase than the recorded one."""


def replay(
    recording: Recording, policy: Policy, cfg: RuntimeCfg | None = None
) -> ReplayResult:
    """Run the whole log through the runtime; it begins in the log's start phase."""
    recording.start()
    runtime = Runtime(
        recording.contract,
        recording,
        policy,
        RecordedOperator(recording),
        recording if recording.contract.needs_depth else None,
        replace(cfg or RuntimeCfg(), start=recording.start_phase),
    )
    actions, phases = [], []
    for _ in range(len(recording)):
        runtime.tick(recording.next_time_s())
        actions.append(runtime.snapshot.action)
        phases.append(runtime.phase)
    recorded = recording.records
    difference = np.abs(np.array(actions) - recorded["action"])
    return ReplayResult(
        np.array(actions),
        np.array(phases),
        float(difference.max()),
        int((np.array(phases) != recorded["phase"]).sum()),
    )


class ReplayCamera(Camera):
    """The depth images of a log at the times they were taken, over and over."""

    name = "replay"

    def __init__(
        self,
        folder: Path,
        contract: Contract,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        _, records = read_log(folder, contract)
        _, rows = np.unique(records["depth_sequence"], return_index=True)
        rows = rows[np.isfinite(records["depth_age_s"][rows])]
        if "depth_mm" not in records or len(rows) == 0:
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
