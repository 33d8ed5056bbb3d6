"""Where bodies are, and legs that put the feet in place, of many robots at once.

The search for a leg's joints takes 16 steps. A recording has tens of thousands of
frames whose motion is known in advance, so all of them go through each joint together.
"""

from __future__ import annotations

import mujoco
import numpy as np

from solo.motions import rotations

_ITERATIONS = 16
_MAX_STEP_RAD = 0.4
_DAMPING = 1e-5
"""Added to the diagonal of the normal equations, m^2 and rad^2; keeps a leg that is
almost straight from jumping."""
_TILT_WEIGHT = 0.15
"""Metres of place that a radian of the foot's rotation is worth: where a joint is at
its limit, the foot stands in place with its heel up rather than flat and elsewhere."""


def body_poses_w(
    model: mujoco.MjModel, qpos: np.ndarray, bodies: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Positions [M, bodies, 3] and rotations body to world [M, bodies, 4].

    Args:
        model: The robot alone.
        qpos: Its positions, [M, 7 + J].
        bodies: Which bodies, by index.
    """
    data = mujoco.MjData(model)
    pos = np.empty((len(qpos), len(bodies), 3))
    quat = np.empty((len(qpos), len(bodies), 4))
    for k, state in enumerate(qpos):
        data.qpos[:] = state
        mujoco.mj_kinematics(model, data)
        pos[k], quat[k] = data.xpos[bodies], data.xquat[bodies]
    return pos, quat


class LegSolver:
    """Joints of one leg that put its foot at a pose relative to the base."""

    def __init__(
        self, model: mujoco.MjModel, joints: tuple[int, ...], foot_body: int
    ) -> None:
        """Read the chain from the base to the foot.

        Args:
            model: The robot alone.
            joints: Six joints from the base to the foot; indices of policy joints.
            foot_body: Body of the foot.
        """
        self.joints = joints
        ids = np.array(joints) + 1  # Joint 0 of the model is the free one.
        self.low, self.high = model.jnt_range[ids].T
        self._steps = []
        for body in _chain(model, foot_body)[1:]:
            hinges = [int(j) for j in ids if model.jnt_bodyid[j] == body]
            self._steps.append(
                (
                    model.body_pos[body],
                    model.body_quat[body],
                    [(model.jnt_pos[j], model.jnt_axis[j]) for j in hinges],
                )
            )
        self.hip_b, self.reach_m = self._measure()

    def foot(
        self, angles: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Foot position [M, 3] and rotation [M, 4] in the base frame.

        Also returns anchor and axis of each joint, both [M, 6, 3].
        """
        pos = np.zeros((len(angles), 3))
        quat = np.tile([1.0, 0.0, 0.0, 0.0], (len(angles), 1))
        anchors, axes = [], []
        for offset, turn, hinges in self._steps:
            pos = pos + rotations.rotate(quat, offset)
            quat = rotations.multiply(quat, turn)
            for anchor, axis in hinges:
                anchors.append(pos + rotations.rotate(quat, anchor))
                axes.append(rotations.rotate(quat, axis))
                pos, quat = _turn(pos, quat, anchor, axis, angles[:, len(axes) - 1])
        return pos, quat, np.stack(anchors, axis=1), np.stack(axes, axis=1)

    def solve(
        self, start: np.ndarray, pos_b: np.ndarray, quat_b: np.ndarray
    ) -> np.ndarray:
        """Joint angles [M, 6] for foot poses, or as close to them as the leg gets.

        Args:
            start: Where the search begins, [M, 6]; the knees keep bending as there.
            pos_b: Wanted origins of the foot body, base frame, [M, 3]. Places out of
                reach are first pulled towards the hip.
            quat_b: Wanted rotations foot to base, [M, 4].
        """
        away = pos_b - self.hip_b
        length = np.linalg.norm(away, axis=1, keepdims=True)
        wanted = self.hip_b + away * np.minimum(1.0, self.reach_m / length)
        angles = np.clip(start, self.low, self.high)
        for _ in range(_ITERATIONS):
            pos, quat, anchors, axes = self.foot(angles)
            turn = rotations.multiply(quat_b, rotations.conjugate(quat))
            tilt = _TILT_WEIGHT * rotations.to_rotation_vector(turn)
            residual = np.concatenate([wanted - pos, tilt], axis=1)
            if np.abs(residual).max() < 1e-5:
                break
            lever = np.cross(axes, pos[:, None] - anchors)
            jacobian = np.concatenate([lever, _TILT_WEIGHT * axes], axis=2)  # [M, J, 6]
            move = _newton(jacobian, residual)
            # Joints at a limit stay there, and the others do what they can.
            stuck = (angles <= self.low) & (move < 0) | (angles >= self.high) & (
                move > 0
            )
            rows = stuck.any(axis=1)
            if rows.any():
                free = jacobian[rows] * ~stuck[rows][..., None]
                move[rows] = _newton(free, residual[rows])
            largest = np.abs(move).max(axis=1, keepdims=True)
            move *= np.minimum(1.0, _MAX_STEP_RAD / np.maximum(largest, 1e-9))
            angles = np.clip(angles + move, self.low, self.high)
        return angles

    def _measure(self) -> tuple[np.ndarray, float]:
        """The hip in the base frame, and how far from it the foot can be."""
        draw = np.random.default_rng(0).uniform(self.low, self.high, (4096, 6))
        pos, _, anchors, _ = self.foot(draw)
        hip = anchors[0, 0]
        return hip, 0.985 * float(np.linalg.norm(pos - hip, axis=1).max())


def _newton(jacobian: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """Damped step [M, J] for derivatives [M, J, 6] and what is missing [M, 6]."""
    normal = jacobian @ jacobian.swapaxes(1, 2) + _DAMPING * np.eye(jacobian.shape[1])
    return np.linalg.solve(normal, jacobian @ residual[..., None])[..., 0]


def _turn(
    pos: np.ndarray,
    quat: np.ndarray,
    anchor: np.ndarray,
    axis: np.ndarray,
    angle: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Turn a body about an axis through a point, both in the frame of the body."""
    turned = rotations.multiply(
        quat, rotations.from_rotation_vector(angle[:, None] * axis)
    )
    pivot = pos + rotations.rotate(quat, anchor)
    return pivot - rotations.rotate(turned, anchor), turned


def _chain(model: mujoco.MjModel, body: int) -> list[int]:
    """The bodies from the base to this one."""
    found = []
    while body:
        found.append(int(body))
        body = int(model.body_parentid[body])
    return found[::-1]
