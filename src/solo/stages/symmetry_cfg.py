"""Mirror images of what students and reconstructors see, from the robot's model.

Configurations hold them as plain data: ``source`` and ``signs`` of a
`solo.algorithms.mirror.SignedMap`.
"""

from __future__ import annotations

from typing import Any

import torch

from solo.algorithms.mirror import (
    MirrorMaps,
    SignedMap,
    check_pose,
    join,
    joint_mirror,
)
from solo.envs.observations_cfg import GROUPS, Stage, make_observations
from solo.robots.build import build_spec
from solo.robots.robot_cfg import RobotCfg


def mirror_of_robot(robot: RobotCfg, stage: Stage = "student") -> MirrorMaps:
    """Mirror maps of the observation groups of a stage, from the robot alone.

    Raises:
        SoloError: Robot or default pose are not symmetric.
    """
    joints = joint_mirror(build_spec(robot).compile(), robot.joint_names)
    default = robot.joint_values(robot.default_joint_pos)
    check_pose(joints, torch.tensor(default))
    groups = make_observations(robot, stage)
    return MirrorMaps.of_terms({n: list(g.terms) for n, g in groups.items()}, joints)


def student_mirror(robot: RobotCfg) -> dict[str, Any]:
    """Arguments of `solo.networks.symmetry.Mirror`."""
    maps = mirror_of_robot(robot)
    parts = [maps.groups[g] for g in GROUPS["student"]]
    vectors = join(part for part in parts if isinstance(part, SignedMap))
    return {"vector": _plain(vectors), "actions": _plain(maps.actions)}


def window_mirror(robot: RobotCfg) -> dict[str, list[Any]]:
    """Mirror of one frame of proprioception, for `ReconstructionLearner`."""
    frame = mirror_of_robot(robot, "perceptive").groups["proprioception_window"]
    assert isinstance(frame, SignedMap)
    return _plain(frame)


def _plain(signed: SignedMap) -> dict[str, list[Any]]:
    return {"source": list(signed.source), "signs": list(signed.signs)}
