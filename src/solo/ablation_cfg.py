"""What an ablation is; the options of ``solo ablate`` are these fields.

Nothing heavy is imported here, so the command line can check its options at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, Suppress, arg

from solo.bundles import SHIPPED_TEACHER
from solo.errors import FieldError, SoloError, check_number
from solo.stages.train_cfg import ProfileOption, Robot

if TYPE_CHECKING:
    from solo.evaluation.protocols import Protocol
    from solo.terrains.scene import TerrainSceneCfg

    Evaluated = Protocol
    Terrain = TerrainSceneCfg
else:  # No options.
    Evaluated = Terrain = Any


@dataclass(frozen=True, kw_only=True)
class AblationCfg:
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
    profile: ProfileOption | None = None
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
    robot: Robot = "g1"
    """Robot: g1, the name of an installed one, or module:ATTRIBUTE."""
    terrain: Suppress[Terrain | None] = None
    """Terrain of the trainings instead of the paper's."""
    protocol: Suppress[Evaluated | None] = None
    """Evaluation of each arm instead of `LEVELS`."""

    def __post_init__(self) -> None:
        for name in ("iterations", "start_iterations", "num_envs", "rollouts"):
            check_number(name, getattr(self, name), 1)
        for seed in self.seeds:
            check_number("seeds", seed, 0)
        if len(set(self.seeds)) != len(self.seeds) or not self.seeds:
            given = " ".join(map(str, self.seeds)) or "missing"
            raise FieldError("seeds", f"is {given}. Give each once, at least one.")
        if len(self.students) not in (0, 1, len(self.seeds)):
            raise SoloError(
                f"There are {len(self.students)} students for {len(self.seeds)} seeds. "
                "Give one for each seed, one for all, or none."
            )
        is_late = self.ablation == "reconstructors" or self.students
        if self.stage == "student" and is_late:
            raise SoloError(
                "Stage 2 starts from a teacher and has no reconstructor. Leave out "
                "--stage student."
            )

    def evaluation(self) -> Evaluated:
        """What each arm is evaluated with.

        Raises:
            SoloError: There is no such level or terrain.
        """
        from solo.evaluation.protocols import LEVELS, pick_levels

        protocol = pick_levels(self.protocol or LEVELS, self.levels or range(10))
        return replace(
            protocol,
            terrains=self.terrains or protocol.terrains,
            rollouts=self.rollouts or protocol.rollouts,
        )
