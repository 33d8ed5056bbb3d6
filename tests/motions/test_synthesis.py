"""The pieces that walking is made from: pendulum, inverse kinematics, ZMP."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from solo.errors import SoloError
from solo.motions.catalogue import make_clip, walk
from solo.motions.checks import measure
from solo.motions.clip import MotionClip
from solo.motions.footsteps import (
    GaitCfg,
    follow_zmp,
    nominal_path,
    place_feet,
    wanted_zmp,
)
from solo.motions.gait import make_gait, measure_zmp
from solo.motions.leg_ik import PathTarget, UnreachableError, solve_path
from solo.motions.skeleton import make_skeleton
from solo.robots.g1 import G1
from solo.robots.robot_cfg import RobotCfg

H_OVER_G = 0.67 / 9.81


def test_the_pendulum_of_one_harmonic():
    time = np.arange(50) / 50.0
    rate = 2 * np.pi
    com = follow_zmp(GaitCfg("x"), 0.1j * np.cos(rate * time), time, 0.67)
    expected = 0.1j * np.cos(rate * time) / (1 + H_OVER_G * rate**2)
    np.testing.assert_allclose(com, expected, atol=1e-12)


def test_the_pendulum_on_a_circle():
    # A ZMP that circles with the robot makes the centre of mass circle inside it.
    time = np.arange(60) / 50.0
    cfg = GaitCfg("x", vx=0.5, wz=0.8)
    centre = 1j * 0.5 / 0.8
    zmp = nominal_path(cfg, time)[0]
    com = follow_zmp(cfg, zmp, time, 0.67)
    expected = centre + (zmp - centre) / (1 + H_OVER_G * 0.8**2)
    np.testing.assert_allclose(com, expected, atol=1e-12)


@pytest.mark.parametrize("turn", [0.0, 0.7])
def test_the_pendulum_obeys_its_equation(turn):
    cfg = walk(0.5, wz=turn)
    num = 2000
    time = np.arange(num) / num * 1.2
    zmp = wanted_zmp(cfg, place_feet(cfg, 0.1, 0.08, time, 1.2))
    com = follow_zmp(cfg, zmp, time, 0.67)
    second = (com[2:] - 2 * com[1:-1] + com[:-2]) / (1.2 / num) ** 2
    residual = com[1:-1] - H_OVER_G * second - zmp[1:-1]
    assert np.abs(residual).max() < 1e-3


def test_feet_stand_under_the_hips_in_the_middle_of_the_stance():
    cfg = replace(walk(0.6), double_support=0.2)
    time = np.array([0.0, 0.3, 0.6, 0.9]) * 1.2  # Left duty is 0.6: its middle at 0.3.
    feet = place_feet(cfg, 0.1, 0.08, time, 1.2)
    assert feet.sole_w[0, 1] == pytest.approx(0.6 * 0.36 + 0.1j)
    assert feet.stance[0, 1] == pytest.approx(0.5)
    np.testing.assert_allclose(feet.sole_w[0, 0], feet.sole_w[0, 1])
    assert feet.height_m[0, 0] == 0.0


def test_legs_reach_a_pose_that_is_known_to_exist(skeleton):
    rng = np.random.default_rng(3)
    model, data = skeleton.model, mujoco.MjData(skeleton.model)
    legs = 7 + np.array(skeleton.legs[0] + skeleton.legs[1])
    truth = np.tile(skeleton.default_qpos, (20, 1))
    truth[:, legs] += rng.uniform(-0.2, 0.2, (20, 12))
    truth[:, :2] += rng.uniform(-0.1, 0.1, (20, 2))
    com, pos, quat = np.zeros((20, 2)), np.zeros((20, 2, 3)), np.zeros((20, 2, 4))

    def place(qpos):
        data.qpos[:] = qpos
        mujoco.mj_forward(model, data)
        feet = list(skeleton.foot_bodies)
        return data.subtree_com[1, :2].copy(), data.xpos[feet], data.xquat[feet]

    for frame, qpos in enumerate(truth):
        com[frame], pos[frame], quat[frame] = place(qpos)
    start = np.tile(skeleton.default_qpos, (20, 1))
    start[:, 2:7] = truth[:, 2:7]
    solved = solve_path(skeleton, start, PathTarget(com, pos, quat))
    np.testing.assert_allclose(solved, truth, atol=1e-4)
    for frame, qpos in enumerate(solved):
        found_com, found_pos, _ = place(qpos)
        np.testing.assert_allclose(found_pos, pos[frame], atol=1e-5)
        np.testing.assert_allclose(found_com, com[frame], atol=1e-5)


def test_steps_that_are_too_long_are_refused(skeleton):
    with pytest.raises(SoloError, match="Legs cannot reach"):
        make_gait(G1, skeleton, replace(walk(0.9), step_hz=1.2))


def test_the_zmp_of_a_body_at_rest_is_under_its_centre_of_mass(skeleton):
    qpos = np.tile(skeleton.default_qpos, (8, 1))
    data = mujoco.MjData(skeleton.model)
    data.qpos[:] = qpos[0]
    mujoco.mj_forward(skeleton.model, data)
    zmp = measure_zmp(skeleton, as_clip(qpos))
    expected = complex(*data.subtree_com[1, :2])
    np.testing.assert_allclose(zmp, expected, atol=1e-9)


def test_the_zmp_of_an_accelerated_body_is_behind_it(skeleton):
    # 1 m/s2 forward moves the ZMP back by height / g.
    time = np.arange(20) / 50.0
    qpos = np.tile(skeleton.default_qpos, (20, 1))
    qpos[:, 0] = 0.5 * time**2
    resting = measure_zmp(skeleton, as_clip(np.tile(qpos[:1], (20, 1))))[0]
    zmp = measure_zmp(skeleton, as_clip(qpos)) - qpos[:, 0]
    expected = resting - skeleton.com_height_m / 9.81
    np.testing.assert_allclose(zmp[4:-4], expected, atol=1e-6)


def as_clip(qpos: np.ndarray, loops: bool = False) -> MotionClip:
    return MotionClip(
        "test", 50.0, G1.joint_names, qpos[:, :3], qpos[:, 3:7], qpos[:, 7:], loops
    )


def without(*joints: str) -> RobotCfg:
    """The G1 with more joints welded."""
    names = tuple(
        f"{side}_{joint}_joint" for side in ("left", "right") for joint in joints
    )
    actuators = tuple(
        replace(
            group,
            target_names_expr=tuple(
                pattern
                for pattern in group.target_names_expr
                if not any(pattern == f".*_{joint}_joint" for joint in joints)
            ),
        )
        for group in G1.actuators
    )
    return replace(
        G1,
        joint_names=tuple(n for n in G1.joint_names if n not in names),
        welded_joints=G1.welded_joints + names,
        actuators=actuators,
        action_scale=0.25,
        velocity_limits=None,
    )


def test_legs_without_ankle_roll_walk_with_nearly_flat_soles():
    robot = without("ankle_roll")
    skeleton = make_skeleton(robot)
    assert [len(leg) for leg in skeleton.legs] == [5, 5]
    assert skeleton.free_axes == (0, 0)  # They cannot choose the roll of a foot.
    clip = make_gait(robot, skeleton, walk(0.6))
    quality = measure(robot, skeleton, clip)
    assert quality.velocity == pytest.approx((0.6, 0.0, 0.0), abs=0.01)
    assert quality.zmp_percent == 100.0
    # A sole of 5 cm width rolls with its hip: 4 mm are less than 5 degrees.
    assert quality.flat_mm is not None
    assert quality.flat_mm < 4.0
    assert quality.ground_mm < 4.0


def test_legs_without_hip_yaw_lack_the_foots_yaw():
    assert make_skeleton(without("hip_yaw")).free_axes == (2, 2)


def test_legs_of_four_joints_need_clips_from_files():
    robot = without("ankle_roll", "hip_yaw")
    with pytest.raises(SoloError, match=r"4 joints lead.*5 and 6.*motions of its own"):
        make_gait(robot, make_skeleton(robot), walk(0.5))


def test_a_lower_base_reaches_further(skeleton):
    low = replace(G1, base_height_m=G1.base_height_m + 0.02)  # As if on shorter legs.
    with pytest.raises(UnreachableError):
        make_gait(low, make_skeleton(low), walk(0.9))
    clip = make_clip(low, "walk_forward_0.90")
    assert measure(low, make_skeleton(low), clip).ground_mm < 3.0
