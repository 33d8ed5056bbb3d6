"""A second humanoid, the Booster T1: from its config to a bundle that runs.

The three stages are trained for two iterations each; the policy is exported and runs on
a simulated T1 in its harness. The model is in the wheel of holosoma.

    pip install --no-deps holosoma==0.0.3
    python examples/booster_t1.py

To learn something: PYTHONPATH=examples solo train teacher --robot booster_t1:T1
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import mujoco
from mjlab.actuator import BuiltinPositionActuatorCfg

from solo.cli.main import main as solo
from solo.errors import SoloError
from solo.robots.robot_cfg import CollisionGeom, FootCfg, RobotCfg
from solo.sensors.depth.cfg import CameraMountCfg, CapsuleCfg

LEG = ("Hip_Pitch", "Hip_Roll", "Hip_Yaw", "Knee_Pitch", "Ankle_Pitch", "Ankle_Roll")
ARM = ("Shoulder_Pitch", "Shoulder_Roll", "Elbow_Pitch", "Elbow_Yaw")
HAND = ("Wrist_Pitch", "Wrist_Yaw", "Hand_Roll")


def both(joints: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{side}_{joint}" for side in ("Left", "Right") for joint in joints)


def load_model() -> mujoco.MjSpec:
    """The vendor's model; finding the package does not import it."""
    package = find_spec("holosoma")
    if package is None or not package.submodule_search_locations:
        raise SoloError("The T1's model: pip install --no-deps holosoma==0.0.3")
    folder = Path(package.submodule_search_locations[0]) / "data/robots/t1"
    return mujoco.MjSpec.from_file(str(folder / "t1_29dof.xml"))


POSE = {
    ".*_Shoulder_Pitch": 0.2, "Left_Shoulder_Roll": -1.35, "Right_Shoulder_Roll": 1.35,
    "Left_Elbow_Yaw": -0.5, "Right_Elbow_Yaw": 0.5,
    ".*_Hip_Pitch": -0.2, ".*_Knee_Pitch": 0.4, ".*_Ankle_Pitch": -0.2,
}  # fmt: skip
"""The default pose, rad: knees bent, soles flat, arms down."""

MOTORS = {
    ".*_(Shoulder|Elbow)_.*": (20.0, 0.5, 18.0, 18.8),
    "Waist": (200.0, 5.0, 30.0, 10.8),
    ".*_Hip_(Pitch|Roll)": (200.0, 5.0, 45.0, 10.9),
    ".*_Hip_Yaw": (200.0, 5.0, 30.0, 10.9),
    ".*_Knee_Pitch": (200.0, 5.0, 65.0, 11.7),
    ".*_Ankle_Pitch": (50.0, 3.0, 24.0, 18.8),
    ".*_Ankle_Roll": (50.0, 3.0, 15.0, 12.4),
}
"""Joints to stiffness, damping, largest torque (Nm) and speed (rad/s)."""

ACTUATORS = tuple(
    BuiltinPositionActuatorCfg(
        target_names_expr=(joints,), stiffness=kp, damping=kd, effort_limit=torque,
        armature=0.01,
    )
    for joints, (kp, kd, torque, _) in MOTORS.items()
)  # fmt: skip


def foot(side: str) -> FootCfg:
    """Six spheres below the sole, which is 22 cm long and 10 cm wide."""
    rows = {"heel": (-0.075, 0.028), "mid": (0.01, 0.034), "toe": (0.095, 0.028)}
    points = {f"{n}_{k}": (x, k * y) for n, (x, y) in rows.items() for k in (1, -1)}
    body = f"{side.lower()}_foot_link"
    return FootCfg(body, f"{body}_sole", points, sole_z=-0.04, radius=0.02)


def limbs(side: str) -> tuple[CollisionGeom, ...]:
    """Spheres; the arms point along y at the model's zero."""
    hand = (0.0, 0.08 if side == "Left" else -0.08, 0.0)
    return (
        CollisionGeom(f"{side}_thigh", f"Hip_Yaw_{side}", 0.05, (-0.01, 0.0, -0.06)),
        CollisionGeom(f"{side}_knee", f"Shank_{side}", 0.05, (0.0, 0.0, 0.0)),
        CollisionGeom(f"{side}_shank", f"Shank_{side}", 0.045, (0.0, 0.0, -0.16)),
        CollisionGeom(f"{side}_hand", f"{side.lower()}_hand_link", 0.06, hand),
    )


def view(side: str) -> tuple[CapsuleCfg, ...]:
    """The links that can come into the depth image."""
    foot = f"{side.lower()}_foot_link"
    return (
        CapsuleCfg(f"Hip_Yaw_{side}", ((0.0, 0.0, 0.0), (-0.014, 0.0, -0.134)), 0.06),
        CapsuleCfg(f"Shank_{side}", ((0.0, 0.0, 0.0), (0.0, 0.0, -0.28)), 0.05),
        CapsuleCfg(foot, ((-0.08, 0.0, -0.02), (0.1, 0.0, -0.02)), 0.03),
    )


T1 = RobotCfg(
    name="booster_t1:T1",
    spec_fn=load_model,
    joint_names=(*both(ARM), "Waist", *both(LEG)),
    welded_joints=("AAHead_yaw", "Head_pitch", *both(HAND)),
    default_joint_pos=POSE,
    base_height_m=0.67585,
    actuators=ACTUATORS,
    action_scale=0.25,  # Its stiff hips would get 0.06 rad by scale_from_effort.
    velocity_limits={joints: speed for joints, (*_, speed) in MOTORS.items()},
    base_body="Trunk",
    torso_body="Trunk",
    termination_bodies=("Trunk", "H2"),
    feet=(foot("Left"), foot("Right")),
    hip_joints=(".*_Hip_(Roll|Yaw)",),
    upper_body_joints=("Waist", ".*_(Shoulder|Elbow)_.*"),
    leg_joints=(".*_Hip_Pitch", ".*_Knee_Pitch", ".*_Ankle_.*"),
    collision=(
        CollisionGeom("chest", "Trunk", 0.09, (0.06, 0.0, 0.18)),
        CollisionGeom("belly", "Trunk", 0.09, (0.06, 0.0, 0.05)),
        CollisionGeom("head", "H2", 0.08, (0.01, 0.0, 0.11)),
        *(limbs("Left") + limbs("Right")),
    ),
    self_view=view("Left") + view("Right"),
    camera_mount=CameraMountCfg("Trunk", (0.16, 0.0, 0.2), pitch_down_deg=52.0),
)

NEW = "--robot booster_t1:T1 --profile smoke --output"
COMMANDS = f"""
train teacher {NEW} runs/teacher
train student {NEW} runs/student --teacher runs/teacher
train perceptive {NEW} runs/perceptive --student runs/student
export runs/perceptive --output t1.onnx
"""


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent))  # Where booster_t1 is found.
    for command in COMMANDS.strip().splitlines():
        print(f"$ solo {command}", flush=True)
        assert solo(command.split()) == 0
    deploy = "-m solo.cli.main deploy t1.onnx --seconds 5 --ropes"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, *deploy.split()]
    print(subprocess.check_output(words, env=env, text=True))


if __name__ == "__main__":
    main()
