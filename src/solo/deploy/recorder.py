"""What a tick looks like from outside, and the record of it that is kept."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from solo.deploy.camera import DepthImage
from solo.deploy.command import OperatorInput
from solo.deploy.contract import Contract
from solo.deploy.drivers.protocols import JointCommand, RobotState
from solo.deploy.log import LogWriter, Ring, RunLog
from solo.deploy.loop import LoopStats
from solo.deploy.phase import Phase
from solo.deploy.safety import Fault, fault_bits

if TYPE_CHECKING:
    from solo.deploy.bundle.policy import PolicyView

MAX_POST_MORTEMS = 20
"""Files per run; a fault that comes and goes must not fill the disk."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The last tick, for those who watch.

    The runtime replaces its snapshot and never changes one, and nobody else writes to
    its arrays: a dashboard can poll it from any thread without holding up the loop.
    """

    time_s: float
    """When the tick began."""
    phase: Phase
    """Phase of the runtime."""
    faults: tuple[Fault, ...]
    """What was wrong."""
    state: RobotState | None
    """What the robot measured."""
    image: DepthImage | None
    """What the camera saw."""
    command: np.ndarray
    """Velocity command vx, vy, wz [3] that the policy saw."""
    action: np.ndarray
    """Action of the policy [joints]."""
    target: JointCommand | None
    """What was sent to the robot; None if nothing."""
    stats: LoopStats
    """Deadline accounting; the one part that goes on counting."""
    note: str
    """Why the last request was refused; empty if it was not."""
    wish: OperatorInput
    """What the operator wanted."""
    ages_s: tuple[float, float, float] = (np.inf, np.inf, np.inf)
    """Age of robot state, depth image and operator input."""
    view: PolicyView | None = None
    """What the policy thought in its last step; None if it does not tell."""


class Recorder:
    """The last seconds in memory, the whole run on disk if asked for."""

    def __init__(
        self,
        contract: Contract,
        post_mortem_s: float = 2.0,
        folder: Path | None = None,
        run_log: RunLog | None = None,
        writer: LogWriter | None = None,
    ) -> None:
        """Reserve the memory.

        A fault leaves the last ``post_mortem_s`` in ``folder``, if there is one;
        ``writer`` writes them, ``run_log`` keeps the whole run.
        """
        self.contract = contract
        self.fault_counts: dict[str, int] = {}
        """How often each fault began."""
        self.num_post_mortems = 0
        """Files written for faults."""
        self._folder, self._run_log, self._writer = folder, run_log, writer
        self._ring = Ring(contract, round(post_mortem_s * contract.control_hz))
        self._active: set[str] = set()
        self._first = _next_number(folder) if folder is not None else 0

    def add(self, tick: Snapshot, begin_s: float) -> None:
        """Record a tick; faults that begin in it leave the last seconds on disk.

        It began at ``begin_s`` of `time.perf_counter`.
        """
        record = _record(tick)
        record["tick_s"] = time.perf_counter() - begin_s
        self._ring.append(record)
        if self._run_log is not None:
            self._run_log.append(record)
        for fault in tick.faults:
            if fault.name not in self._active:
                self.fault_counts[fault.name] = self.fault_counts.get(fault.name, 0) + 1
                self._post_mortem(tick.time_s, fault)
        self._active = {fault.name for fault in tick.faults}

    def _post_mortem(self, now: float, fault: Fault) -> None:
        if self._folder is None or self._writer is None:
            return
        if self.num_post_mortems >= MAX_POST_MORTEMS:
            return
        number = self._first + self.num_post_mortems
        path = self._folder / f"fault-{number:02d}-{fault.name}.npz"
        described = {
            "fault": np.array(fault.name),
            "reaction": np.array(fault.reaction.name.lower()),
            "message": np.array(fault.message),
            "fault_time_s": np.array(now),
            "joint_names": np.array(self.contract.joints.names),
        }
        if self._writer.put(path, {**self._ring.copy(), **described}):
            self.num_post_mortems += 1


def _next_number(folder: Path) -> int:
    """One more than the last run's, so that nothing is overwritten."""
    found = [re.match(r"fault-(\d+)-", path.name) for path in folder.glob("fault-*")]
    return max((int(match[1]) + 1 for match in found if match), default=0)


def _record(tick: Snapshot) -> dict[str, Any]:
    """Quantities of `solo.deploy.log.record_fields`; those that are missing are 0."""
    state_age_s, depth_age_s, command_age_s = tick.ages_s
    record: dict[str, Any] = {
        "time_s": tick.time_s,
        "phase": tick.phase,
        "faults": fault_bits(tick.faults),
        "state_age_s": state_age_s,
        "depth_age_s": depth_age_s,
        "command_age_s": command_age_s,
        "wanted_velocity": tick.wish.velocity,
        "request": tick.wish.request,
        "command": tick.command,
        "action": tick.action,
    }
    if tick.state is not None:
        for name in ("joint_pos", "joint_vel", "joint_torque", "quat_wxyz"):
            record[name] = getattr(tick.state, name)
        record["ang_vel_b"] = tick.state.ang_vel_b
    if tick.target is not None:
        record.update(target=tick.target.q, kp=tick.target.kp, kd=tick.target.kd)
    if tick.image is not None:
        record.update(depth_mm=tick.image.depth_mm, depth_sequence=tick.image.sequence)
    return record
