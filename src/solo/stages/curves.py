"""Curves of training runs: read from TensorBoard files, and kept in a smaller one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from solo.errors import SoloError


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

    Args:
        folder: Of the run.
        tags: Which ones; those that are missing are left out. None: all.

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
