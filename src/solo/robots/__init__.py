"""Robots as data: the Unitree G1, and what a second robot has to provide."""

import mjlab  # noqa: F401 - Must be first of ours and theirs, see solo.envs.

from solo.robots.robot_cfg import get_robot

__all__ = ["get_robot"]
