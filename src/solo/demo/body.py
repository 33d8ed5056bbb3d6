"""Robot and obstacle as a model to look at, without terrain and without physics."""

from __future__ import annotations

import mujoco
import numpy as np

from solo.envs.obstacle import OBSTACLE, ObstacleCfg, make_spec
from solo.robots.build import build_spec
from solo.robots.robot_cfg import RobotCfg

_AWAY_M = -100.0
"""Height of an obstacle that is not there."""


def make_body(robot: RobotCfg) -> mujoco.MjSpec:
    """The robot with its visual meshes, and the box behind it."""
    spec = mujoco.MjSpec()
    spec.attach(build_spec(robot), frame=spec.worldbody.add_frame())
    box = make_spec(ObstacleCfg())
    spec.attach(box, frame=spec.worldbody.add_frame(), prefix=f"{OBSTACLE}/")
    return spec


def body_qpos(robot: RobotCfg, qpos: np.ndarray) -> np.ndarray:
    """The state of `make_body` for that of a simulation, with or without the box."""
    num_robot = 7 + len(robot.joint_names)
    state = np.zeros(num_robot + 7)
    state[num_robot + 2], state[num_robot + 3] = _AWAY_M, 1.0
    state[: len(qpos)] = qpos
    return state
