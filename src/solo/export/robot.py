"""What a robot's configuration says about its joints, as the bundle needs it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from solo.deploy.bundle.checks import Expected, expected_from
from solo.errors import SoloError
from solo.robots.build import build_spec
from solo.robots.robot_cfg import RobotCfg


def describe_joints(robot: RobotCfg) -> dict[str, Any]:
    """Names, default pose, gains and limits; lists have one number per joint.

    Raises:
        SoloError: The config does not give the speed of the motors.
    """
    names = robot.joint_names
    groups = {
        name: group
        for group in robot.actuators
        for name in robot.find_joints(group.target_names_expr)
    }
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
        "vel_limit": _speeds(robot),
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


def expected_of(robot: RobotCfg) -> Expected:
    """What a bundle for the robot may ask of it, from the config alone.

    Raises:
        SoloError: The config does not give the speed of the motors.
    """
    return expected_from(describe_joints(robot), asdict(robot.depth_camera))


def _speeds(robot: RobotCfg) -> list[float]:
    """Largest speed of each joint, rad/s."""
    if robot.velocity_limits is None:
        raise SoloError(
            f"The largest speeds of the joints of robot {robot.name!r} are not known, "
            "which a bundle needs. Set RobotCfg.velocity_limits, in rad/s."
        )
    return list(robot.joint_values(robot.velocity_limits))
