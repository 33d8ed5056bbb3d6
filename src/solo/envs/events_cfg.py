"""The dynamics half of the paper's domain-randomisation table, and pushes.

Noise on observations is in ``observations_cfg``, camera and depth in
``solo.envs.mdp.depth``. When a quantity is drawn is not stated in the paper: material,
mass and gains once per environment, as Isaac Lab's locomotion tasks do; the start of an
episode at every reset.
"""

from __future__ import annotations

import math

from mjlab.envs import mdp as mjlab_mdp
from mjlab.envs.mdp import dr
from mjlab.managers.event_manager import EventTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg

from solo.envs import mdp
from solo.robots.robot_cfg import RobotCfg

PUSH = "push_robot"


def make_events(robot: RobotCfg) -> dict[str, EventTermCfg]:
    """Every row of the table under "Dynamics and initialization"."""
    soles = SceneEntityCfg(
        "robot", geom_names=tuple(g.name for foot in robot.feet for g in foot.geoms())
    )
    torso = SceneEntityCfg("robot", body_names=(robot.torso_body,))
    return {
        "contact_material": EventTermCfg(
            func=mdp.contact_material,
            mode="startup",
            params={
                "static_friction": (0.6, 1.0),
                "dynamic_friction": (0.4, 0.8),
                "restitution": (0.0, 0.005),
                "asset_cfg": soles,
            },
        ),
        "waist_mass": EventTermCfg(
            func=mdp.body_mass_offset,
            mode="startup",
            params={"offset_kg": (-3.0, 3.0), "asset_cfg": torso},
        ),
        "waist_com": EventTermCfg(
            func=dr.body_com_offset,
            mode="startup",
            params={
                "asset_cfg": torso,
                "operation": "add",
                "ranges": {0: (-0.05, 0.01), 1: (-0.03, 0.03), 2: (-0.05, 0.05)},
            },
        ),
        "actuator_gains": EventTermCfg(
            func=dr.pd_gains,
            mode="startup",
            params={
                "kp_range": (0.7, 1.3),
                "kd_range": (0.7, 1.3),
                "distribution": "log_uniform",
            },
        ),
        "reset_base": EventTermCfg(
            func=mjlab_mdp.reset_root_state_uniform,
            mode="reset",
            params={
                "pose_range": {
                    "x": (-0.5, 0.5),
                    "y": (-0.5, 0.5),
                    # Not in the paper: room for feet that tilt and legs that stretch.
                    "z": (0.04, 0.04),
                    "roll": (-0.25, 0.25),
                    "pitch": (-0.25, 0.25),
                    "yaw": (-math.pi, math.pi),
                },
                "velocity_range": {
                    axis: (-0.5, 0.5)
                    for axis in ("x", "y", "z", "roll", "pitch", "yaw")
                },
            },
        ),
        "reset_joints": EventTermCfg(
            func=mdp.reset_joints_by_scale, mode="reset", params={"scale": (0.5, 1.5)}
        ),
        PUSH: EventTermCfg(
            func=mjlab_mdp.push_by_setting_velocity,
            mode="interval",
            interval_range_s=(10.0, 15.0),
            params={"velocity_range": {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}},
        ),
    }


def start_gently(events: dict[str, EventTermCfg]) -> None:
    """Let episodes begin upright, at rest and in the default pose, for looking."""
    pose = events["reset_base"].params["pose_range"]
    kept = {axis: pose[axis] for axis in ("x", "y", "yaw")}
    events["reset_base"].params.update(
        pose_range={**kept, "z": (0.01, 0.02)}, velocity_range={}
    )
    events["reset_joints"].params["scale"] = (1.0, 1.0)
