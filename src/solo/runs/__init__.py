"""Runs: what a training left behind, opened as one object.

`open_run` starts everything that goes on from a trained policy: resuming, the next
stage, evaluation, playing and export.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from solo.runs.folder import find_checkpoint

if TYPE_CHECKING:
    from solo.runs.run import Run


def open_run(name: Path | str) -> Run:
    """Open a trained policy from what it saved and nothing else.

    Args:
        name: Run folder (its last checkpoint), checkpoint, bundle ``*.onnx``,
            ``shipped`` or ``shipped-teacher``.

    Raises:
        SoloError: There is none, or it cannot be read.
    """
    path = find_checkpoint(name)

    from solo.runs.run import Run  # Loads torch and mjlab.

    return Run.open(path)
