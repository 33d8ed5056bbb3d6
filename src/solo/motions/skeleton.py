"""Which joints do what, read from the robot's geometry instead of from names."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from solo.errors import SoloError
from solo.robots.robot_cfg import RobotCfg
from solo.robots.view import standing_pose

ROOT_DOFS = 6
"""Degrees of freedom of the free joint, ahead of all others."""

ROOT_QPOS = 7
"""Positions of the free joint, ahead of all others."""


@dataclass(frozen=True, eq=False)
class Skeleton:
    """A compiled robot in its default pose, with its joints sorted by function.

    Joint indices count the policy joints from 0.
    """

    model: mujoco.MjModel
    """The robot alone, without ground."""
    default_qpos: np.ndarray
    """Default pose, standing at the origin, [7 + J]."""
    foot_bodies: tuple[int, int]
    """Body of the left and of the right foot."""
    legs: tuple[tuple[int, ...], tuple[int, ...]]
    """Joints from the base to the left and to the right foot."""
    waist: tuple[tuple[int, int, float], ...]
    """Joints from base to torso: index, axis (0 x, 1 y, 2 z), sign of the axis."""
    arms: tuple[tuple[tuple[int, float], ...], tuple[tuple[int, float], ...]]
    """Joints of the left and right arm that swing it forward and back, from the
    shoulder down: index and sign, +1 if positive turns about the base's +y."""
    half_width_m: float
    """Half the distance between the feet in the default pose."""
    com_height_m: float
    """Height of the centre of mass above the soles in the default pose."""

    @property
    def mass_kg(self) -> float:
        """Mass of the whole robot."""
        return float(self.model.body_subtreemass[1])


def make_skeleton(robot: RobotCfg) -> Skeleton:
    """Compile a robot and find its limbs.

    Raises:
        SoloError: A leg does not have six joints, so the foot cannot be placed.
    """
    model, data = standing_pose(robot)
    feet = tuple(model.body(foot.body).id for foot in robot.feet)
    legs = tuple(_joints_to(model, body) for body in feet)
    for foot, leg in zip(robot.feet, legs, strict=True):
        if len(leg) != 6:
            raise SoloError(
                f"{robot.name}: {len(leg)} joints lead to foot {foot.body!r}; motions "
                "can be made for 6. Use clips from files instead."
            )
    torso = _joints_to(model, model.body(robot.torso_body).id)
    waist = tuple((joint, *_world_axis(data, joint)) for joint in torso)
    arms: tuple[list, list] = ([], [])
    for name in robot.find_joints(robot.upper_body_joints):
        joint = robot.joint_names.index(name)
        axis, sign = _world_axis(data, joint)
        if joint in torso or axis != 1:
            continue
        is_right = int(data.xanchor[joint + 1, 1] < data.qpos[1])
        arms[is_right].append((joint, sign))
    return Skeleton(
        model=model,
        default_qpos=data.qpos.copy(),
        foot_bodies=(feet[0], feet[1]),
        legs=(legs[0], legs[1]),
        waist=waist,
        arms=(tuple(arms[0]), tuple(arms[1])),
        half_width_m=0.5 * float(data.xpos[feet[0], 1] - data.xpos[feet[1], 1]),
        com_height_m=float(data.subtree_com[1, 2]),
    )


def _joints_to(model: mujoco.MjModel, body: int) -> tuple[int, ...]:
    """Policy joints on the way from the base to a body."""
    joints = []
    while body:
        first, count = model.body_jntadr[body], model.body_jntnum[body]
        joints += [first + k - 1 for k in reversed(range(count)) if first + k > 0]
        body = model.body_parentid[body]
    return tuple(int(joint) for joint in reversed(joints))


def _world_axis(data: mujoco.MjData, joint: int) -> tuple[int, float]:
    """The world axis nearest to a joint's axis in the default pose, and its sign."""
    direction = data.xaxis[joint + 1]
    axis = int(np.abs(direction).argmax())
    return axis, float(np.sign(direction[axis]))
