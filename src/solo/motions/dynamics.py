"""What a clip does as a body with mass: soles, centre of mass, zero-moment point."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from solo.motions.clip import MotionClip
from solo.motions.skeleton import Skeleton
from solo.robots.robot_cfg import RobotCfg


def measure_zmp(skeleton: Skeleton, clip: MotionClip) -> np.ndarray:
    """Zero-moment point of the whole body on the ground z = 0, complex [T], metres.

    Where the ground has to push so that the body moves as the clip does: from the
    rates of linear momentum and of angular momentum about the centre of mass.
    """
    model = skeleton.model
    data = mujoco.MjData(model)
    qpos = clip.extended_qpos(2)
    step_s = 1.0 / clip.fps
    count = len(qpos)
    momenta = np.zeros((count - 2, 6))
    com = np.zeros((count - 2, 3))
    for k in range(count - 2):
        data.qpos[:] = qpos[k + 1]
        mujoco.mj_differentiatePos(model, data.qvel, 2 * step_s, qpos[k], qpos[k + 2])
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_subtreeVel(model, data)
        momenta[k, :3] = skeleton.mass_kg * data.subtree_linvel[1]
        momenta[k, 3:] = data.subtree_angmom[1]
        com[k] = data.subtree_com[1]
    rates = (momenta[2:] - momenta[:-2]) / (2 * step_s)  # Newtons, newton metres.
    x, y, height = com[1:-1].T
    force = rates[:, 2] - skeleton.mass_kg * model.opt.gravity[2]
    zmp_x = x - (height * rates[:, 0] + rates[:, 4]) / force
    zmp_y = y - (height * rates[:, 1] - rates[:, 3]) / force
    return zmp_x + 1j * zmp_y


@dataclass(frozen=True, eq=False)
class SolePoints:
    """The points of both soles that can touch the ground, in each of T frames."""

    pos_w: tuple[np.ndarray, np.ndarray]
    """Left and right, each [T, P, 3], metres, world frame."""

    @property
    def lowest_m(self) -> np.ndarray:
        """Height of the lowest point of each sole, [2, T]."""
        return np.array([pos[..., 2].min(1) for pos in self.pos_w])

    @property
    def highest_m(self) -> np.ndarray:
        """Height of the highest point of each sole, [2, T]."""
        return np.array([pos[..., 2].max(1) for pos in self.pos_w])


def sole_points(robot: RobotCfg, skeleton: Skeleton, clip: MotionClip) -> SolePoints:
    """Place the soles of a clip by forward kinematics."""
    model = skeleton.model
    data = mujoco.MjData(model)
    local = [
        np.array([(x, y, foot.sole_z) for x, y in foot.points.values()])
        for foot in robot.feet
    ]
    points: tuple[list, list] = ([], [])
    for qpos in clip.qpos:
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        for side, body in enumerate(skeleton.foot_bodies):
            rotation = data.xmat[body].reshape(3, 3)
            points[side].append(local[side] @ rotation.T + data.xpos[body])
    return SolePoints((np.array(points[0]), np.array(points[1])))
