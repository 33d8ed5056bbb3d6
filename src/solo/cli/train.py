"""``solo train``, one verb per stage, and ``solo ablate``, many trainings compared.

The options are the fields of a config.

Any other setting of a run is changed by its path, e.g. ``--env.rewards.fly.weight -1``
or ``--agent.algorithm.gamma 0.98``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any, TypeVar

from tyro.conf import Positional, arg

from solo.ablation_cfg import AblationCfg
from solo.cli import Verb
from solo.cli.checks import (
    check_exists,
    check_robot,
    check_run,
    pick_device,
    say_loading,
)
from solo.errors import SoloError
from solo.stages.train_cfg import PerceptiveCfg, StudentCfg, TeacherCfg, TrainCfg

_Cfg = TypeVar("_Cfg", bound=TrainCfg)

_PATHS = """

Any other setting: --env.PATH VALUE or --agent.PATH VALUE, for example
--env.rewards.fly.weight -1.
"""


@dataclass(frozen=True)
class TrainTeacher(TeacherCfg, Verb):
    __doc__ = f"{cleandoc(TeacherCfg.__doc__ or '')}{_PATHS}"

    def run(self) -> dict[str, Any]:
        check_run(self.start_from)
        cfg = _check(self)

        from solo.stages.train import train_teacher

        return _finish(train_teacher(cfg))


@dataclass(frozen=True)
class TrainStudent(StudentCfg, Verb):
    __doc__ = f"{cleandoc(StudentCfg.__doc__ or '')}{_PATHS}"

    def run(self) -> dict[str, Any]:
        check_run(self.teacher)
        check_run(self.start_from)
        cfg = _check(self)

        from solo.stages.train import train_student

        return _finish(train_student(cfg))


@dataclass(frozen=True)
class TrainPerceptive(PerceptiveCfg, Verb):
    __doc__ = f"{cleandoc(PerceptiveCfg.__doc__ or '')}{_PATHS}"

    def run(self) -> dict[str, Any]:
        check_run(self.student)
        check_exists(
            "reconstructor",
            self.reconstructor_checkpoint,
            "Give a run of `solo recon train` or of this stage, a bundle, or shipped.",
        )
        cfg = _check(self)

        from solo.stages.train import train_perceptive

        return _finish(train_perceptive(cfg))


@dataclass(frozen=True)
class TrainPack(Verb):
    """Write a run's last checkpoint to a small folder of its own.

    It drops what only an exact resume needs: the state of the environments and the
    discriminator's replay buffer. Later stages, `solo eval` and `solo export` accept
    the folder like a run.
    """

    run_folder: Annotated[Positional[Path], arg(metavar="RUN")]
    """Folder of a run, or a checkpoint in one."""
    output: Path | None = None
    """New folder."""

    def run(self) -> dict[str, Any]:
        if self.output is None:
            raise SoloError("--output is missing: give the path of a new folder.")
        check_run(self.run_folder)

        from solo.stages.pack import pack_run

        packed = pack_run(self.run_folder, self.output)
        before, after = (packed[k] / 1e6 for k in ("bytes_before", "bytes"))
        print(f"Wrote {packed['checkpoint']}: {after:.1f} MB instead of {before:.1f}")
        return packed


def _check(cfg: _Cfg) -> _Cfg:
    """Check what costs nothing, before the rest is loaded."""
    if isinstance(cfg.robot, str):
        check_robot(cfg.robot)
    check_run(cfg.resume)
    for path in cfg.motions:
        check_exists("motion file", path, "`solo motions make` writes some.")
    say_loading()
    if cfg.device == "auto":
        return cfg
    return replace(cfg, device=pick_device(cfg.device))


def _finish(summary: dict[str, Any]) -> dict[str, Any]:
    """Say where the run is."""
    from solo.stages.processes import read_processes

    if read_processes().is_first:
        print(f"Wrote {summary['checkpoint']}")
        print(f"Curves: tensorboard --logdir {summary['output']}")
    return summary


@dataclass(frozen=True, kw_only=True)
class Ablate(AblationCfg, Verb):
    __doc__ = AblationCfg.__doc__

    def run(self) -> dict[str, Any]:
        assert isinstance(self.robot, str)
        check_robot(self.robot)
        for run in (self.teacher, *self.students):
            check_run(run)
        self.evaluation()  # A wrong level or terrain is told before the work.
        say_loading()
        device = pick_device(self.device)

        from solo.ablations import FIGURE, TABLE, run_ablation
        from solo.stages.processes import read_processes

        if read_processes().world_size > 1:
            raise SoloError(
                "An ablation is one process. Without torchrun, --num-envs 4096 on one "
                "GPU is the paper's 2 x 2048; give other GPUs other --seeds."
            )
        result = run_ablation(replace(self, device=device), num_failures=0)
        print((self.output / TABLE).read_text())
        print(f"Wrote {self.output / TABLE} and {self.output / FIGURE}")
        return result
