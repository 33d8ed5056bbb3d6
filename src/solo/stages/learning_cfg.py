"""rsl_rl's configuration of each stage: the paper's optimisation table as data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from solo.envs.observations_cfg import BLURRED_VELOCITY, GROUPS
from solo.motions.library import MotionLibrary
from solo.robots.robot_cfg import RobotCfg
from solo.stages.profiles import Profile
from solo.stages.symmetry_cfg import student_mirror

STEPS_PER_ITERATION = 24
"""Rollout length (paper)."""


def make_teacher_cfg(
    robot: RobotCfg, profile: Profile, motions: MotionLibrary | None
) -> dict[str, Any]:
    """PPO with AMP for the privileged teacher.

    Mirroring is the teacher's alone: rsl_rl does not mirror recurrent policies, and the
    student has the teacher's example.
    """
    algorithm = _algorithm(
        profile, motions, "solo.algorithms.ppo_amp:PpoAmp", entropy=0.005
    )
    if profile.mirror:
        algorithm["symmetry_cfg"] = {
            "data_augmentation_func": "solo.algorithms.mirror:augment",
            "use_data_augmentation": True,
        }
    teacher = _actor(robot, profile, "solo.networks.ame_model:AmeModel")
    if profile.symmetric_teacher:
        teacher["mirror"] = student_mirror(robot)  # Its groups are twins of these.
    return {
        **_runner(profile),
        "obs_groups": {
            "actor": list(GROUPS["teacher"]),
            "critic": list(GROUPS["critic"]),
        },
        "actor": teacher,
        "critic": _critic(robot, profile),
        "algorithm": algorithm,
    }


def _student_groups(profile: Profile) -> list[str]:
    """What the student sees in training; evaluations show it the true velocity."""
    if profile.velocity_error == 0.0:
        return list(GROUPS["student"])
    return [BLURRED_VELOCITY if g == "base_velocity" else g for g in GROUPS["student"]]


def make_student_cfg(
    robot: RobotCfg,
    profile: Profile,
    motions: MotionLibrary | None,
    mse_weight: float = 5.0,
    penalty_weight: float = 1.0,
    *,
    is_perceptive: bool = False,
) -> dict[str, Any]:
    """TA-MSE for the student; both weights 0 is PPO, the second 0 is MSE+PPO."""
    student = _actor(robot, profile, "solo.networks.student:StudentModel")
    student["hidden_dims"] = list(profile.student_head)
    teacher = _actor(robot, profile, "solo.networks.ame_model:AmeModel")
    if profile.symmetric:  # The teacher's groups are twins of the student's.
        student["mirror"] = teacher["mirror"] = student_mirror(robot)
    algorithm = _algorithm(
        profile, motions, "solo.algorithms.ta_mse:TaMse", entropy=0.002
    )
    pull, kl = profile.teacher_pull[is_perceptive], profile.student_kl[is_perceptive]
    algorithm["mse_weight"] = pull * mse_weight
    algorithm["penalty_weight"] = pull * penalty_weight
    if mse_weight > 0.0:  # Who has no teacher to follow explores and learns by PPO.
        algorithm["desired_kl"] = kl
        student["distribution_cfg"]["init_std"] = profile.student_std
    return {
        **_runner(profile),
        "obs_groups": {
            "actor": _student_groups(profile),
            "critic": list(GROUPS["critic"]),
            "teacher": list(GROUPS["teacher"]),
        },
        "actor": student,
        "critic": _critic(robot, profile),
        "teacher": teacher,
        "algorithm": algorithm,
    }


def _runner(profile: Profile) -> dict[str, Any]:
    return {
        "num_steps_per_env": STEPS_PER_ITERATION,
        "save_interval": profile.save_interval,
        "logger": "tensorboard",
        "check_for_nan": False,
    }


def _actor(robot: RobotCfg, profile: Profile, class_name: str) -> dict[str, Any]:
    return {
        "class_name": class_name,
        "hidden_dims": list(profile.teacher_head),
        "activation": "elu",
        "obs_normalization": True,
        "distribution_cfg": {
            "class_name": "GaussianDistribution",
            "init_std": profile.init_std,
            "std_type": "scalar",
        },
        "ame_cfg": {**asdict(profile.ame), "base_height_m": robot.base_height_m},
        "height_map_cfg": asdict(robot.height_map),
    }


def _critic(robot: RobotCfg, profile: Profile) -> dict[str, Any]:
    critic = _actor(robot, profile, profile.critic_model)
    critic.pop("distribution_cfg")
    return {**critic, "hidden_dims": list(profile.critic_head)}


def _algorithm(
    profile: Profile, motions: MotionLibrary | None, class_name: str, entropy: float
) -> dict[str, Any]:
    """The paper's table; numbers that a profile changes come from it."""
    amp = None
    if motions is not None:
        amp = {
            "hidden_dims": list(profile.discriminator),
            "updates_per_iteration": profile.discriminator_updates,
            "batch_size": profile.discriminator_batch,
            "replay_capacity": profile.replay,
        }
    return {
        "class_name": class_name,
        "learning_rate": 1.0e-3,
        "schedule": "adaptive",
        "desired_kl": 0.01,
        "clip_param": 0.2,
        "gamma": 0.99,
        "lam": 0.95,
        "value_loss_coef": 1.0,
        "use_clipped_value_loss": True,
        "entropy_coef": entropy,
        "max_grad_norm": 1.0,
        "num_learning_epochs": profile.epochs,
        "num_mini_batches": profile.mini_batches,
        "rnd_cfg": None,
        "symmetry_cfg": None,
        "amp_cfg": amp,
        "motions": motions,
    }
