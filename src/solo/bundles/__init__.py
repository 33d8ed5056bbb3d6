"""What comes with the package: a policy and a teacher.

The policy is a bundle of `solo export`; the teacher is a run of `solo train pack`, for
those who want to begin with a later stage, or to train it further.

Each has a model card beside it: what it was trained on, what it can do and what not.
"""

from __future__ import annotations

from pathlib import Path

_SHIPPED = "g1.onnx"
"""The trained perceptive policy of the Unitree G1."""

SHIPPED_DIFFICULTY = 0.3
"""How difficult a terrain it is shown on unless told otherwise; see its card."""


def shipped_bundle() -> Path | None:
    """The bundle that demo and deployment use unless told otherwise; None if missing.

    A source tree between two trainings has none.
    """
    path = Path(__file__).parent / _SHIPPED
    return path if path.is_file() else None


SHIPPED = "shipped"
"""What to write on the command line instead of the path of a run."""


def shipped_teacher() -> Path:
    """Folder of the teacher that comes with the package, a packed run."""
    return Path(__file__).parent / "g1_teacher"
