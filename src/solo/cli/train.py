"""``solo train``: one verb per stage."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from solo.cli.checks import check_at_least
from solo.errors import SoloError

if TYPE_CHECKING:
    from solo.stages.train import TrainCfg


@dataclass(frozen=True)
class _Train:
    output: Path | None = None
    """Folder of the run; logs/rsl_rl/solo_STAGE/TIME_PROFILE if left out."""
    resume: Path | None = None
    """Folder of a run to go on with; other options must be as they were."""
    profile: Literal["paper", "reduced", "laptop", "smoke"] | None = None
    """Size of the training; laptop on CPU and paper on CUDA if left out."""
    iterations: int | None = None
    """Total number of iterations; the profile's if left out."""
    num_envs: int | None = None
    """Number of environments; the profile's if left out."""
    seed: int = 0
    """Seed."""
    device: str = "auto"
    """auto, cpu or cuda:0; auto is CUDA if there is one."""
    terrain_weights: dict[str, float] = field(default_factory=dict)
    """Robots on a terrain relative to the others, e.g. `rough_fine 4 gap 2`; equal, as
    in the paper, if left out."""
    no_amp: bool = False
    """Train without the motion prior."""
    logger: Literal["tensorboard", "wandb"] = "tensorboard"
    """Where the curves go."""
    robot: str = "g1"
    """Name of the robot."""
    json: Path | None = None
    """File to write the summary to."""

    def _cfg(self, stage: str) -> TrainCfg:
        for option in ("iterations", "num_envs"):
            value = getattr(self, option)
            if value is not None:
                check_at_least(option, value, 1)
        check_at_least("seed", self.seed, 0)
        if self.resume is not None and self.output is not None:
            raise SoloError(
                "--resume and --output are both given; a resumed run stays in its "
                "folder. Leave --output out."
            )

        import torch

        from solo.robots import get_robot
        from solo.stages.processes import read_processes
        from solo.stages.profiles import default_profile, get_profile
        from solo.stages.run_folder import default_folder
        from solo.stages.train import TrainCfg

        device = self.device
        if device == "auto":
            device = "cuda:0" if torch.cuda.is_available() else "cpu"
        processes = read_processes()
        device = processes.device(device)
        if processes.world_size > 1 and not (self.output or self.resume):
            raise SoloError(
                f"There are {processes.world_size} processes, which need one folder. "
                "Give --output."
            )
        profile = get_profile(self.profile) if self.profile else default_profile(device)
        return TrainCfg(
            robot=get_robot(self.robot),
            profile=profile,
            output=self.resume or self.output or default_folder(stage, profile.name),
            device=device,
            seed=self.seed,
            num_envs=self.num_envs,
            iterations=self.iterations,
            resume=self.resume is not None,
            amp=not self.no_amp,
            logger=self.logger,
            terrain_weights=self.terrain_weights,
        )


@dataclass(frozen=True)
class TrainTeacher(_Train):
    """Train the privileged teacher: stage 1, PPO with AMP."""

    mirror: bool | None = None
    """Learn from each sample and its mirror image; as the profile says if left out."""

    symmetric: bool | None = None
    """Whether mirrored states get mirrored actions; as the profile says if left out."""
    start_from: Path | None = None
    """Run folder or checkpoint of another teacher to start from; `shipped` is the one
    that comes with the package (laptop profile)."""
    action_noise: float | None = None
    """With --start-from: mean deviation of the actions to explore with from now on; as
    it was if left out."""

    def run(self) -> dict[str, Any]:
        cfg = self._cfg("teacher")
        _check_start(self.resume, self.start_from, self.action_noise)
        changes = {"mirror": self.mirror, "symmetric_teacher": self.symmetric}
        changes = {k: v for k, v in changes.items() if v is not None}
        cfg = replace(cfg, profile=replace(cfg.profile, **changes))

        from solo.stages.teacher import train_teacher

        start = _run_of(self.start_from)
        return _report(train_teacher(cfg, start, self.action_noise))


@dataclass(frozen=True)
class TrainStudent(_Train):
    """Distil a teacher into the student with TA-MSE: stage 2.

    The baselines MSE+PPO and PPO are the same algorithm with weights of zero.
    """

    symmetric: bool | None = None
    """Whether mirrored states get mirrored actions; as the profile says if left out."""
    teacher: Path | None = None
    """Run folder or checkpoint of stage 1; `shipped` is the one that comes with the
    package (laptop profile). A resumed run has it inside."""
    objective: Literal["ta-mse", "mse-ppo", "ppo"] = "ta-mse"
    """What the student learns from."""
    start_from: Path | None = None
    """Bundle, run folder or checkpoint of another student to start from; `shipped` is
    the policy that comes with the package (laptop profile)."""
    action_noise: float | None = None
    """With --start-from: mean deviation of the actions to explore with from now on; as
    it was if left out, after a bundle as the teacher's."""

    def run(self) -> dict[str, Any]:
        if self.teacher is None and self.resume is None:
            raise SoloError(
                "--teacher is missing: give a run folder or a checkpoint of "
                "`solo train teacher`."
            )
        _check_start(self.resume, self.start_from, self.action_noise)
        cfg = _with_symmetry(self._cfg("student"), self.symmetric)

        from solo.stages.student import train_student

        teacher, start = _run_of(self.teacher), _policy_of(self.start_from)
        return _report(
            train_student(cfg, teacher, self.objective, start, self.action_noise)
        )


@dataclass(frozen=True)
class TrainPerceptive(_Train):
    """Let the student see through the depth camera: stage 3.

    A reconstructor makes map and velocity from depth and proprioception; it learns
    along, from the states that the student visits.
    """

    symmetric: bool | None = None
    """As for the student, and the reconstructor learns from mirror images, too."""
    student: Path | None = None
    """Run folder or checkpoint of stage 2; a resumed run has it inside."""
    reconstructor: Literal["qr", "start", "dpl", "qr_place"] = "qr"
    """What makes the map."""
    reconstructor_checkpoint: Path | None = None
    """A reconstructor to start from: a run of `solo recon train` or of this stage, or a
    bundle; `shipped` is the policy that comes with the package (laptop profile)."""
    warm_up: int | None = None
    """Iterations at the start in which the reconstructor alone learns; as the profile
    says if left out. One that knows this student's walk needs few."""
    objective: Literal["ta-mse", "mse-ppo", "ppo"] = "ta-mse"
    """What the student learns from."""

    def run(self) -> dict[str, Any]:
        if self.student is None and self.resume is None:
            raise SoloError(
                "--student is missing: give a run folder or a checkpoint of "
                "`solo train student`."
            )
        cfg = _with_symmetry(self._cfg("perceptive"), self.symmetric)

        from solo.stages.perceptive import train_perceptive
        from solo.stages.perceptive_cfg import perception_of

        perception = perception_of(cfg.profile)
        if self.warm_up is not None:
            check_at_least("warm_up", self.warm_up, 0)
            perception = replace(
                perception,
                warm_up_iterations=self.warm_up,
                warm_up_updates=perception.warm_up_updates or perception.updates,
            )
        return _report(
            train_perceptive(
                cfg,
                self.student,
                self.reconstructor,
                self.objective,
                _policy_of(self.reconstructor_checkpoint),
                perception,
            )
        )


def _run_of(path: Path | None) -> Path | None:
    """The path, or the teacher that comes with the package."""
    from solo.bundles import SHIPPED, shipped_teacher

    return shipped_teacher() if path == Path(SHIPPED) else path


def _policy_of(path: Path | None) -> Path | None:
    """The path, or the policy that comes with the package."""
    from solo.bundles import SHIPPED, shipped_bundle

    return shipped_bundle() if path == Path(SHIPPED) else path


def _check_start(
    resume: Path | None, start_from: Path | None, action_noise: float | None
) -> None:
    if action_noise is not None and start_from is None:
        raise SoloError(
            "--action-noise is given without --start-from; a new run has its "
            "profile's. Leave it out, or give what to start from."
        )
    if resume is not None and start_from is not None:
        raise SoloError(
            "--resume and --start-from are both given; a resumed run has its own "
            "weights. Leave one of them out."
        )


def _with_symmetry(cfg: TrainCfg, symmetric: bool | None) -> TrainCfg:
    if symmetric is None:
        return cfg
    return replace(cfg, profile=replace(cfg.profile, symmetric=symmetric))


def _report(summary: dict[str, Any]) -> dict[str, Any]:
    from solo.stages.processes import read_processes

    if not read_processes().is_first:
        return summary
    print(f"Wrote {summary['checkpoint']}")
    print(f"Curves: tensorboard --logdir {summary['output']}")
    return summary
