"""Curriculum curves of training runs, read from their TensorBoard files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from solo.errors import SoloError
from solo.results import LevelCurve
from solo.stages import curves

TAG = "Curriculum/terrain_levels/mean"
"""Mean level of all robots."""

CEILING = 5.5
"""Where the mean saturates when robots that solve the top level restart at a random one
(paper)."""

LAST_SHARE = 0.1
"""Share of a curve that its final level is the mean of. Not stated in the paper; single
iterations oscillate."""


def read_curve(folder: Path, name: str | None = None) -> LevelCurve:
    """Read the curve of a run.

    Raises:
        SoloError: The folder holds no such curve.
    """
    curve = curves.read_curves(folder, (TAG,)).get(TAG)
    if curve is None:
        raise SoloError(
            f"The folder {str(folder)!r} has no curve {TAG!r}. Give the folder of a "
            "run of `solo train` that logs to TensorBoard and has done an iteration."
        )
    return LevelCurve(
        name=name or folder.resolve().name,
        iterations=tuple(curve.iterations.tolist()),
        levels=tuple(curve.values.tolist()),
        final_level=curve.last_mean(LAST_SHARE),
        highest_level=float(curve.values.max()),
    )


def read_curves(folders: Sequence[Path], names: Sequence[str] = ()) -> list[LevelCurve]:
    """Read the curves of several runs.

    Args:
        folders: Of the runs.
        names: Labels, one per run; the folders' names if there are none.

    Raises:
        SoloError: A curve is missing, or the labels do not fit.
    """
    if names and len(names) != len(folders):
        raise SoloError(
            f"There are {len(names)} labels for {len(folders)} runs. Give one for each "
            "run, or none."
        )
    labels = names or [None] * len(folders)
    return [read_curve(f, name) for f, name in zip(folders, labels, strict=True)]
