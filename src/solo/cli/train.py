"""``solo train``: one verb per stage; the options are the fields of its config.

Any other setting of a run is changed by its path, e.g. ``--env.rewards.fly.weight -1``
or ``--agent.algorithm.gamma 0.98``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import cleandoc
from pathlib import Path
from typing import Any

from solo.cli.checks import (
    check_exists,
    check_robot,
    check_run,
    pick_device,
    say_loading,
)
from solo.stages.train_cfg import PerceptiveCfg, StudentCfg, TeacherCfg, TrainCfg

_PATHS = """

Any other setting: --env.PATH VALUE or --agent.PATH VALUE, for example
--env.rewards.fly.weight -1.
"""


@dataclass(frozen=True)
class TrainTeacher(TeacherCfg):
    __doc__ = f"{cleandoc(TeacherCfg.__doc__ or '')}{_PATHS}"

    json: Path | None = None
    """File to write the summary to."""

    def run(self) -> dict[str, Any]:
        """Train and return the summary."""
        check_run(self.start_from)
        return _run(self, lambda train: train.train_teacher)


@dataclass(frozen=True)
class TrainStudent(StudentCfg):
    __doc__ = f"{cleandoc(StudentCfg.__doc__ or '')}{_PATHS}"

    json: Path | None = None
    """File to write the summary to."""

    def run(self) -> dict[str, Any]:
        """Train and return the summary."""
        check_run(self.teacher)
        check_run(self.start_from)
        return _run(self, lambda train: train.train_student)


@dataclass(frozen=True)
class TrainPerceptive(PerceptiveCfg):
    __doc__ = f"{cleandoc(PerceptiveCfg.__doc__ or '')}{_PATHS}"

    json: Path | None = None
    """File to write the summary to."""

    def run(self) -> dict[str, Any]:
        """Train and return the summary."""
        check_run(self.student)
        check_exists(
            "reconstructor",
            self.reconstructor_checkpoint,
            "Give a run of `solo recon train` or of this stage, a bundle, or shipped.",
        )
        return _run(self, lambda train: train.train_perceptive)


def _run(cfg: Any, pick: Callable[[Any], Callable[[Any], dict[str, Any]]]) -> Any:
    """Check what costs nothing, load the rest, train and say where it is."""
    assert isinstance(cfg, TrainCfg)
    if isinstance(cfg.robot, str):
        check_robot(cfg.robot)
    check_run(cfg.resume)
    for path in cfg.motions:
        check_exists("motion file", path, "`solo motions make` writes some.")
    say_loading()
    if cfg.device != "auto":
        cfg = replace(cfg, device=pick_device(cfg.device))

    from solo.stages import train
    from solo.stages.processes import read_processes

    summary = pick(train)(cfg)
    if read_processes().is_first:
        print(f"Wrote {summary['checkpoint']}")
        print(f"Curves: tensorboard --logdir {summary['output']}")
    return summary
