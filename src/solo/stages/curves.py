"""Curves of training runs: read from TensorBoard files, and kept in a smaller one."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from solo.errors import SoloError
from solo.files import read_json
from solo.runs.folder import CONFIG


@dataclass(frozen=True, eq=False)
class Curve:
    """A logged value over the iterations of a run."""

    iterations: np.ndarray
    """int64 [T], increasing."""
    values: np.ndarray
    """float64 [T]."""

    def last_mean(self, share: float = 0.1) -> float:
        """Mean over the last part; single iterations oscillate."""
        count = max(1, round(share * len(self.values)))
        return float(self.values[-count:].mean())


def read_curves(folder: Path, tags: Iterable[str] | None = None) -> dict[str, Curve]:
    """Read the curves of a run; of an iteration that was repeated, the last value.

    Tags that are missing are left out; without any, all are read.

    Raises:
        SoloError: There is no such folder.
    """
    if not folder.is_dir():
        raise SoloError(
            f"There is no folder {str(folder)!r}. Give the folder of a training run."
        )
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    # All values: the default keeps a random part of long curves. Orphans are what a
    # resumed run repeats.
    events = EventAccumulator(
        str(folder), size_guidance={"scalars": 0}, purge_orphaned_data=False
    )
    events.Reload()
    found = events.Tags()["scalars"]
    curves = {}
    for tag in found if tags is None else [tag for tag in tags if tag in found]:
        scalars = sorted(events.Scalars(tag), key=lambda event: event.wall_time)
        by_iteration = {event.step: event.value for event in scalars}
        iterations = sorted(by_iteration)
        curves[tag] = Curve(
            np.array(iterations, dtype=np.int64),
            np.array([by_iteration[i] for i in iterations], dtype=np.float64),
        )
    return curves


def write_log(folder: Path, curves: Mapping[str, Curve], every: int) -> None:
    """Write a TensorBoard log with one value, a mean, for each `every` iterations."""
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder)) as writer:
        for tag, curve in curves.items():
            for part in np.split(
                np.arange(len(curve.values)), range(every, len(curve.values), every)
            ):
                last = int(curve.iterations[part[-1]])
                writer.add_scalar(tag, curve.values[part].mean(), last)


_NOT_SETTINGS = ("seed", "device", "threads", "versions", "resumed")
"""Entries of ``run.json`` in which seeds of one setting may differ."""


def group_runs(
    folders: Sequence[Path], labels: Sequence[str] = ()
) -> dict[str, list[Path]]:
    """Put runs together that have the same label, or differ in their seeds alone.

    Without labels, a group is named after the common beginning of the folders' names.

    Raises:
        SoloError: The labels do not fit.
    """
    if labels and len(labels) != len(folders):
        raise SoloError(
            f"The labels name {len(labels)} of {len(folders)} runs. Give one for each "
            "run, or none."
        )
    by_key: dict[str, list[Path]] = {}
    for index, folder in enumerate(folders):
        key = labels[index] if labels else _settings_of(folder)
        by_key.setdefault(key, []).append(folder)
    if labels:
        return by_key
    groups: dict[str, list[Path]] = {}
    for runs in by_key.values():
        name = label = _common_name(runs)
        while label in groups:  # Other settings whose folders begin alike.
            label = f"{name} ({len(groups) + 1})"
        groups[label] = runs
    return groups


def _settings_of(folder: Path) -> str:
    """What tells settings apart; a folder without ``run.json`` is like no other."""
    if not (folder / CONFIG).is_file():
        return str(folder)
    run = read_json(folder / CONFIG, "Give the folder of a training run.")
    run = {"num_processes": 1, **run}  # It was not always written down.
    return json.dumps(
        {k: v for k, v in run.items() if k not in _NOT_SETTINGS}, sort_keys=True
    )


def _common_name(folders: Sequence[Path]) -> str:
    names = [folder.resolve().name for folder in folders]
    if len(names) == 1:
        return names[0]
    alike = itertools.takewhile(lambda c: len(set(c)) == 1, zip(*names, strict=False))
    common = "".join(letters[0] for letters in alike)
    common = re.sub(r"[-_. ]*(seed|s)?[-_. ]*$", "", common)
    return f"{common or names[0]}, {len(names)} seeds"
