"""Synthesis of walking: feet on a schedule, a pendulum above them, legs in between.

One period of a steady gait is made in this order:

1. Footholds. The robot's nominal heading frame moves with the commanded velocity. A
   foot stands under its hip in the middle of its stance, and swings to the next such
   place.
2. Zero-moment point (ZMP). It rests in the standing sole, rolls a little forward, and
   crosses over while both feet stand.
3. Centre of mass: the periodic path of a linear inverted pendulum with that ZMP.
4. Base and arms: small rotations with the steps, arms opposite to the legs, torso
   upright.
5. Inverse kinematics of the legs for every frame.
6. The real robot has swinging legs and arms, so its ZMP differs from the pendulum's.
   Measure it, correct step 2 by the difference, and repeat from step 3.
"""

from __future__ import annotations

import mujoco
import numpy as np

from solo.motions import rotations
from solo.motions.clip import CONTROL_HZ, MotionClip
from solo.motions.footsteps import (
    FootPaths,
    GaitCfg,
    follow_zmp,
    nominal_path,
    place_feet,
    smooth_on_path,
    wanted_zmp,
)
from solo.motions.leg_ik import NoGaitError, PathTarget, solve_path
from solo.motions.skeleton import ROOT_QPOS, Skeleton
from solo.robots.robot_cfg import FootCfg, RobotCfg

LEG_JOINTS = (5, 6)
"""Numbers of joints of a leg with which a foot can be placed."""

_ZMP_ROUNDS = 12
"""Most corrections of the ZMP; slow gaits need three, 0.9 m/s needs eight."""

_ZMP_TOLERANCE_M = 0.002
"""A smaller correction is the last one."""

_ZMP_HARMONICS = 8
"""Harmonics of the period that are corrected; above, differences are noise."""


def make_gait(robot: RobotCfg, skeleton: Skeleton, cfg: GaitCfg) -> MotionClip:
    """Make one period of a steady gait.

    Raises:
        UnreachableError: The legs cannot reach the footholds.
    """
    num_frames = 2 * round(CONTROL_HZ / cfg.step_hz)  # Both steps get the same frames.
    period_s = num_frames / CONTROL_HZ
    time = np.arange(num_frames + 1) / CONTROL_HZ  # The last frame closes the period.
    half_width_m = cfg.width * skeleton.half_width_m
    feet = place_feet(cfg, half_width_m, _half_length(robot.feet[0]), time, period_s)
    upper = _upper_body(skeleton, cfg, time, period_s)
    wanted = wanted_zmp(cfg, feet)[:-1]
    plan, qpos = wanted, upper
    for _ in range(_ZMP_ROUNDS):
        com = follow_zmp(cfg, plan, time[:-1], skeleton.com_height_m)
        com = np.append(com, _one_period_on(cfg, com[0], period_s))
        qpos = _solve_legs(robot, skeleton, feet, com, qpos)
        clip = _make_clip(robot, cfg.name, qpos)
        missing = wanted - measure_zmp(skeleton, clip)[:-1]
        correction = smooth_on_path(cfg, missing, time[:-1], _ZMP_HARMONICS)
        if np.abs(correction).max() < _ZMP_TOLERANCE_M:
            break
        plan = plan + correction
    return clip


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


def make_stand(
    robot: RobotCfg, skeleton: Skeleton, name: str, seconds: float
) -> MotionClip:
    """Stand near the default pose: soles flat, centre of mass over their middle."""
    cfg = GaitCfg(name, clearance_m=0.0, base_drop_m=0.002)
    time = np.zeros(1)
    feet = place_feet(cfg, skeleton.half_width_m, 0.0, time, 1.0)
    upper = skeleton.default_qpos[None].copy()
    upper[:, 2] -= cfg.base_drop_m
    qpos = _solve_legs(robot, skeleton, feet, feet.sole_w.mean(0), upper)
    return _make_clip(
        robot, cfg.name, qpos.repeat(round(seconds * CONTROL_HZ) + 1, axis=0)
    )


def _make_clip(robot: RobotCfg, name: str, qpos: np.ndarray) -> MotionClip:
    return MotionClip(
        name=name,
        fps=CONTROL_HZ,
        joint_names=robot.joint_names,
        root_pos_w=qpos[:, :3],
        root_quat_w=qpos[:, 3:ROOT_QPOS],
        joint_pos=qpos[:, ROOT_QPOS:],
        loops=True,
    )


def _upper_body(
    skeleton: Skeleton, cfg: GaitCfg, time: np.ndarray, period_s: float
) -> np.ndarray:
    """Everything but the legs, as positions [T, 7 + J] with the legs by default."""
    qpos = np.repeat(skeleton.default_qpos[None], len(time), axis=0)
    phase = 2 * np.pi * time / period_s
    # 1 while the left leg is foremost, -1 while the right one is.
    stride = np.cos(phase - np.pi * (cfg.duty - 0.5))
    # 1 in the middle of the left stance, -1 in that of the right.
    sway = np.cos(phase - np.pi * cfg.duty)
    position, heading = nominal_path(cfg, time)
    qpos[:, 0], qpos[:, 1] = np.real(position), np.imag(position)
    qpos[:, 2] += cfg.bob_m * np.cos(2 * phase - 2 * np.pi * cfg.duty) - cfg.base_drop_m
    tilt = np.zeros((3, len(time)))
    tilt[0] = cfg.roll_rad * sway
    tilt[1] = cfg.lean_rad
    tilt[2] = -cfg.yaw_rad * stride
    quat = rotations.about_axis(2, heading + tilt[2])
    for axis in (1, 0):
        quat = rotations.multiply(quat, rotations.about_axis(axis, tilt[axis]))
    qpos[:, 3:ROOT_QPOS] = quat
    # The torso stays upright apart from the lean, and turns against the base.
    against = tilt * [[1.0], [0.0], [1.6]]
    for joint, axis, sign in skeleton.waist:
        qpos[:, ROOT_QPOS + joint] -= sign * against[axis]
    for arm, side in zip(skeleton.arms, (1.0, -1.0), strict=True):
        # Backward with its own leg in front; the elbow follows by a third.
        for share, (joint, sign) in zip((1.0, 0.35), arm, strict=False):
            swing = sign * side * share * cfg.arm_rad * stride
            qpos[:, ROOT_QPOS + joint] += swing
    return qpos


def _solve_legs(
    robot: RobotCfg,
    skeleton: Skeleton,
    feet: FootPaths,
    com: np.ndarray,
    start: np.ndarray,
) -> np.ndarray:
    """Put the soles on their paths and the centre of mass on its own.

    Raises:
        NoGaitError: A leg has neither five nor six joints, or does not reach.
    """
    for foot, leg in zip(robot.feet, skeleton.legs, strict=True):
        if len(leg) not in LEG_JOINTS:
            raise NoGaitError(
                f"{robot.name}: {len(leg)} joints lead to foot {foot.body!r}; motions "
                "can be made for 5 and 6. Train it with motions of its own, or without "
                "AMP."
            )
    quat = rotations.multiply(
        rotations.about_axis(2, feet.yaw), rotations.about_axis(1, feet.pitch)
    )  # [2, T, 4]
    middle = np.stack(
        [np.real(feet.sole_w), np.imag(feet.sole_w), feet.height_m], axis=-1
    )
    offset = np.array([[_sole_centre(foot)] for foot in robot.feet])  # [2, 1, 3]
    target = PathTarget(
        com_xy_w=np.stack([np.real(com), np.imag(com)], axis=1),
        feet_pos_w=(middle - rotations.rotate(quat, offset)).swapaxes(0, 1),
        feet_quat_w=quat.swapaxes(0, 1),
    )
    return solve_path(skeleton, start, target)


def _sole_centre(foot: FootCfg) -> tuple[float, float, float]:
    """Middle of the sole in the frame of the foot body, metres."""
    x = [point[0] for point in foot.points.values()]
    return (0.5 * (max(x) + min(x)), 0.0, foot.sole_z)


def _half_length(foot: FootCfg) -> float:
    """Half the distance between the foremost and the hindmost sole point, metres."""
    x = [point[0] for point in foot.points.values()]
    return 0.5 * (max(x) - min(x))


def _one_period_on(cfg: GaitCfg, point: complex, period_s: float) -> complex:
    """Where a point of the gait is a period later."""
    origin, yaw = nominal_path(cfg, np.array([period_s]))
    return complex(point * np.exp(1j * yaw[0]) + origin[0])
