"""Names that can be checked before what they stand for is loaded.

mjlab and torch take ten seconds to import; a misspelt name should not.
"""

from __future__ import annotations

from importlib.metadata import entry_points

AGENTS = ("zero", "random", "stand")
"""Agents that need no training, in `solo.evaluation.agents`."""

MOTIONS = (
    "stand",
    "walk_forward_0.30", "walk_forward_0.40", "walk_forward_0.50", "walk_forward_0.60",
    "walk_forward_0.70", "walk_forward_0.80", "walk_forward_0.90",
    "turn_left_0.40", "turn_right_0.40", "turn_left_0.70", "turn_right_0.70",
    "turn_left_1.00", "turn_right_1.00",
    "extra_walk_backward_0.20", "extra_walk_backward_0.40",
    "extra_side_left_0.15", "extra_curve_left_0.40", "extra_curve_left_0.70",
    "extra_side_right_0.15", "extra_curve_right_0.40", "extra_curve_right_0.70",
)  # fmt: skip
"""Clips that `solo.motions.catalogue` synthesises, in its order."""

ROBOTS = {"g1": "solo.robots.g1:G1"}
"""Robot that comes with the package to where its config is."""


def robot_places() -> dict[str, str]:
    """Every robot with a name to where its config is, as ``module:ATTRIBUTE``.

    Installed packages add robots through the entry point group ``solo.robots``.
    """
    others = {entry.name: entry.value for entry in entry_points(group="solo.robots")}
    return {**others, **ROBOTS}
