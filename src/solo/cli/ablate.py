"""``solo ablate``: train, evaluate and compare the arms of an ablation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from solo.bundles import SHIPPED_TEACHER
from solo.cli import Verb
from solo.cli.checks import (
    check_robot,
    check_run,
    pick_device,
    say_loading,
)
from solo.errors import SoloError, check_number


@dataclass(frozen=True, kw_only=True)
class Ablate(Verb):
    """Train and evaluate every arm with every seed, and compare them pair by pair.

    objectives: TA-MSE, MSE+PPO, PPO. reconstructors: QR, START, DPL. reading: TA-MSE's
    distance in radians, raw units and as a mean, and each of its two terms alone.

    All arms of a seed start from the same student. Run the same command to resume.
    """

    ablation: Annotated[
        Positional[Literal["objectives", "reconstructors", "reading"]],
        arg(metavar="ABLATION"),
    ]
    """What the arms differ in."""
    output: Path
    """Folder for runs, evaluations, table.md, figure.png and result.json."""
    seeds: tuple[int, ...] = (101, 202, 303)
    """Seeds; those found in the folder are not repeated."""
    profile: Literal["paper", "reduced", "laptop", "smoke"] | None = None
    """Size of the trainings; if omitted, laptop on CPU and reduced, as in the paper, on
    CUDA."""
    stage: Literal["perceptive", "student"] = "perceptive"
    """What the arms train: stage 3, as in the paper, or the cheaper stage 2."""
    teacher: Path = Path(SHIPPED_TEACHER)
    """Run folder or checkpoint of the teacher, or shipped-teacher."""
    students: tuple[Path, ...] = ()
    """Students to start from, one per seed or one for all; trained with MSE+PPO if
    omitted."""
    iterations: int | None = None
    """Iterations of each arm; the profile's if omitted."""
    start_iterations: int | None = None
    """Iterations of the students that the arms start from; the profile's if omitted."""
    num_envs: int | None = None
    """Environments of the trainings; the profile's if omitted."""
    levels: tuple[int, ...] = ()
    """Levels to evaluate, 0 to 9; all if omitted."""
    terrains: tuple[str, ...] = ()
    """Terrains to evaluate; all if omitted."""
    rollouts: int | None = None
    """Rollouts per terrain and level; 64, as in the paper, if omitted."""
    device: str = "auto"
    """auto, cpu or cuda:0; auto is CUDA if available."""
    robot: str = "g1"
    """Robot: g1, the name of an installed one, or module:ATTRIBUTE."""

    def run(self) -> dict[str, Any]:
        for option in ("iterations", "start_iterations", "num_envs", "rollouts"):
            check_number(option, getattr(self, option), 1)
        for seed in self.seeds:
            check_number("seeds", seed, 0)
        check_robot(self.robot)
        for run in (self.teacher, *self.students):
            check_run(run)

        from solo.evaluation.protocols import LEVELS

        if not set(self.levels) <= set(range(len(LEVELS.difficulties))):
            raise SoloError(f"--levels is {self.levels}; allowed are 0 to 9.")
        levels = tuple(sorted(set(self.levels))) or tuple(range(10))
        protocol = replace(
            LEVELS,
            levels=levels,
            difficulties=tuple(LEVELS.difficulties[level] for level in levels),
            terrains=self.terrains or LEVELS.terrains,
            rollouts=self.rollouts or LEVELS.rollouts,
        )
        say_loading()
        device = pick_device(self.device)

        from solo.ablations import FIGURE, TABLE, AblationCfg, run_ablation
        from solo.robots import get_robot
        from solo.stages.processes import read_processes
        from solo.stages.train_cfg import TrainCfg
        from solo.tasks.profiles import get_profile

        if read_processes().world_size > 1:
            raise SoloError(
                "An ablation is one process. Without torchrun, --num-envs 4096 on one "
                "GPU is the paper's 2 x 2048; give other GPUs other --seeds."
            )
        default = "laptop" if device == "cpu" else "reduced"
        cfg = AblationCfg(
            name=self.ablation,
            train=TrainCfg(
                robot=get_robot(self.robot),
                profile=get_profile(self.profile or default),
                device=device,
                num_envs=self.num_envs,
                iterations=self.iterations,
            ),
            output=self.output,
            seeds=self.seeds,
            protocol=protocol,
            teacher=self.teacher,
            stage=self.stage,
            students=self.students,
            start_iterations=self.start_iterations,
        )
        result = run_ablation(cfg, num_failures=0)
        print((self.output / TABLE).read_text())
        print(f"Wrote {self.output / TABLE} and {self.output / FIGURE}")
        return result
