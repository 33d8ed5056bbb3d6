"""What a training run is started with; the options of ``solo train`` are these fields.

Nothing heavy is imported here, so the command line can check its options at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tyro.conf import Suppress

from solo.errors import FieldError, SoloError, check_number
from solo.gl import INSTALL_HINT, has_gl
from solo.terrains.variants import check_weight, get_variant

if TYPE_CHECKING:
    from mjlab.envs import ManagerBasedRlEnvCfg

    from solo.robots.robot_cfg import RobotCfg
    from solo.tasks.profiles import Profile
    from solo.terrains.scene import TerrainSceneCfg

    Robot = str | RobotCfg
    ProfileOption = str | Profile
    Terrain = TerrainSceneCfg
    ChangeEnv = Callable[[ManagerBasedRlEnvCfg], None]
else:  # What the command line takes.
    Robot = str
    ProfileOption = Literal["paper", "reduced", "laptop", "smoke"]
    Terrain = ChangeEnv = Any

Objective = Literal["ta-mse", "mse-ppo", "ppo", "ta-ppo"]

_WITH_RESUME = {
    "resume",
    "iterations",
    "num_envs",
    "device",
    "logger",
    "clip_interval",
    "json",
    "change_env",
}
"""Fields that may be given with ``resume``; the rest comes from the run."""


@dataclass(frozen=True)
class TrainCfg:
    """A training run: a new one, or one to resume (``resume``)."""

    robot: Robot = "g1"
    """Robot: g1, the name of an installed one, or module:ATTRIBUTE."""
    profile: ProfileOption | None = None
    """Size of the training; if omitted, laptop on CPU and paper on CUDA."""
    output: Path | None = None
    """Folder for the run; logs/rsl_rl/solo_STAGE/TIME_PROFILE if omitted."""
    resume: Path | None = None
    """Folder of a run to resume; everything else comes from the run."""
    iterations: int | None = None
    """Total number of iterations; the profile's or the resumed run's if omitted."""
    num_envs: int | None = None
    """Number of environments; the profile's or the resumed run's if omitted."""
    seed: int = 0
    """Seed of the environments and of learning."""
    device: str = "auto"
    """auto, cpu or cuda:0; auto is CUDA if available, or the resumed run's."""
    terrain_weights: dict[str, float] = field(default_factory=dict)
    """Relative number of robots per terrain, e.g. `rough_fine 4 gap 2`; the profile's
    if omitted (paper: equal)."""
    amp: bool = True
    """Use a motion prior (AMP)."""
    motions: tuple[Path, ...] = ()
    """Files of reference motions; those of the robot's config, or synthesised ones, if
    omitted."""
    logger: Literal["tensorboard", "wandb"] | None = None
    """Where to log the curves; tensorboard if omitted, or as the resumed run."""
    clip_interval: int | None = None
    """Write a short video of the robot to clips/ in the run's folder every N
    iterations; none if omitted."""
    overrides: Suppress[dict[str, Any]] = field(default_factory=dict)
    """Path of any setting to another value, e.g. ``env.rewards.fly.weight``: -1."""
    terrain: Suppress[Terrain | None] = None
    """Terrain instead of the paper's."""
    change_env: Suppress[ChangeEnv | None] = None
    """Function that changes the environment's configuration, e.g. its rewards.

    ``run.json`` stores its name, and ``params/env.yaml`` the resulting configuration.
    """

    def __post_init__(self) -> None:
        """Check what can be checked without loading anything.

        Raises:
            SoloError: A value is impossible, or two of them contradict each other.
        """
        for name in ("iterations", "num_envs", "clip_interval"):
            check_number(name, getattr(self, name), 1)
        check_number("seed", self.seed, 0)
        if self.clip_interval is not None and not has_gl():
            raise FieldError(
                "clip_interval",
                f"needs OpenGL without a screen: {INSTALL_HINT}. Or leave it out.",
            )
        for name, weight in self.terrain_weights.items():
            get_variant(name)
            check_weight(name, weight)
        if self.resume is not None:
            for name in self._given() - _WITH_RESUME:
                raise FieldError(
                    name, "is given with resume; it comes from the run. Leave it out."
                )

    def _given(self) -> set[str]:
        """Fields that differ from their defaults."""
        given = set()
        for f in fields(self):
            factory = f.default_factory
            default = f.default if factory is MISSING else factory()
            if getattr(self, f.name) != default:
                given.add(f.name)
        return given


@dataclass(frozen=True)
class _StartFromCfg(TrainCfg):
    start_from: Path | None = None
    """Another policy to start from; see the subclasses."""
    action_noise: float | None = None
    """Mean action std after loading --start-from; unchanged if omitted."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.action_noise is None:
            return
        if self.start_from is None:
            raise FieldError(
                "action_noise",
                "is given without a policy to start from (start_from); a new run has "
                "its profile's. Leave it out, or give what to start from.",
            )
        if self.action_noise <= 0.0:
            raise FieldError(
                "action_noise",
                f"is {self.action_noise:g}; it must be above 0. Typical: 0.2 to 1.",
            )


@dataclass(frozen=True)
class TeacherCfg(_StartFromCfg):
    """Train the privileged teacher: stage 1, PPO with AMP."""

    start_from: Path | None = None
    """Run folder or checkpoint of another teacher to start from; `shipped-teacher` is
    the one that comes with the package (laptop profile). Networks take its sizes."""
    symmetric: bool | None = None
    """Symmetric policy: mirrored states get mirrored actions; the profile's if
    omitted."""
    mirror: bool | None = None
    """Also learn from the mirror image of each sample; the profile's if omitted."""


@dataclass(frozen=True)
class StudentCfg(_StartFromCfg):
    """Distil a teacher into the student with TA-MSE: stage 2.

    The baselines MSE+PPO and PPO are the same algorithm with weights set to zero.
    """

    teacher: Path | None = None
    """Run folder or checkpoint of stage 1; `shipped-teacher` is the one that comes with
    the package (laptop profile). Not needed to resume."""
    start_from: Path | None = None
    """Bundle, run folder or checkpoint of another student to start from; `shipped` is
    the policy that comes with the package (laptop profile). After a bundle the action
    std is the teacher's."""
    objective: Objective = "ta-mse"
    """Training objective."""
    symmetric: bool | None = None
    """Symmetric policy: mirrored states get mirrored actions; the profile's if
    omitted."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.teacher is None and self.resume is None:
            raise FieldError(
                "teacher",
                "is missing: give a run folder or a checkpoint of `solo train teacher`,"
                " or shipped-teacher.",
            )


@dataclass(frozen=True)
class PerceptiveCfg(TrainCfg):
    """Train the student to act on depth images: stage 3.

    A reconstructor estimates map and velocity from depth and proprioception. It trains
    along with the student, on the states that the student visits.
    """

    student: Path | None = None
    """Run folder or checkpoint of stage 2; not needed to resume."""
    reconstructor: Literal[
        "qr", "start", "dpl", "start_memory", "dpl_memory", "qr_evidence",
        "start_evidence",
    ] | None = None  # fmt: skip
    """Which reconstructor to train; the profile's if omitted (paper: qr)."""
    reconstructor_checkpoint: Path | None = None
    """A reconstructor to start from: a run of `solo recon train` or of this stage, or a
    bundle; `shipped` is the policy that comes with the package (laptop profile)."""
    warm_up: int | None = None
    """Initial iterations in which only the reconstructor learns; the profile's if
    omitted. A reconstructor already trained on this student needs few."""
    objective: Objective = "ta-mse"
    """Training objective."""
    symmetric: bool | None = None
    """As for the student; the reconstructor then also learns from mirror images."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("warm_up", self.warm_up, 0)
        if self.student is None and self.resume is None:
            raise FieldError(
                "student",
                "is missing: give a run folder or a checkpoint of `solo train "
                "student`.",
            )


def check_shared_folder(cfg: TrainCfg, world_size: int) -> None:
    """Refuse several processes without one folder."""
    if world_size > 1 and not (cfg.output or cfg.resume):
        raise SoloError(f"{world_size} processes need one common folder. Give output.")
