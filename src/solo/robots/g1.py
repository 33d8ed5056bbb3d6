"""Unitree G1 with 25 policy joints.

Model, gains and default pose are mjlab's. Ours are the 25-joint subset (wrist pitch and
yaw welded), the lean collision set and the chest camera.

What differs from the paper: its Omni humanoid is not public; the G1 has the same
structure of two six-joint legs, a three-joint waist and two five-joint arms, with wrist
roll in the place of the paper's elbow yaw.
"""

from __future__ import annotations

from mjlab.asset_zoo.robots.unitree_g1 import g1_constants

from solo.robots.robot_cfg import CollisionGeom, FootCfg, RobotCfg, scale_from_effort
from solo.sensors.depth.cfg import CameraMountCfg, CapsuleCfg

SIDES = ("left", "right")

LEG_JOINTS = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
WAIST_JOINTS = ("waist_yaw", "waist_roll", "waist_pitch")
ARM_JOINTS = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll")

JOINT_NAMES = (
    *(f"{side}_{joint}_joint" for side in SIDES for joint in LEG_JOINTS),
    *(f"{joint}_joint" for joint in WAIST_JOINTS),
    *(f"{side}_{joint}_joint" for side in SIDES for joint in ARM_JOINTS),
)
"""Left leg, right leg, waist, left arm, right arm: 6 + 6 + 3 + 5 + 5."""

WELDED_JOINTS = tuple(
    f"{side}_wrist_{axis}_joint" for side in SIDES for axis in ("pitch", "yaw")
)

ACTUATORS = (
    g1_constants.G1_ACTUATOR_5020,
    g1_constants.G1_ACTUATOR_7520_14,
    g1_constants.G1_ACTUATOR_7520_22,
    g1_constants.G1_ACTUATOR_WAIST,
    g1_constants.G1_ACTUATOR_ANKLE,
)
"""mjlab's groups without the motors of the welded wrist joints."""

MOTORS = (
    g1_constants.ACTUATOR_5020,
    g1_constants.ACTUATOR_7520_14,
    g1_constants.ACTUATOR_7520_22,
    # Two motors in parallel give twice the torque at the same speed.
    g1_constants.ACTUATOR_5020,
    g1_constants.ACTUATOR_5020,
)
"""The motor of each group, for the limits of speed."""

DEFAULT_JOINT_POS = dict(g1_constants.KNEES_BENT_KEYFRAME.joint_pos or {})

# The spheres reach to the ends of the real sole (x -0.066 to 0.142 m); their centres,
# which span the support polygon, keep to mjlab's foot capsules (y up to 0.027 m), and
# their lowest points lie in the capsules' plane.
SOLE_POINTS = {
    "heel_left": (-0.046, 0.020),
    "heel_right": (-0.046, -0.020),
    "mid_left": (0.040, 0.026),
    "mid_right": (0.040, -0.026),
    "toe_left": (0.122, 0.022),
    "toe_right": (0.122, -0.022),
}


def _foot(side: str) -> FootCfg:
    # Radius: not stated in the paper; chosen for plain MuJoCo and Warp, where smaller
    # spheres sink below their centre at touch-down and are then pushed sideways by the
    # neighbouring cells of the height field. Landing at 1 m/s, the false sideways
    # impulse is 19 % of the vertical one at 0.010 m, 9 % at 0.015 m and 2 % from
    # 0.020 m on. The native backend's own contacts do not have this fault.
    return FootCfg(
        body=f"{side}_ankle_roll_link",
        site=f"{side}_foot",
        points=SOLE_POINTS,
        sole_z=-0.035,
        radius=0.02,
    )


def _sphere(name: str, body: str, radius: float, *pos: float) -> CollisionGeom:
    x, y, z = pos
    return CollisionGeom(name, body, radius, pos=(x, y, z))


def _limb_geoms(side: str) -> tuple[CollisionGeom, ...]:
    return (
        _sphere(f"{side}_thigh", f"{side}_hip_yaw_link", 0.055, -0.030, 0.0, -0.10),
        # Spheres that overlap, so that the edge of a step finds no gap between them.
        *(
            _sphere(f"{side}_shank_{k}", f"{side}_knee_link", 0.045, 0.01, 0.0, z)
            for k, z in enumerate((0.0, -0.075, -0.15, -0.22))
        ),
        _sphere(f"{side}_elbow", f"{side}_elbow_link", 0.035, 0.0, 0.0, -0.01),
        _sphere(f"{side}_hand", f"{side}_wrist_yaw_link", 0.045, 0.10, 0.0, 0.0),
    )


def _limb_view(side: str) -> tuple[CapsuleCfg, ...]:
    """Capsules around the visual meshes, which stand out by less than 2 cm."""
    return (
        CapsuleCfg(
            f"{side}_hip_yaw_link", ((0.02, 0.0, 0.06), (-0.075, 0.0, -0.175)), 0.055
        ),
        CapsuleCfg(f"{side}_knee_link", ((0.01, 0.0, 0.0), (0.0, 0.0, -0.28)), 0.047),
        CapsuleCfg(
            f"{side}_ankle_roll_link", ((-0.04, 0.0, -0.01), (0.11, 0.0, -0.01)), 0.035
        ),
        CapsuleCfg(
            f"{side}_elbow_link", ((0.0, 0.0, -0.01), (0.14, 0.0, -0.01)), 0.037
        ),
        CapsuleCfg(
            f"{side}_wrist_yaw_link", ((-0.03, 0.0, 0.0), (0.13, 0.0, 0.005)), 0.05
        ),
    )


G1 = RobotCfg(
    name="g1",
    spec_fn=g1_constants.get_spec,
    joint_names=JOINT_NAMES,
    welded_joints=WELDED_JOINTS,
    default_joint_pos=DEFAULT_JOINT_POS,
    base_height_m=0.75697,
    actuators=ACTUATORS,
    action_scale=scale_from_effort(ACTUATORS),
    velocity_limits={
        pattern: float(motor.velocity_limit)
        for group, motor in zip(ACTUATORS, MOTORS, strict=True)
        for pattern in group.target_names_expr
    },
    base_body="pelvis",
    torso_body="torso_link",
    termination_bodies=("pelvis", "torso_link"),
    feet=(_foot("left"), _foot("right")),
    hip_joints=(".*_hip_(yaw|roll)_joint",),
    upper_body_joints=(
        "waist_.*_joint",
        ".*_shoulder_.*_joint",
        ".*_elbow_joint",
        ".*_wrist_roll_joint",  # The paper's elbow yaw.
    ),
    leg_joints=(".*_hip_pitch_joint", ".*_knee_joint", ".*_ankle_.*_joint"),
    collision=(
        _sphere("pelvis", "pelvis", 0.07, 0.0, 0.0, -0.08),
        _sphere("waist", "torso_link", 0.09, 0.0, 0.0, 0.07),
        _sphere("chest", "torso_link", 0.09, 0.0, 0.0, 0.20),
        _sphere("head", "torso_link", 0.06, 0.0, 0.0, 0.43),
        *_limb_geoms("left"),
        *_limb_geoms("right"),
    ),
    self_view=(*_limb_view("left"), *_limb_view("right")),
    # The paper says chest-mounted, no more. The chest surface is at x = 0.08 m; 3 cm
    # ahead of it the tilted D455 clears the chest, and its depth origin (the left
    # imager) is on the mid-plane so that the view is symmetric. At 52 deg the view of
    # a standing robot begins at x = 0.21 m, 7 cm ahead of the toes, and holds 69 % of
    # the map window (22 of 32 columns, none hidden by the robot); at 50 deg it is 66 %,
    # above 54 deg the robot's own feet come into view.
    camera_mount=CameraMountCfg(
        body="torso_link", pos_m=(0.11, 0.0, 0.24), pitch_down_deg=52.0
    ),
)
