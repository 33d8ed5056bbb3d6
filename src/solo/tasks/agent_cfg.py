"""The agent of each stage: networks and the paper's optimisation table as data.

`AgentCfg` is what rsl_rl's runner reads and mjlab's registry holds. It is plain data
throughout, so a run's ``params/agent.yaml`` restores it completely.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import mujoco
import numpy as np
import torch
from mjlab.rl import RslRlBaseRunnerCfg

from solo.algorithms.mirror import (
    MirrorMaps,
    SignedMap,
    check_pose,
    join,
    joint_mirror,
)
from solo.envs.observations_cfg import (
    BLURRED_VELOCITY,
    GROUPS,
    Stage,
    make_observations,
)
from solo.errors import SoloError, unknown_name
from solo.reconstruction.networks import RECONSTRUCTORS
from solo.reconstruction.networks.interface import IO_PROFILES, ReconstructionIoCfg
from solo.reconstruction.online import ReconstructionLearnerCfg
from solo.reconstruction.perceiver import STUDENT_GROUPS
from solo.robots.build import build_spec
from solo.robots.robot_cfg import RobotCfg
from solo.tasks.profiles import Profile

STEPS_PER_ITERATION = 24
"""Rollout length (paper)."""

OBJECTIVES = {
    "ta-mse": (5.0, 1.0),
    "mse-ppo": (5.0, 0.0),
    "ppo": (0.0, 0.0),
    "ta-ppo": (0.0, 1.0),  # Not in the paper; for `solo ablate reading`.
}
"""Objective of a student to the paper's lambda (loss) and beta (reward)."""


@dataclass(kw_only=True)
class AgentCfg(RslRlBaseRunnerCfg):
    """What learns and how; every value can be changed before a run starts."""

    stage: Stage = "teacher"
    """Which stage the agent is of."""
    robot: str = "g1"
    """Robot of the reference motions."""
    extra_motions: bool = False
    """Whether these include motions beyond the paper's; see `Profile`."""
    num_steps_per_env: int = STEPS_PER_ITERATION
    """Control steps per environment and iteration."""
    actor: dict[str, Any] = field(default_factory=dict)
    """Network that acts: teacher or student."""
    critic: dict[str, Any] = field(default_factory=dict)
    """Value function."""
    teacher: dict[str, Any] | None = None
    """Network of the frozen teacher of a student."""
    algorithm: dict[str, Any] = field(default_factory=dict)
    """PPO, AMP (``amp_cfg``; None: without) and TA-MSE."""
    reconstruction: dict[str, Any] | None = None
    """Reconstructor of the perceptive stage and how it learns."""
    teacher_run: str = ""
    """Run of the teacher, for the student stage."""
    student_run: str = ""
    """Run of the student, for the perceptive stage."""
    reconstructor_run: str = ""
    """Run or bundle whose reconstructor the perceptive stage starts with."""
    start_from: str = ""
    """Run or bundle of the same stage to start from."""
    action_noise: float | None = None
    """Mean action std after loading ``start_from``; unchanged if None."""
    check_for_nan: bool = False
    """Whether rsl_rl looks for NaN in every step; the simulation does already."""
    logger: Literal["wandb", "tensorboard"] = "tensorboard"
    """mjlab's default is wandb, which wants an account."""
    wandb_project: str = "solo"
    """Project there."""


def make_agent_cfg(
    robot: RobotCfg,
    stage: Stage,
    profile: Profile,
    *,
    amp: bool = True,
    objective: str = "ta-mse",
    reconstructor: str | None = None,
) -> AgentCfg:
    """The agent of a stage.

    Args:
        robot: The robot.
        stage: Which stage.
        profile: Sizes.
        amp: Whether there is a motion prior.
        objective: Key of `OBJECTIVES`; for students.
        reconstructor: Key of `RECONSTRUCTORS`, for the perceptive stage; the
            profile's if None.

    Raises:
        SoloError: A name is unknown.
    """
    if stage == "teacher":
        cfg = _make_teacher_cfg(robot, profile)
    else:
        cfg = _make_student_cfg(robot, profile, stage, objective)
    if stage == "perceptive":
        name = reconstructor or profile.perception.reconstructor
        _add_reconstructor(cfg, robot, profile, name)
    if not amp:
        cfg.algorithm["amp_cfg"] = None
    return cfg


def _make_teacher_cfg(robot: RobotCfg, profile: Profile) -> AgentCfg:
    """PPO with AMP for the privileged teacher.

    Only the teacher uses mirrored samples: rsl_rl does not mirror recurrent policies,
    and the student imitates the teacher anyway.
    """
    algorithm = _algorithm(
        profile, "teacher", "solo.algorithms.ppo_amp:PpoAmp", entropy=0.005
    )
    algorithm["critic_learning_rate"] = profile.critic_learning_rate
    if profile.mirror:
        algorithm["symmetry_cfg"] = {
            "data_augmentation_func": "solo.algorithms.mirror:augment",
            "use_data_augmentation": True,
        }
    teacher = _actor(robot, profile, "solo.networks.ame_model:AmeModel")
    if profile.symmetric_teacher:
        # Its observation groups have the same layout as the student's.
        teacher["mirror"] = student_mirror(robot)
    return AgentCfg(
        **_runner(robot, profile, "teacher"),
        obs_groups={"actor": GROUPS["teacher"], "critic": GROUPS["critic"]},
        actor=teacher,
        critic=_critic(robot, profile),
        algorithm=algorithm,
    )


def _make_student_cfg(
    robot: RobotCfg, profile: Profile, stage: Stage, objective: str
) -> AgentCfg:
    """TA-MSE; MSE+PPO and PPO are the same with weights of 0.

    Action std and KL target are the same for all of them.
    """
    if objective not in OBJECTIVES:
        raise unknown_name("objective", objective, OBJECTIVES, "Choose one of these.")
    mse_weight, penalty_weight = OBJECTIVES[objective]
    student = _actor(robot, profile, "solo.networks.student:StudentModel")
    student["hidden_dims"] = list(profile.student_head)
    teacher = _actor(robot, profile, "solo.networks.ame_model:AmeModel")
    if profile.symmetric:  # Teacher and student observations have the same layout.
        student["mirror"] = teacher["mirror"] = student_mirror(robot)
    algorithm = _algorithm(
        profile, stage, "solo.algorithms.ta_mse:TaMse", entropy=0.002
    )
    settings = profile.stage(stage)
    algorithm["mse_weight"] = settings.teacher_pull * mse_weight
    algorithm["penalty_weight"] = settings.teacher_pull * penalty_weight
    algorithm["distance"] = profile.teacher_distance
    algorithm["action_scale"] = list(robot.joint_values(robot.action_scale))
    student["distribution_cfg"]["init_std"] = settings.init_std
    # Training may blur the velocity; evaluations use the true one.
    groups = GROUPS["student"]
    if profile.velocity_error > 0.0:
        groups = tuple(BLURRED_VELOCITY if g == "base_velocity" else g for g in groups)
    return AgentCfg(
        **_runner(robot, profile, stage),
        obs_groups={
            "actor": groups,
            "critic": GROUPS["critic"],
            "teacher": GROUPS["teacher"],
        },
        actor=student,
        critic=_critic(robot, profile),
        teacher=teacher,
        algorithm=algorithm,
    )


def _add_reconstructor(
    cfg: AgentCfg, robot: RobotCfg, profile: Profile, reconstructor: str
) -> None:
    """Let the student see a reconstructor's estimates."""
    if reconstructor not in RECONSTRUCTORS:
        raise unknown_name(
            "reconstructor", reconstructor, RECONSTRUCTORS, "Choose one of these."
        )
    cfg.obs_groups = {**cfg.obs_groups, "actor": tuple(STUDENT_GROUPS)}
    cfg.algorithm["class_name"] = "solo.algorithms.perceptive_ta_mse:PerceptiveTaMse"
    perception = profile.perception
    learner = ReconstructionLearnerCfg(
        iterations=profile.perceptive.iterations,
        samples=perception.samples,
        batch=perception.batch,
        updates=perception.updates,
        warm_up_iterations=perception.warm_up_iterations,
        warm_up_updates=perception.warm_up_updates,
        cells=perception.cells,
        neighbours=perception.neighbours,
    )
    cfg.reconstruction = {
        "name": reconstructor,
        "fields": {**perception.network, "io": asdict(make_io(robot, profile))},
        "learner": asdict(learner),
        "mirror": window_mirror(robot) if profile.symmetric else None,
        "streaming": perception.streaming,
        "check_every": perception.check_every,
    }


def make_io(robot: RobotCfg, profile: Profile) -> ReconstructionIoCfg:
    """Sizes of images and maps: the profile's, for the robot's map, height, joints."""
    io = profile.perception.network.get("io") or IO_PROFILES[profile.depth]
    return replace(
        io,
        height_map=robot.height_map,
        base_height_m=robot.base_height_m,
        proprioception_dim=9 + 3 * len(robot.joint_names),
    )


def with_camera(robot: RobotCfg, io: ReconstructionIoCfg) -> RobotCfg:
    """The robot with a camera whose images have the size the reconstructor takes."""
    rows, columns = io.depth_shape
    camera = replace(robot.depth_camera, output_height=rows, output_width=columns)
    return replace(robot, depth_camera=camera)


def _runner(robot: RobotCfg, profile: Profile, stage: Stage) -> dict[str, Any]:
    return {
        "stage": stage,
        "robot": robot.name,
        "extra_motions": profile.extra_motions,
        "save_interval": profile.save_interval,
        "max_iterations": profile.stage(stage).iterations,
        "experiment_name": f"solo_{stage}",
    }


def _actor(robot: RobotCfg, profile: Profile, class_name: str) -> dict[str, Any]:
    return {
        "class_name": class_name,
        "hidden_dims": list(profile.teacher_head),
        "activation": "elu",
        "obs_normalization": True,
        "distribution_cfg": {
            "class_name": "GaussianDistribution",
            "init_std": profile.teacher.init_std,
            "std_type": "scalar",
        },
        "ame_cfg": {**asdict(profile.ame), "base_height_m": robot.base_height_m},
        "height_map_cfg": asdict(robot.height_map),
        "foot_view_cfg": make_foot_view_cfg(robot) if profile.foot_view else None,
    }


def make_foot_view_cfg(robot: RobotCfg) -> dict[str, Any]:
    """The robot's legs as data, for `solo.networks.foot_view`.

    Raises:
        SoloError: A body of a leg has not exactly one joint that the policy controls.
    """
    model = build_spec(robot, visual=False).compile()
    default = robot.joint_values(robot.default_joint_pos)
    legs = []
    for foot in robot.feet:
        body, chain = model.body(foot.body).id, []
        while body != model.body(robot.base_body).id:
            chain.insert(0, body)
            body = int(model.body_parentid[body])
        joints = [model.joint(int(model.body_jntadr[body])) for body in chain]
        if any(model.body_jntnum[body] != 1 for body in chain):
            raise SoloError(
                f"{robot.name}: the leg of {foot.body!r} has a body without a joint of "
                "its own. Merge it into its parent, or switch foot_view off."
            )
        indices = [robot.joint_names.index(joint.name) for joint in joints]
        rotations = np.zeros((len(chain), 9))
        for rotation, body in zip(rotations, chain, strict=True):
            mujoco.mju_quat2Mat(rotation, model.body_quat[body])
        legs.append(
            {
                "pos_m": model.body_pos[chain].tolist(),
                "rotation": rotations.reshape(-1, 3, 3).tolist(),
                "axis": [joint.axis.tolist() for joint in joints],
                # Behind angular velocity, gravity and command.
                "index": [9 + i for i in indices],
                "default_rad": [default[i] for i in indices],
            }
        )
    return {"legs": legs}


def _critic(robot: RobotCfg, profile: Profile) -> dict[str, Any]:
    critic = _actor(robot, profile, profile.critic_model)
    critic.pop("distribution_cfg")
    critic.pop("foot_view_cfg")  # It has its own view of the ground around the feet.
    if profile.critic_near_x_m is not None:
        critic["near_x_m"] = list(profile.critic_near_x_m)
    return {**critic, "hidden_dims": list(profile.critic_head)}


def _algorithm(
    profile: Profile, stage: Stage, class_name: str, entropy: float
) -> dict[str, Any]:
    """The paper's table, with the numbers that a profile may change."""
    settings = profile.stage(stage)
    return {
        "class_name": class_name,
        "learning_rate": 1.0e-3,
        "schedule": "adaptive",
        "desired_kl": settings.desired_kl,
        "clip_param": 0.2,
        "gamma": 0.99,
        "lam": 0.95,
        "value_loss_coef": 1.0,
        "use_clipped_value_loss": True,
        "entropy_coef": entropy,
        "max_grad_norm": 1.0,
        "num_learning_epochs": settings.epochs,
        "num_mini_batches": settings.mini_batches,
        "max_std": settings.max_std,
        "average_over": settings.average_over,
        "rnd_cfg": None,
        "symmetry_cfg": None,
        "amp_cfg": {
            "hidden_dims": list(profile.discriminator),
            "updates_per_iteration": profile.discriminator_updates,
            "batch_size": profile.discriminator_batch,
            "replay_capacity": profile.replay,
        },
    }


def mirror_of_robot(robot: RobotCfg, stage: Stage = "student") -> MirrorMaps:
    """Mirror maps of the observation groups of a stage, from the robot alone.

    Raises:
        SoloError: Robot or default pose are not symmetric.
    """
    model = build_spec(robot, visual=False).compile()
    joints = joint_mirror(model, robot.joint_names)
    default = robot.joint_values(robot.default_joint_pos)
    check_pose(joints, torch.tensor(default))
    groups = make_observations(robot, stage)
    return MirrorMaps.of_terms({n: list(g.terms) for n, g in groups.items()}, joints)


def student_mirror(robot: RobotCfg) -> dict[str, Any]:
    """Arguments of `solo.networks.symmetry.Mirror`."""
    maps = mirror_of_robot(robot)
    parts = [maps.groups[g] for g in GROUPS["student"]]
    vectors = join(part for part in parts if isinstance(part, SignedMap))
    return {"vector": _plain(vectors), "actions": _plain(maps.actions)}


def window_mirror(robot: RobotCfg) -> dict[str, list[Any]]:
    """Mirror of one frame of proprioception, for `ReconstructionLearner`."""
    frame = mirror_of_robot(robot, "perceptive").groups["proprioception_window"]
    assert isinstance(frame, SignedMap)
    return _plain(frame)


def _plain(signed: SignedMap) -> dict[str, list[Any]]:
    """``source`` and ``signs``, as configurations hold them."""
    return {"source": list(signed.source), "signs": list(signed.signs)}
