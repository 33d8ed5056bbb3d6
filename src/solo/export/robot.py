"""What a robot's configuration says about its joints, as the bundle needs it."""

from __future__ import annotations

from typing import Any

from mjlab.asset_zoo.robots.unitree_g1 import g1_constants as g1

from solo.errors import SoloError
from solo.robots.build import build_spec
from solo.robots.robot_cfg import RobotCfg

MOTORS = {
    "g1": (
        (g1.G1_ACTUATOR_5020, g1.ACTUATOR_5020),
        (g1.G1_ACTUATOR_7520_14, g1.ACTUATOR_7520_14),
        (g1.G1_ACTUATOR_7520_22, g1.ACTUATOR_7520_22),
        # Two motors in parallel give twice the torque at the same speed.
        (g1.G1_ACTUATOR_WAIST, g1.ACTUATOR_5020),
        (g1.G1_ACTUATOR_ANKLE, g1.ACTUATOR_5020),
    ),
}
"""Robot to its groups of actuators, each with its motor, for the limits of speed."""


def describe_joints(robot: RobotCfg) -> dict[str, Any]:
    """Names, default pose, gains and limits; lists have one number per joint.

    Raises:
        SoloError: The speed of a motor is not known.
    """
    names = robot.joint_names
    groups = {
        name: group
        for group in robot.actuators
        for name in robot.find_joints(group.target_names_expr)
    }
    speed = velocity_limits(robot)
    model = build_spec(robot, visual=False).compile()
    ranges = [model.joint(name).range for name in names]
    return {
        "names": list(names),
        "default_pos": list(robot.joint_values(robot.default_joint_pos)),
        "action_scale": list(robot.joint_values(robot.action_scale)),
        "kp": [float(groups[name].stiffness) for name in names],
        "kd": [float(groups[name].damping) for name in names],
        "pos_low": [float(low) for low, _ in ranges],
        "pos_high": [float(high) for _, high in ranges],
        "vel_limit": [speed[name] for name in names],
        "effort_limit": [float(groups[name].effort_limit or 0.0) for name in names],
        "units": {
            "default_pos": "rad",
            "action_scale": "rad per unit of action",
            "kp": "Nm/rad",
            "kd": "Nm s/rad",
            "pos_low": "rad",
            "pos_high": "rad",
            "vel_limit": "rad/s",
            "effort_limit": "Nm",
        },
    }


def velocity_limits(robot: RobotCfg) -> dict[str, float]:
    """Joint to the largest speed of its motor, rad/s.

    Raises:
        SoloError: It is not known.
    """
    speed = {
        name: float(motor.velocity_limit)
        for group, motor in MOTORS.get(robot.name, ())
        for name in robot.find_joints(group.target_names_expr)
    }
    for name in robot.joint_names:
        if name not in speed:
            raise SoloError(
                f"The largest speed of the joint {name!r} of robot {robot.name!r} is "
                "not known. Add its motor to solo.export.robot.MOTORS."
            )
    return speed
