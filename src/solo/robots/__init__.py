"""Robots as data: the Unitree G1, and what a second robot has to provide."""

from __future__ import annotations

import mjlab  # noqa: F401 - Must be first, see solo.envs.

from solo.errors import unknown_name
from solo.robots.g1 import G1
from solo.robots.robot_cfg import RobotCfg

ROBOTS: dict[str, RobotCfg] = {G1.name: G1}
"""Name to robot; register an own robot by adding its config here."""


def get_robot(name: str) -> RobotCfg:
    """Look a robot up by name.

    Raises:
        SoloError: There is no robot of that name.
    """
    if name not in ROBOTS:
        raise unknown_name(
            "robot", name, ROBOTS, "See docs/own-robot.md to add another."
        )
    return ROBOTS[name]
