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
"""Name of the policy, wherever a policy is asked for."""

SHIPPED_TEACHER = "shipped-teacher"
"""Name of the teacher, wherever a policy is asked for."""


def shipped_teacher() -> Path:
    """Folder of the teacher that comes with the package, a packed run."""
    return Path(__file__).parent / "g1_teacher"


def shipped_path(name: str) -> Path | None:
    """Where the policy or teacher of that name is; None for any other name."""
    if name == SHIPPED_TEACHER:
        return shipped_teacher()
    return shipped_bundle() if name == SHIPPED else None
