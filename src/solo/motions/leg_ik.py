"""Inverse kinematics: legs that put the feet, and the base above them, in place."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from solo.errors import SoloError
from solo.motions import rotations
from solo.motions.skeleton import ROOT_DOFS, ROOT_QPOS, Skeleton

TOLERANCE = 1e-6
"""Largest error left, metres and radians."""

_MAX_ITERATIONS = 60
_MAX_STEP_RAD = 0.3
_DAMPING = 1e-9


class NoGaitError(SoloError):
    """The legs cannot walk as they are asked to."""


class UnreachableError(NoGaitError):
    """A foot or the base is asked to be where the legs do not reach."""


@dataclass(frozen=True, eq=False)
class PathTarget:
    """What T frames have to fulfil."""

    com_xy_w: np.ndarray
    """Centre of mass over the ground, [T, 2], metres."""
    feet_pos_w: np.ndarray
    """Origins of the left and right foot body, [T, 2, 3], metres."""
    feet_quat_w: np.ndarray
    """Rotations foot to world, [T, 2, 4]."""


def solve_path(skeleton: Skeleton, qpos: np.ndarray, target: PathTarget) -> np.ndarray:
    """Positions [T, 7 + J] with the legs, and the base, where a target wants them.

    Newton's method on 14 numbers (12 leg joints, base x and y) with as many conditions
    (two foot poses, centre of mass x and y). A leg of five joints leaves one rotation
    of its foot as it comes, see `Skeleton.free_axes`. Everything else, such as the
    height and rotation of the base and the arms, stays as given. The solution close to
    the start ``qpos`` is found, so the knees keep bending the way they do there.

    Raises:
        UnreachableError: The target cannot be reached.
    """
    data = mujoco.MjData(skeleton.model)
    legs = ROOT_QPOS + np.array(skeleton.legs[0] + skeleton.legs[1])
    solved = np.array(qpos)
    for frame, start in enumerate(qpos):
        data.qpos[:] = start
        if frame:
            # What changed since the last frame is the best guess for this one.
            data.qpos[legs] += solved[frame - 1, legs] - qpos[frame - 1, legs]
        _solve(skeleton, data, target, frame)
        solved[frame] = data.qpos
    return solved


def _solve(
    skeleton: Skeleton, data: mujoco.MjData, target: PathTarget, frame: int
) -> None:
    """Change the positions in ``data`` until they meet one frame of the target."""
    joints = np.array(skeleton.legs[0] + skeleton.legs[1])
    dofs = np.concatenate([[0, 1], joints + ROOT_DOFS])
    step = np.zeros(skeleton.model.nv)
    error = np.inf
    for _ in range(_MAX_ITERATIONS):
        residual, jacobian = _linearise(skeleton, data, target, frame)
        error = float(np.abs(residual).max())
        if error < TOLERANCE:
            return
        square = jacobian[:, dofs]
        # Damping only matters at a straight knee, where the system is singular.
        normal = square.T @ square + _DAMPING * np.eye(len(dofs))
        move = np.linalg.solve(normal, square.T @ residual)
        step[dofs] = move * min(1.0, _MAX_STEP_RAD / np.abs(move).max())
        mujoco.mj_integratePos(skeleton.model, data.qpos, step, 1.0)
    raise UnreachableError(
        f"Legs cannot reach the pose of frame {frame}: {error:.1e} m or rad remain, "
        f"{TOLERANCE:g} are allowed. Ask for a slower gait or a lower base."
    )


def _linearise(
    skeleton: Skeleton, data: mujoco.MjData, target: PathTarget, frame: int
) -> tuple[np.ndarray, np.ndarray]:
    """What is missing to the target, [14], and its derivative, [14, nv].

    One row less for each leg of five joints.
    """
    model = skeleton.model
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    com = np.empty((3, model.nv))
    mujoco.mj_jacSubtreeCom(model, data, com, 1)
    residuals = [target.com_xy_w[frame] - data.subtree_com[1, :2]]
    jacobians = [com[:2]]
    for side, body in enumerate(skeleton.foot_bodies):
        position, rotation = np.empty((3, model.nv)), np.empty((3, model.nv))
        mujoco.mj_jacBody(model, data, position, rotation, body)
        turn = rotations.to_rotation_vector(
            rotations.multiply(
                target.feet_quat_w[frame, side], rotations.conjugate(data.xquat[body])
            )
        )
        free = skeleton.free_axes[side]
        if free is not None:  # In the foot's own axes, without the one that is free.
            kept = np.delete(data.xmat[body].reshape(3, 3).T, free, axis=0)
            turn, rotation = kept @ turn, kept @ rotation
        residuals += [target.feet_pos_w[frame, side] - data.xpos[body], turn]
        jacobians += [position, rotation]
    return np.concatenate(residuals), np.concatenate(jacobians)
