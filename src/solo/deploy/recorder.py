"""Keeps the record of every tick, and writes it out when something goes wrong."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from solo.deploy.command import OperatorInput
from solo.deploy.contract import Contract
from solo.deploy.log import LogWriter, Ring, RunLog
from solo.deploy.safety import Fault, fault_bits
from solo.deploy.snapshot import Snapshot

MAX_POST_MORTEMS = 20
"""Files per run; a fault that comes and goes must not fill the disk."""


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

        Args:
            contract: Joints, rate and image size.
            post_mortem_s: Length of the record that a fault leaves behind.
            folder: Where faults leave their record; None for nowhere.
            run_log: Record of the whole run.
            writer: Writes the files.
        """
        self.contract = contract
        self.fault_counts: dict[str, int] = {}
        """How often each fault began."""
        self.num_post_mortems = 0
        """Files written for faults."""
        self._folder, self._run_log, self._writer = folder, run_log, writer
        self._ring = Ring(contract, round(post_mortem_s * contract.control_hz))
        self._active: set[str] = set()

    def add(
        self,
        tick: Snapshot,
        wish: OperatorInput,
        ages_s: tuple[float, float, float],
        begin_s: float,
    ) -> None:
        """Record a tick; faults that begin in it leave the last seconds on disk.

        Args:
            tick: What happened.
            wish: What the operator wanted.
            ages_s: Age of state, image and operator input.
            begin_s: `time.perf_counter` at the start of the tick.
        """
        record = _record(tick, wish, ages_s)
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
        path = self._folder / f"fault-{self.num_post_mortems:02d}-{fault.name}.npz"
        described = {
            "fault": np.array(fault.name),
            "reaction": np.array(fault.reaction.name.lower()),
            "message": np.array(fault.message),
            "fault_time_s": np.array(now),
            "joint_names": np.array(self.contract.joints.names),
        }
        if self._writer.put(path, {**self._ring.copy(), **described}):
            self.num_post_mortems += 1


def _record(
    tick: Snapshot, wish: OperatorInput, ages_s: tuple[float, float, float]
) -> dict[str, Any]:
    """Quantities of `solo.deploy.log.record_fields`; those that are missing are 0."""
    record: dict[str, Any] = {
        "time_s": tick.time_s,
        "phase": tick.phase,
        "faults": fault_bits(tick.faults),
        "state_age_s": ages_s[0],
        "depth_age_s": ages_s[1],
        "command_age_s": ages_s[2],
        "wanted_velocity": wish.velocity,
        "request": wish.request,
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
