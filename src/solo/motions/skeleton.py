"""Which joints do what, read from the robot's geometry instead of from names."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

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
    """Joints that move the left and the right foot alone, from the base down."""
    free_axes: tuple[int | None, int | None]
    """Axis of each foot (0 x, 1 y, 2 z) about which a leg of five joints cannot turn
    it at will; None for other legs."""
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
    """Compile a robot and find its limbs."""
    model, data = standing_pose(robot)
    feet = tuple(model.body(foot.body).id for foot in robot.feet)
    ways = tuple(_joints_to(model, body) for body in feet)
    # A waist between base and legs moves both feet; gaits leave it alone.
    legs = tuple(
        tuple(j for j in way if (j in ways[0]) != (j in ways[1])) for way in ways
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
        free_axes=(
            _free_axis(model, data, feet[0], legs[0]),
            _free_axis(model, data, feet[1], legs[1]),
        ),
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


def _free_axis(
    model: mujoco.MjModel, data: mujoco.MjData, body: int, leg: tuple[int, ...]
) -> int | None:
    """The foot's axis about which the leg cannot turn it at will, if there is one.

    Five joints leave one direction of six, of moving and turning, in which the foot
    cannot go; the axis is the largest part of turning in it.
    """
    if len(leg) != 5:
        return None
    moving, turning = np.empty((3, model.nv)), np.empty((3, model.nv))
    mujoco.mj_jacBody(model, data, moving, turning, body)
    to_foot = data.xmat[body].reshape(3, 3).T
    dofs = np.array(leg) + ROOT_DOFS
    jacobian = np.concatenate([to_foot @ moving[:, dofs], to_foot @ turning[:, dofs]])
    lacking = np.linalg.svd(jacobian)[0][:, -1]
    return int(np.abs(lacking[3:]).argmax())


def _world_axis(data: mujoco.MjData, joint: int) -> tuple[int, float]:
    """The world axis nearest to a joint's axis in the default pose, and its sign."""
    direction = data.xaxis[joint + 1]
    axis = int(np.abs(direction).argmax())
    return axis, float(np.sign(direction[axis]))
