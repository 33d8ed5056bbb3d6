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
- Robots start at rest and face +x, near the origin. With the random yaw of training
  they would leave the platform in any direction before they have turned to the
  commanded heading.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from solo.errors import SoloError
from solo.terrains.variants import VARIANTS, get_variant

Range = tuple[float, float]

NUM_LEVELS = 10
"""Levels of the curriculum."""


@dataclass(frozen=True)
class StartCfg:
    """How rollouts begin; see the head of this file."""

    offset_m: float = 0.5
    """Largest distance from the origin along x and along y; that of training."""
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


@dataclass(frozen=True)
class Cell:
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


@dataclass(frozen=True)
class Protocol:
    """An evaluation as data."""

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
    start: StartCfg = field(default_factory=StartCfg)
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
            if not 0.0 <= difficulty <= 1.0:
                raise ValueError(f"Difficulty is {difficulty}; allowed are 0 to 1.")
        counts = (len(self.terrains), len(self.difficulties), self.rollouts)
        if min(*counts, self.num_patches, len(self.patches_m)) < 1 or self.seed < 0:
            raise ValueError(
                f"Protocol {self.name!r} has {counts} terrains, difficulties and "
                f"rollouts, {self.num_patches} patches and seed {self.seed}; at least "
                "one of each is needed and the seed must not be negative."
            )

        names = [cell.name for cell in self.cells]
        if len(set(names)) != len(names):
            raise SoloError(
                f"Protocol {self.name!r} has a job twice: {', '.join(names)}. Name "
                "each terrain and each difficulty (to three digits) once."
            )

    def _check_terrain(self, name: str) -> None:
        get_variant(name)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All jobs, terrain by terrain."""
        levels = self.levels or range(len(self.difficulties))
        return tuple(
            Cell(terrain, difficulty, level, patch_m)
            for terrain in self.terrains
            for patch_m in self.patches_m
            for level, difficulty in zip(levels, self.difficulties, strict=True)
        )

    @property
    def terrain_seed(self) -> int:
        """Seed of the random terrains; trainings have small seeds."""
        return 1_000_000 + self.seed


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

LEVEL_GROUPS = {"easy": range(0, 4), "medium": range(4, 7), "hard": range(7, 10)}
"""Aggregate to its levels (paper)."""
