"""The paper's reward table: every row with its name and weight.

Formulas are in `solo.envs.mdp.rewards`. A profile may add terms and let weights change
with the samples; ``docs/metrics.md`` has them all.
"""

from __future__ import annotations

from typing import Any

from mjlab.envs import mdp as mjlab_mdp
from mjlab.managers.reward_manager import RewardTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg

from solo.envs import mdp
from solo.envs.names import BODY_CONTACT, COMMAND, FALL, FEET_CONTACT
from solo.robots.robot_cfg import FootCfg, RobotCfg
from solo.sensors.height_map import HeightMapCfg
from solo.terrains.patch import CELL_M


def make_rewards(robot: RobotCfg) -> dict[str, RewardTermCfg]:
    """All 21 terms with the paper's weights, per second: mjlab multiplies by 0.02 s."""

    def term(func: Any, weight: float, **params: Any) -> RewardTermCfg:
        return RewardTermCfg(func=func, weight=weight, params=params)

    def deviation(patterns: tuple[str, ...], weight: float) -> RewardTermCfg:
        joints = SceneEntityCfg("robot", joint_names=patterns)
        return term(mdp.joint_deviation, weight, asset_cfg=joints)

    feet = SceneEntityCfg(
        "robot", body_names=tuple(f.body for f in robot.feet), preserve_order=True
    )
    torso = SceneEntityCfg("robot", body_names=(robot.torso_body,))
    on_feet = {"sensor_name": FEET_CONTACT}
    return {
        # Command tracking and regularization.
        "track_lin_vel_xy_exp": term(
            mdp.track_lin_vel_xy_exp, 3.0, command_name=COMMAND
        ),
        "track_ang_vel_z_exp": term(mdp.track_ang_vel_z_exp, 5.0, command_name=COMMAND),
        "lin_vel_z_l2": term(mdp.lin_vel_z_l2, -0.25),
        "ang_vel_xy_l2": term(mdp.ang_vel_xy_l2, -0.05),
        "energy": term(mdp.energy, -1.0e-3),
        "dof_acc_l2": term(mjlab_mdp.joint_acc_l2, -2.5e-7),
        "action_rate_l2": term(mjlab_mdp.action_rate_l2, -0.01),
        "dof_pos_limits": term(mdp.dof_pos_limits, -2.0),
        "joint_deviation_hip": deviation(robot.hip_joints, -0.15),
        "joint_deviation_arms": deviation(robot.upper_body_joints, -0.15),
        "joint_deviation_legs": deviation(robot.leg_joints, -0.02),
        # Stability and contact.
        "undesired_contacts": term(
            mdp.undesired_contacts, -1.0, sensor_name=BODY_CONTACT
        ),
        "fly": term(mdp.fly, -3.0, **on_feet),
        "body_orientation_l2": term(mdp.orientation_l2, -5.0, asset_cfg=torso),
        "flat_orientation_l2": term(mdp.orientation_l2, -1.0),
        "termination_penalty": term(
            mdp.termination_penalty, -200.0, term_names=(FALL,)
        ),
        "feet_air_time": term(mdp.feet_air_time, 3.0, command_name=COMMAND, **on_feet),
        "feet_slide": term(mdp.feet_slide, -0.25, asset_cfg=feet, **on_feet),
        "feet_force": term(mdp.feet_force, -1.0e-2, **on_feet),
        "feet_stumble": term(mdp.feet_stumble, -5.0, **on_feet),
        "foothold_grad_penalty": term(
            mdp.foothold_grad_penalty,
            -5.0,
            asset_cfg=feet,
            footprint=footprint(robot.feet[0]),
            **on_feet,
        ),
    }


def footprint(foot: FootCfg) -> HeightMapCfg:
    """The lattice of ground samples below a sole, for the foothold penalty.

    The paper does not give it; chosen one cell of the terrain apart (0.05 m), because
    every edge of the grid then lies between two samples, and over the whole sole:
    5 x 3 samples for the G1.
    """
    x, y = zip(*foot.points.values(), strict=True)
    ranges, counts = [], []
    for values in (x, y):
        low, high = min(values) - foot.radius, max(values) + foot.radius
        count = round((high - low) / CELL_M) + 1
        centre, half = (low + high) / 2, count * CELL_M / 2
        ranges.append((centre - half, centre + half))
        counts.append(count)
    return HeightMapCfg(
        cells=(counts[1], counts[0]),
        cell_m=CELL_M,
        x_range_m=ranges[0],
        y_range_m=ranges[1],
    )
