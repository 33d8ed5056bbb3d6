"""How the perceptive stage learns: sizes by profile, and rsl_rl's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from solo.algorithms.perception import STUDENT_GROUPS
from solo.algorithms.reconstruction import ReconstructionLearnerCfg
from solo.errors import unknown_name
from solo.motions.library import MotionLibrary
from solo.networks.reconstruction import RECONSTRUCTORS
from solo.networks.reconstruction.interface import IO_PROFILES, ReconstructionIoCfg
from solo.robots.robot_cfg import RobotCfg
from solo.stages.learning_cfg import make_student_cfg
from solo.stages.profiles import Profile
from solo.stages.symmetry_cfg import window_mirror


@dataclass(frozen=True)
class PerceptionCfg:
    """The reconstructor's part of stage 3; the defaults are the paper's size."""

    samples: int = 8_192
    """Windows kept of a rollout; not stated in the paper."""
    batch: int = 512
    """Windows per update of the reconstructor; not stated in the paper."""
    updates: int = 16
    """Updates of the reconstructor per iteration; not stated in the paper."""
    streaming: bool = True
    """Encode one image per step and keep the tokens of older ones (QR)."""
    warm_up_iterations: int = 0
    """Iterations at the start in which the student still sees what stage 2 showed it.

    Not in the paper, which attaches the reconstructor at once. An untrained one shows
    flat ground and no motion; a student that has few samples to recover from it falls
    out of its gait, and the reconstructor then learns from falls.
    """
    warm_up_updates: int = 0
    """Updates of the reconstructor in each of those."""
    check_every: int = 50
    """Iterations between two looks at what happens without depth."""
    network: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the reconstructor's config that differ from its defaults."""

    def differences(self) -> dict[str, tuple[Any, Any]]:
        """Field to the paper's value and ours, where they differ."""
        paper = PerceptionCfg()
        return {
            f.name: (getattr(paper, f.name), getattr(self, f.name))
            for f in fields(self)
            if getattr(paper, f.name) != getattr(self, f.name)
        }


PERCEPTION = {
    "paper": PerceptionCfg(),
    "reduced": PerceptionCfg(),
    "laptop": PerceptionCfg(
        samples=3_072,
        batch=64,
        updates=16,
        warm_up_iterations=30,
        warm_up_updates=48,
    ),
    "smoke": PerceptionCfg(samples=16, batch=8, updates=2, check_every=2),
}
"""Name of a profile to the reconstructor's part."""


def perception_of(profile: Profile) -> PerceptionCfg:
    """The reconstructor's part of a profile."""
    if profile.name not in PERCEPTION:
        raise unknown_name(
            "profile", profile.name, PERCEPTION, "Give a PerceptionCfg with it."
        )
    return PERCEPTION[profile.name]


def make_io(
    robot: RobotCfg, profile: Profile, perception: PerceptionCfg
) -> ReconstructionIoCfg:
    """Sizes of images and maps: the profile's, for the robot's map and height."""
    io = perception.network.get("io") or IO_PROFILES[profile.depth]
    return replace(io, height_map=robot.height_map, base_height_m=robot.base_height_m)


def with_camera(robot: RobotCfg, io: ReconstructionIoCfg) -> RobotCfg:
    """The robot with a camera whose images have the size the reconstructor takes."""
    rows, columns = io.depth_shape
    camera = replace(robot.depth_camera, output_height=rows, output_width=columns)
    return replace(robot, depth_camera=camera)


def make_perceptive_cfg(
    robot: RobotCfg,
    profile: Profile,
    motions: MotionLibrary | None,
    reconstructor: str,
    iterations: int,
    perception: PerceptionCfg,
    mse_weight: float = 5.0,
    penalty_weight: float = 1.0,
) -> dict[str, Any]:
    """TA-MSE for a student that sees a reconstructor's estimates.

    Args:
        robot: The robot.
        profile: Sizes of the policy's learning.
        motions: Reference motions; None without AMP.
        reconstructor: Key of `RECONSTRUCTORS`.
        iterations: Length of the stage, for the learning rate of the reconstructor.
        perception: Sizes of the reconstructor's learning.
        mse_weight: The paper's lambda.
        penalty_weight: The paper's beta.

    Raises:
        SoloError: There is no such reconstructor.
    """
    if reconstructor not in RECONSTRUCTORS:
        raise unknown_name(
            "reconstructor", reconstructor, RECONSTRUCTORS, "Choose one of these."
        )
    cfg = make_student_cfg(
        robot, profile, motions, mse_weight, penalty_weight, is_perceptive=True
    )
    cfg["obs_groups"]["actor"] = list(STUDENT_GROUPS)
    cfg["algorithm"]["class_name"] = "solo.algorithms.perceptive_ta_mse:PerceptiveTaMse"
    io = make_io(robot, profile, perception)
    learner = ReconstructionLearnerCfg(
        iterations=iterations,
        samples=perception.samples,
        batch=perception.batch,
        updates=perception.updates,
        warm_up_iterations=perception.warm_up_iterations,
        warm_up_updates=perception.warm_up_updates,
    )
    cfg["reconstruction"] = {
        "name": reconstructor,
        "fields": {**perception.network, "io": asdict(io)},
        "learner": asdict(learner),
        "mirror": window_mirror(robot) if profile.symmetric else None,
        "streaming": perception.streaming,
        "check_every": perception.check_every,
    }
    return cfg
