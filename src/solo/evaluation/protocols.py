"""What each evaluation runs: terrains, difficulties, commands, counts and limits.

Numbers are the paper's (appendix "Evaluation Protocols") unless marked otherwise.

What the paper leaves open, and how it is read here:

- Success is 5.0 m from the origin, but a patch of 8 m ends after 4 m. The scene of a
  job is therefore a row of patches of the same terrain and difficulty along +x, as in
  the training grid. A robot starts on any patch but the last, so the fifth metre is the
  rim of the next patch: of stairs, its first steps in the other direction.
- Observation noise and pushes are off. So is the randomisation of the robot, which the
  paper does not mention here: a rollout then depends on policy, terrain, start and
  command alone.
- Robots start at rest and face +x, at the origin. With the random yaw of training
  they would leave the platform in any direction before they have turned to the
  commanded heading.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from solo.errors import FieldError, SoloError, check_number
from solo.evaluation.metrics import NUM_LEVELS
from solo.results import Evaluation, Job, Rollout
from solo.terrains.scene import VOID_VARIANTS, TerrainSceneCfg
from solo.terrains.variants import VARIANTS, get_variant

Range = tuple[float, float]


@dataclass(frozen=True)
class StartRangeCfg:
    """How rollouts begin; see the head of this file."""

    offset_m: float = 0.0
    """Largest distance from the origin along x and along y; training has 0.5 m.

    Off the centre line of stones, a straight walk begins between two rows, so a larger
    one is harder there.
    """
    joint_scale: Range = (0.9, 1.1)
    """Joints start at the default pose times this. Not stated in the paper."""
    clearance_m: float = 0.04
    """Height above the ground that robots are dropped from; that of training."""


@dataclass(frozen=True)
class LimitsCfg:
    """When a rollout ends."""

    pass_m: float = 5.0
    """Success: the base is farther than this along +x from the origin."""
    time_s: float = 30.0
    """Failure: not there after this time."""
    survive: bool = False
    """Success is to be on one's feet after this time, wherever that is."""


@dataclass(frozen=True)
class EvalCell:
    """One job: one terrain at one difficulty."""

    terrain: str
    """Name of the variant."""
    difficulty: float
    """Difficulty of all patches, 0 to 1."""
    level: int
    """Number of the difficulty."""
    patch_m: float
    """Side of a patch."""

    @property
    def name(self) -> str:
        """Name of the job, also of its file."""
        return f"{self.terrain}-{self.patch_m:g}m-{self.difficulty:.3f}"


@dataclass(frozen=True, eq=False)
class Start:
    """State and command at the start of one rollout."""

    index: int
    """Number of the rollout within its job."""
    patch: int
    """Row of the scene: a patch, a strip or a leg."""
    offset_m: np.ndarray
    """From the origin of the patch, x and y, [2]."""
    joint_scale: np.ndarray
    """Of the default pose, [joints]."""
    forward_m_s: float
    """Forward command."""
    seed: tuple[int, ...]
    """Seed of whatever a policy draws in this rollout."""
    patch_at_m: float = 0.0
    """Where the patch begins along the way of the job."""
    column: int = 0
    """Column of the scene."""
    sideways_m_s: float = 0.0
    """Command to the left."""
    turn_rad_s: float | None = None
    """Command to turn left; None holds the heading along +x."""

    @property
    def x_m(self) -> float:
        """Place along the way of the job."""
        return self.patch_at_m + float(self.offset_m[0])


Wave = Sequence[tuple[Start, Rollout]]
"""Rollouts of a job that were begun together."""

OnStep = Callable[[Sequence[Start | None], np.ndarray, Mapping[str, np.ndarray]], None]
"""Called before each step with the rollout of each slot, None where it waits, its place
along the way [B], and what the policy measured there."""


@dataclass(frozen=True)
class Protocol:
    """An evaluation as data: its jobs, and the scene, starts, command and end of each.

    This one has jobs on patches of the training's terrains; `StripProtocol` and
    `RouteProtocol` are others.
    """

    follows_line: ClassVar[bool] = False
    """Whether the command leads back to the centre line; else it is straight ahead."""
    records_landings: ClassVar[bool] = False
    """Whether every touch-down beside holes is kept."""
    measures_motion: ClassVar[bool] = False
    """Whether it is measured how the base moves, to compare with the command."""

    name: str
    """What results are labelled with."""
    terrains: tuple[str, ...]
    """Names of the variants."""
    difficulties: tuple[float, ...]
    """Difficulties; each terrain is run at each of them."""
    rollouts: int
    """Rollouts of each terrain at each difficulty."""
    levels: tuple[int, ...] = ()
    """Numbers of the difficulties; counted from 0 if left out."""
    patches_m: tuple[float, ...] = (8.0,)
    """Sides of the patches; each is a scene of its own."""
    forward_m_s: Range = (0.4, 1.0)
    """Forward command, drawn once per rollout; sideways and heading are zero."""
    limits: LimitsCfg = field(default_factory=LimitsCfg)
    start: StartRangeCfg = field(default_factory=StartRangeCfg)
    seed: int = 0
    """Seed of starts, commands and terrain."""
    num_patches: int = 10
    """Patches to start on, taken in turn; random terrains differ from one to the next.

    Not stated in the paper; the number of rows of its grid.
    """

    def __post_init__(self) -> None:
        for name in self.terrains:
            self._check_terrain(name)
        for difficulty in self.difficulties:
            check_number("difficulty", difficulty, 0.0, 1.0)
        check_number("rollouts", self.rollouts, 1)
        check_number("num_patches", self.num_patches, 1)
        check_number("seed", self.seed, 0)
        names = [cell.name for cell in self.cells]
        if not names:
            raise SoloError(f"Protocol {self.name!r} has no job. Name a terrain.")
        if len(set(names)) != len(names):
            raise SoloError(
                f"Protocol {self.name!r} has a job twice: {', '.join(names)}. Name "
                "each terrain and each difficulty (to three digits) once."
            )

    def _check_terrain(self, name: str) -> None:
        get_variant(name)

    @property
    def cells(self) -> tuple[EvalCell, ...]:
        """All jobs, terrain by terrain."""
        levels = self.levels or range(len(self.difficulties))
        return tuple(
            EvalCell(terrain, difficulty, level, patch_m)
            for terrain in self.terrains
            for patch_m in self.patches_m
            for level, difficulty in zip(levels, self.difficulties, strict=True)
        )

    @property
    def terrain_seed(self) -> int:
        """Seed of the random terrains; trainings have small seeds."""
        return 1_000_000 + self.seed

    def scene(self, cell: Any) -> TerrainSceneCfg:
        """The ground of a job: a row of patches along +x, those to start on, and one
        to end on.
        """
        return TerrainSceneCfg(
            variants=(cell.terrain,),
            num_levels=self.num_patches + 1,
            patch_m=cell.patch_m,
            seed=self.terrain_seed,
            difficulty=cell.difficulty,
        )

    def limits_of(self, cell: Any) -> LimitsCfg:
        """When the rollouts of a job end."""
        return self.limits

    def half_width_m(self, cell: Any) -> float:
        """How far sideways of its origin a robot may get, and how far behind it."""
        return cell.patch_m / 2

    def turns(self, cell: Any) -> Sequence[tuple[float, float]] | None:
        """Lengths, metres, and bends, radians, of patches that are the legs of one
        way; None if each patch is a way of its own.
        """
        return None

    def draw_start(self, cell: Any, index: int, num_joints: int) -> Start:
        """Draw a start from the seed, the terrain's name and the index alone.

        Every policy and every difficulty of a terrain gets the same starts, so
        differences between them are not differences of luck.
        """
        seed = (self.seed, zlib.crc32(cell.terrain.encode()), index)
        rng = np.random.default_rng(seed)
        limit = self.start.offset_m
        return Start(
            index=index,
            patch=index % self.num_patches,
            offset_m=rng.uniform(-limit, limit, size=2),
            forward_m_s=float(rng.uniform(*self.forward_m_s)),
            joint_scale=rng.uniform(*self.start.joint_scale, size=num_joints),
            seed=seed,
        )

    def starts(self, cell: Any, num_joints: int) -> list[Start]:
        """The starts of all rollouts of a job."""
        return [self.draw_start(cell, i, num_joints) for i in range(self.rollouts)]

    def start_again(
        self, cell: Any, start: Start, rollout: Rollout, num_joints: int
    ) -> Start | None:
        """Where a robot goes on after a rollout; None if the rollout was all."""
        return None

    def watch(self, cell: Any) -> OnStep | None:
        """What is counted along the way of a job."""
        return None

    def describe_job(
        self, job: Job, cell: Any, waves: Sequence[Wave], watch: OnStep | None
    ) -> Job:
        """Add what only this kind of protocol knows; ``job`` has the first wave."""
        return job

    def describe_all(self, found: Evaluation) -> Evaluation:
        """The same of all jobs."""
        return found


STRESS = Protocol(
    name="stress",
    terrains=(
        "gap",
        "random_grid",
        "stairs_down_25",
        "stairs_down_35",
        "stairs_up_25",
        "stairs_up_35",
        # The paper has one column for stepping stones without saying which of its two
        # variants; this one is the same for every seed.
        "stones_aligned",
        "high_plane",
    ),
    difficulties=(0.99,),
    rollouts=100,
)
"""The highest-difficulty test (figure of success rates, table of on-policy errors)."""

LEVELS = Protocol(
    name="levels",
    terrains=tuple(VARIANTS),
    difficulties=tuple(level / (NUM_LEVELS - 1) for level in range(NUM_LEVELS)),
    rollouts=64,
)
"""Ten levels of every training terrain (seed-paired ablation).

The paper does not say what success is there; it is the stress test's.
"""


def pick_levels(protocol: Protocol, levels: Sequence[int]) -> Protocol:
    """Some levels of a protocol that has all ten; the protocol itself if none is named.

    Raises:
        SoloError: There is no such level.
    """
    if not levels:
        return protocol
    if not set(levels) <= set(range(NUM_LEVELS)):
        found = " ".join(map(str, levels))
        raise FieldError("levels", f"is {found}; allowed are 0 to 9.")
    chosen = tuple(sorted(set(levels)))
    difficulties = tuple(LEVELS.difficulties[level] for level in chosen)
    return replace(protocol, levels=chosen, difficulties=difficulties)


EXTENT = Protocol(
    name="extent",
    # The paper's end points are those of Down-25 in its table of on-policy errors.
    terrains=("stairs_down_25",),
    # Not stated in the paper but for the last.
    difficulties=(0.0, 0.25, 0.5, 0.75, 0.99),
    rollouts=100,
    patches_m=(8.0, 10.0),
)
"""Descending stairs on the extent of training and on one never seen."""


@dataclass(frozen=True)
class FootholdProtocol(Protocol):
    """Rollouts on holes whose touch-downs are kept, all on the same patch."""

    records_landings: ClassVar[bool] = True

    def _check_terrain(self, name: str) -> None:
        if name not in VOID_VARIANTS:
            raise SoloError(
                f"Terrain {name!r} has no holes to step beside. Allowed: "
                f"{', '.join(VOID_VARIANTS)}."
            )


FOOTHOLDS = FootholdProtocol(
    name="footholds",
    terrains=VOID_VARIANTS,
    difficulties=(0.5,),
    rollouts=32,
    num_patches=1,
)
"""Not in the paper. One patch, so that all touch-downs can be drawn on it."""


@dataclass(frozen=True)
class CommandCell(EvalCell):
    """One job: one command."""

    label: str
    """What the robot is asked to do."""
    command: tuple[float, float, float | None]
    """Forward and to the left, m/s; turn to the left, rad/s, None holds the heading."""

    @property
    def name(self) -> str:
        """Name of the job, also of its file."""
        return f"{self.label}-{self.terrain}-{self.difficulty:.3f}"


@dataclass(frozen=True)
class CommandProtocol(Protocol):
    """Constant commands in all directions; success is not to fall."""

    measures_motion: ClassVar[bool] = True

    commands: tuple[tuple[str, tuple[float, float, float | None]], ...] = (
        ("stand", (0.0, 0.0, None)),
        ("forward", (0.8, 0.0, None)),
        ("backward", (-0.4, 0.0, None)),
        ("left", (0.0, 0.4, None)),
        ("right", (0.0, -0.4, None)),
        ("turn_left", (0.0, 0.0, 0.8)),
        ("turn_right", (0.0, 0.0, -0.8)),
        ("curve_left", (0.6, 0.0, 0.4)),
        ("curve_right", (0.6, 0.0, -0.4)),
    )
    """Name and command of each job; four fifths of the ranges of training, about."""

    @property
    def cells(self) -> tuple[EvalCell, ...]:
        """All jobs, terrain by terrain."""
        return tuple(
            CommandCell(**vars(cell), label=label, command=command)
            for cell in super().cells
            for label, command in self.commands
        )

    def draw_start(self, cell: Any, index: int, num_joints: int) -> Start:
        """See `Protocol`; the command is the job's."""
        forward, sideways, turn = cell.command
        return replace(
            super().draw_start(cell, index, num_joints),
            forward_m_s=forward,
            sideways_m_s=sideways,
            turn_rad_s=turn,
        )


DIRECTIONS = CommandProtocol(
    name="commands",
    terrains=("flat",),
    difficulties=(0.0,),
    rollouts=32,
    patches_m=(24.0,),
    limits=LimitsCfg(pass_m=1000.0, time_s=10.0, survive=True),
    num_patches=1,
)
"""Not in the paper. Ten seconds of each command, on ground that nobody can leave."""
