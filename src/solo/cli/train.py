"""``solo train``: one verb per stage."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solo.cli.checks import check_at_least

if TYPE_CHECKING:
    from solo.stages.train import TrainCfg


@dataclass(frozen=True)
class _Train:
    output: Path | None = None
    """Folder of the run; runs/STAGE-TIME if left out."""
    profile: str | None = None
    """paper, laptop or smoke; laptop on CPU and paper on CUDA if left out."""
    iterations: int | None = None
    """Total number of iterations; the profile's if left out."""
    num_envs: int | None = None
    """Number of environments; the profile's if left out."""
    seed: int = 0
    """Seed."""
    device: str | None = None
    """cpu or cuda:0; CUDA if there is one, if left out."""
    resume: bool = False
    """Go on with the run in --output."""
    no_amp: bool = False
    """Train without the motion prior."""
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

        import torch

        from solo.robots import get_robot
        from solo.stages.profiles import default_profile, get_profile
        from solo.stages.train import TrainCfg

        device = self.device or ("cuda:0" if torch.cuda.is_available() else "cpu")
        stamp = time.strftime("%Y-%m-%d_%H-%M-%S")
        return TrainCfg(
            robot=get_robot(self.robot),
            profile=get_profile(self.profile)
            if self.profile
            else default_profile(device),
            output=self.output or Path("runs") / f"{stage}-{stamp}",
            device=device,
            seed=self.seed,
            num_envs=self.num_envs,
            iterations=self.iterations,
            resume=self.resume,
            amp=not self.no_amp,
        )


@dataclass(frozen=True)
class TrainTeacher(_Train):
    """Train the privileged teacher: stage 1, PPO with AMP."""

    def run(self) -> dict[str, Any]:
        cfg = self._cfg("teacher")

        from solo.stages.teacher import train_teacher

        return _report(train_teacher(cfg))


@dataclass(frozen=True)
class TrainStudent(_Train):
    """Distil a teacher into the student with TA-MSE: stage 2.

    --penalty-weight 0 is the baseline MSE+PPO; with --mse-weight 0 as well it is PPO.
    """

    teacher: Path = Path("runs/teacher")
    """Run folder or checkpoint of stage 1."""
    mse_weight: float = 5.0
    """The paper's lambda: weight of the distance to the teacher in the loss."""
    penalty_weight: float = 1.0
    """The paper's beta: weight of the next state's distance in the reward."""

    def run(self) -> dict[str, Any]:
        check_at_least("mse_weight", self.mse_weight, 0.0)
        check_at_least("penalty_weight", self.penalty_weight, 0.0)
        cfg = self._cfg("student")

        from solo.stages.student import train_student

        return _report(
            train_student(cfg, self.teacher, self.mse_weight, self.penalty_weight)
        )


def _report(summary: dict[str, Any]) -> dict[str, Any]:
    print(f"Wrote {summary['checkpoint']}")
    print(f"Curves: tensorboard --logdir {summary['output']}")
    return summary
