"""What a run leaves behind: the last two seconds before a fault, and full logs.

Both hold the same record per tick. Files are written by a thread, so that the disk
does not hold up the control loop, and written aside and renamed, so that a file is
either whole or not there.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from solo.deploy.contract import Contract
from solo.deploy.phase import Phase, Request
from solo.errors import SoloError
from solo.files import read_json, read_npz, write_json, written_aside

VERSION = 1
"""Of the record; a log of another version is refused."""
PART_TICKS = 500
"""Ticks per file of a log: ten seconds."""


def record_fields(contract: Contract) -> dict[str, tuple[tuple[int, ...], type]]:
    """Shape and type of each quantity that a tick records. Times are in seconds."""
    joints = (len(contract.joints.names),)
    fields: dict[str, tuple[tuple[int, ...], type]] = {
        "time_s": ((), np.float64),
        "phase": ((), np.uint8),
        "faults": ((), np.uint32),
        "state_age_s": ((), np.float64),
        "depth_age_s": ((), np.float64),
        "command_age_s": ((), np.float64),
        "tick_s": ((), np.float64),
        "joint_pos": (joints, np.float64),
        "joint_vel": (joints, np.float64),
        "joint_torque": (joints, np.float64),
        "quat_wxyz": ((4,), np.float64),
        "ang_vel_b": ((3,), np.float64),
        "wanted_velocity": ((3,), np.float64),
        "request": ((), np.uint8),
        "command": ((3,), np.float64),
        "action": (joints, np.float64),
        "target": (joints, np.float64),
        "kp": (joints, np.float64),
        "kd": (joints, np.float64),
        "depth_sequence": ((), np.int64),
    }
    if contract.needs_depth:
        shape = (contract.depth.output_height, contract.depth.output_width)
        fields["depth_mm"] = (shape, np.uint16)
    return fields


class Ring:
    """The records of the last ticks, in memory that never grows."""

    def __init__(self, contract: Contract, length: int) -> None:
        self._values = {
            name: np.zeros((length, *shape), dtype)
            for name, (shape, dtype) in record_fields(contract).items()
        }
        self.length, self.count = length, 0

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a record; quantities that are missing in it become zero."""
        row = self.count % self.length
        for name, values in self._values.items():
            value = record.get(name)
            values[row] = 0 if value is None or np.size(value) == 0 else value
        self.count += 1

    def copy(self) -> dict[str, np.ndarray]:
        """The records, oldest first."""
        number = min(self.count, self.length)
        rows = np.arange(self.count - number, self.count) % self.length
        return {name: values[rows] for name, values in self._values.items()}

    def view(self) -> dict[str, np.ndarray]:
        """The records in the order of memory, not copied; before the ring closes."""
        return {name: values[: self.count] for name, values in self._values.items()}


class LogWriter:
    """Writes arrays to files in a thread of its own."""

    def __init__(self) -> None:
        self.failure: str | None = None
        """Why a file could not be written; the run goes on without it."""
        self._queue: queue.Queue[tuple[Path, Mapping[str, np.ndarray]] | None]
        self._queue = queue.Queue(maxsize=8)
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def put(self, path: Path, arrays: Mapping[str, np.ndarray]) -> bool:
        """Hand arrays over; false, and nothing is written, if the disk is behind."""
        try:
            self._queue.put_nowait((path, arrays))
        except queue.Full:
            self.failure = f"{path} was dropped: the disk is too slow"
            return False
        return True

    def close(self) -> None:
        """Wait until everything is on disk."""
        self._queue.put(None)
        self._thread.join(timeout=30.0)

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            try:
                write_npz(*item)
            except SoloError as error:
                self.failure = str(error)


class RunLog:
    """The whole run, as a folder of parts of ten seconds each."""

    def __init__(
        self,
        folder: Path,
        contract: Contract,
        writer: LogWriter,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        """Create the folder and its ``run.json``."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SoloError(
                f"Cannot make the log folder {str(folder)!r}: {error.strerror}. Choose "
                "another with --log."
            ) from error
        if any(folder.iterdir()):
            raise SoloError(
                f"The log folder {str(folder)!r} is not empty. Choose another with "
                "--log, so that no run is overwritten."
            )
        joints = contract.joints
        write_json(
            folder / "run.json",
            {
                "version": VERSION,
                "joint_names": list(joints.names),
                "control_hz": contract.control_hz,
                **(meta or {}),
            },
        )
        self.folder = folder
        self._contract, self._writer, self._num_parts = contract, writer, 0
        self._part = Ring(contract, PART_TICKS)

    def append(self, record: Mapping[str, Any]) -> None:
        """Add the record of a tick."""
        self._part.append(record)
        if self._part.count == PART_TICKS:
            self._flush()

    def close(self) -> None:
        """Hand the last part over; closing the writer puts it on disk."""
        if self._part.count:
            self._flush()

    def _flush(self) -> None:
        # The part is full or the last one, and is not used again: no copy.
        self._writer.put(self.folder / f"{self._num_parts:05d}.npz", self._part.view())
        self._num_parts += 1
        self._part = Ring(self._contract, PART_TICKS)


def write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays to a file that is either whole or not there."""
    with written_aside(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, **dict(arrays))  # type: ignore[arg-type]


def read_log(
    folder: Path, contract: Contract
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The description of a run and its records.

    Raises:
        SoloError: It is not a log, one of another version, robot or rate, or one whose
            records are not ours.
    """
    parts = sorted(folder.glob("[0-9]*.npz"))
    if not (folder / "run.json").is_file() or not parts:
        raise SoloError(
            f"{str(folder)!r} is not the log of a run: it has no run.json with parts. "
            "Give the folder that `solo deploy --log` wrote."
        )
    hint = "Give the folder that `solo deploy --log` wrote, as it was."
    meta = read_json(folder / "run.json", hint)
    if meta.get("version") != VERSION:
        raise SoloError(
            f"The log {str(folder)!r} has version {meta.get('version')}; this program "
            f"reads version {VERSION}. Replay it with the program that wrote it."
        )
    loaded = [read_npz(part, hint) for part in parts]
    try:
        records = {k: np.concatenate([p[k] for p in loaded]) for k in loaded[0]}
    except (KeyError, ValueError) as error:
        raise SoloError(
            f"The parts of the log {str(folder)!r} do not fit together: {error}. {hint}"
        ) from error
    _check(folder, meta, records, contract)
    return meta, records


def _check(
    folder: Path,
    meta: Mapping[str, Any],
    records: Mapping[str, np.ndarray],
    contract: Contract,
) -> None:
    names = meta.get("joint_names")
    if names != list(contract.joints.names):
        listed = ", ".join(map(str, names)) if isinstance(names, list) else names
        raise SoloError(
            f"The log {str(folder)!r} is of a robot with the joints {listed}; the "
            f"policy has {', '.join(contract.joints.names)}. Replay it with its own "
            "policy."
        )
    if meta.get("control_hz") != contract.control_hz:
        raise SoloError(
            f"The log {str(folder)!r} has {meta.get('control_hz')} Hz; the policy has "
            f"{contract.control_hz:g} Hz. Replay it with its own policy."
        )
    times = records.get("time_s", np.empty(0))
    expected = record_fields(contract)
    expected.pop("depth_mm", None)  # A log of a blind policy has none.
    if "depth_mm" in records and contract.needs_depth:
        expected = record_fields(contract)
    for name, (shape, dtype) in expected.items():
        found = records.get(name, np.empty(()))
        if found.shape != (len(times), *shape) or found.dtype != dtype:
            raise SoloError(
                f"The log {str(folder)!r} is damaged: {name} has shape "
                f"{list(found.shape)} and type {found.dtype}; expected "
                f"{[len(times), *shape]} and {np.dtype(dtype)}."
            )
    is_ordered = np.isfinite(times).all() and (np.diff(times) >= 0.0).all()
    is_known = np.isin(records["request"], list(Request)).all()
    has_start = meta.get("start", "IDLE") in Phase.__members__
    if not (len(times) and is_ordered and is_known and has_start):
        raise SoloError(
            f"The log {str(folder)!r} is damaged: its times do not increase, or it has "
            "requests or phases that do not exist."
        )
