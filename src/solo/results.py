"""What evaluations, comparisons and benchmarks write, and the report reads.

A result file is one of these dataclasses as JSON; its ``kind`` says which. Numbers are
typed, settings (protocol, policy, versions) are kept as they are. What a reader can do
without has a default, so files of other versions and other people's files can be read.
Every number is defined in ``docs/metrics.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

import numpy as np

MAP_ERROR = "height_map_l1_m"
"""Measure of policies that reconstruct the ground."""

LEVEL_TAG = "Curriculum/terrain_levels/mean"
"""Curve in the log of a training: mean curriculum level of all robots."""

METHOD_TITLES = {
    "qr": "QR",
    "start": "START-style",
    "dpl": "DPL-style",
    "qr_evidence": "QR with evidence",
    "start_evidence": "START-style with evidence",
    "start_memory": "START-style, memory of the episode",
    "dpl_memory": "DPL-style, memory of the episode",
    "flat": "flat ground",
    "noise": "flat ground with noise",
}
"""Reconstructor, or what it is compared with, to its name in figures and tables."""


class Outcome(str, Enum):
    """How a rollout ended; everything but success is a failure."""

    SUCCESS = "success"
    FALL = "fall"
    TIME_OUT = "time_out"
    LEFT_PATCH = "left_patch"
    """Walked off sideways or backwards, where the ground is not the terrain's."""
    DIVERGED = "diverged"
    """The physics broke down; must not happen."""


@dataclass(frozen=True)
class Rate:
    """A success rate with its 95 % interval."""

    successes: int
    rollouts: int
    rate: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if self.rollouts < 1 or not 0 <= self.successes <= self.rollouts:
            raise ValueError(f"{self.successes} of {self.rollouts} is no success rate")
        for name in ("rate", "low", "high"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} is {getattr(self, name)}, allowed are 0 to 1")


@dataclass(frozen=True)
class Mean:
    """Mean and sample standard deviation, which a single value has not.

    The deviation divides by n - 1, as the paper's does: 64 episodes each of three seeds
    give 97.92 +- 3.61 % with 100, 100 and 93.75 %.
    """

    mean: float | None
    std: float | None = None
    count: int | None = None

    @staticmethod
    def of(values: Sequence[float]) -> Mean:
        """Of some values; there may be none."""
        array, num = np.asarray(values, dtype=np.float64), len(values)
        mean = float(array.mean()) if num else None
        return Mean(mean, float(array.std(ddof=1)) if num > 1 else None, num)

    def __str__(self) -> str:
        """For tables, with two digits."""
        spread = "" if self.std is None else f" ± {self.std:.2f}"
        return f"{self.mean:.2f}{spread}"

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the mean (Student); None without a deviation."""
        if self.mean is None or self.std is None or not self.count or self.count < 2:
            return None
        from scipy.special import stdtrit

        half = float(stdtrit(self.count - 1, 0.975)) * self.std / math.sqrt(self.count)
        return self.mean - half, self.mean + half


@dataclass(frozen=True)
class Landing:
    """A touch-down beside holes, relative to the origin of the patch."""

    x_m: float
    y_m: float
    yaw_rad: float
    over: float
    """Share of the sole over holes."""
    shifted: float
    """The same of this sole elsewhere, see ``docs/metrics.md``."""


@dataclass(frozen=True)
class Rollout:
    """What became of one rollout."""

    index: int
    """Number within the job."""
    outcome: Outcome
    steps: int = 0
    """Control steps, the last one included."""
    distance_m: float | None = None
    """Where it ended along +x from the origin."""
    sideways_m: float | None = None
    """The same along y."""
    forward_m_s: float | None = None
    """Forward command."""
    patch: int = 0
    """Which patch it started on."""
    measures: dict[str, float] = field(default_factory=dict)
    """Means over its steps."""
    element: str | None = None
    """Where on a strip it ended."""
    landings: tuple[Landing, ...] = ()
    """Where its feet came down, of an evaluation of footholds."""


@dataclass(frozen=True)
class Progress:
    """How many trials came to an element of a strip, and how many passed it."""

    name: str
    begin_m: float
    end_m: float
    reached: int
    passed: int


@dataclass(frozen=True)
class RouteWalk:
    """One robot from a start at rest to whatever ended it; places along the route."""

    robot: int
    stage: int
    leg: int
    """Where it started, within the stage."""
    begin_m: float
    end_m: float
    outcome: Outcome
    steps: int

    @property
    def distance_m(self) -> float:
        """What was walked; never negative."""
        return max(self.end_m - self.begin_m, 0.0)


@dataclass(frozen=True)
class MapErrors:
    """Sum and count of the map's error on one piece of the route."""

    piece: int
    sum_m: float
    steps: int


@dataclass(frozen=True, kw_only=True)
class Timed:
    """How long something took; env steps are control steps of one robot."""

    wall_time_s: float = 0.0
    env_steps: int = 0
    env_steps_per_s: float = 0.0


@dataclass(frozen=True)
class Job(Timed):
    """The result of one job: all rollouts on one terrain at one difficulty."""

    name: str
    success: Rate
    outcomes: dict[str, int]
    measures: dict[str, Mean]
    terrain: str = ""
    difficulty: float | None = None
    level: int | None = None
    patch_m: float | None = None
    steps: int = 0
    setting: dict[str, Any] = field(default_factory=dict)
    """What else the protocol says of the job, such as the legs of a stage."""
    rollouts: tuple[Rollout, ...] = ()
    elements: tuple[Progress, ...] = ()
    walks: tuple[RouteWalk, ...] = ()
    map_errors: tuple[MapErrors, ...] = ()
    failures: tuple[str, ...] = ()
    """Recordings, relative to the folder of the result."""

    @property
    def title(self) -> str:
        """The terrain, or else the job."""
        return self.terrain or self.name


@dataclass(frozen=True)
class Worst:
    """The job with the lowest rate."""

    name: str
    rate: float


@dataclass(frozen=True)
class Summary:
    """Over all jobs: pooled success, the worst job, means over jobs."""

    success: Rate
    worst: Worst | None = None
    measures: dict[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Piece:
    """Mean error of the map on one piece of the route."""

    from_m: float
    mean: float
    steps: int = 0


@dataclass(frozen=True)
class RouteSummary:
    """All numbers of the route."""

    robots: int
    length_m: float
    completed: Rate
    distance_m: float
    falls: int
    incidents: int
    share_walked: float | None = None
    falls_per_km: float | None = None
    mean_distance_between_falls_m: float | None = None
    first_m: Mean | None = None
    longest_m: float | None = None
    height_map_l1_m: tuple[Piece, ...] = ()
    per_robot: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Evaluation(Timed):
    """One policy in one protocol."""

    protocol: dict[str, Any]
    policy: dict[str, Any]
    cells: tuple[Job, ...]
    summary: Summary | None = None
    aggregates: dict[str, Rate] = field(default_factory=dict)
    """Columns of the ablation, of an evaluation of levels."""
    route: RouteSummary | None = None
    condition: dict[str, Any] | None = None
    versions: dict[str, str] = field(default_factory=dict)
    kind: Literal["evaluation"] = "evaluation"

    def __post_init__(self) -> None:
        _check_names(self.protocol, self.policy)
        if not self.cells:
            raise ValueError("cells is empty, expected at least one job")


@dataclass(frozen=True)
class Pair:
    """One column of two sets of policies, percent, and the difference pair by pair."""

    first: Mean
    second: Mean
    difference: Mean


@dataclass(frozen=True)
class Levels(Timed):
    """One or two sets of policies over ten levels."""

    first: tuple[Evaluation, ...]
    second: tuple[Evaluation, ...] = ()
    paired: dict[str, Pair] = field(default_factory=dict)
    kind: Literal["levels"] = "levels"

    def __post_init__(self) -> None:
        if not self.first:
            raise ValueError("first is empty, expected at least one policy")


@dataclass(frozen=True)
class Cost:
    """Success lost against the nominal condition, percentage points, with interval."""

    success_points: float
    low: float | None = None
    high: float | None = None
    height_map_l1_m: float | None = None
    """What the error of the map grew by, metres."""


@dataclass(frozen=True)
class ConditionRow(Timed):
    """A policy under one condition; ``failures`` are relative to the whole result."""

    name: str
    condition: dict[str, Any] = field(default_factory=dict)
    is_applicable: bool = True
    reason: str | None = None
    success: Rate | None = None
    worst: Worst | None = None
    measures: dict[str, float | None] = field(default_factory=dict)
    cost: Cost | None = None
    cells: tuple[Job, ...] = ()

    def __post_init__(self) -> None:
        if self.is_applicable and self.success is None:
            raise ValueError("success is missing")


@dataclass(frozen=True)
class Robustness(Timed):
    """A protocol under one condition after the other."""

    protocol: dict[str, Any]
    policy: dict[str, Any]
    conditions: tuple[ConditionRow, ...]
    versions: dict[str, str] = field(default_factory=dict)
    kind: Literal["robustness"] = "robustness"

    def __post_init__(self) -> None:
        _check_names(self.protocol, self.policy)


@dataclass(frozen=True)
class LevelCurve:
    """Mean curriculum level over the iterations of a training."""

    name: str
    iterations: tuple[int, ...]
    levels: tuple[float, ...]
    final_level: float
    """Mean over the last tenth."""
    highest_level: float

    def __post_init__(self) -> None:
        if not self.levels or len(self.levels) != len(self.iterations):
            counts = f"{len(self.levels)} levels of {len(self.iterations)} iterations"
            raise ValueError(f"{counts}; there must be one for each")


@dataclass(frozen=True)
class Curriculum:
    """Curves of several trainings."""

    runs: tuple[LevelCurve, ...]
    ceiling: float | None = None
    output: str | None = None
    kind: Literal["curriculum"] = "curriculum"


@dataclass(frozen=True)
class MethodScore:
    """A reconstructor on held-out terrain; ``_std`` is over the sets."""

    l1_cm: float
    edge_f1: float | None = None
    """Of covered edges, the paper's reading."""
    matched_edge_f1: float | None = None
    """Of edges counted one to one; also ``_precision`` and ``_recall``."""
    matched_edge_precision: float | None = None
    matched_edge_recall: float | None = None
    parameters: int = 0
    hard_l1_cm: float | None = None
    velocity_l1: float | None = None
    l1_cm_std: float | None = None
    edge_f1_std: float | None = None
    matched_edge_f1_std: float | None = None
    matched_edge_precision_std: float | None = None
    matched_edge_recall_std: float | None = None
    hard_l1_cm_std: float | None = None
    velocity_l1_std: float | None = None
    per_terrain_level9_cm: dict[str, float] = field(default_factory=dict)
    per_terrain_level9_cm_std: dict[str, float | None] = field(default_factory=dict)
    updates: int | None = None


@dataclass(frozen=True)
class ExtentCurve:
    """Error over difficulty."""

    difficulty: tuple[float, ...]
    l1_cm: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.difficulty) != len(self.l1_cm):
            raise ValueError(f"{len(self.l1_cm)} errors, expected one per difficulty")


@dataclass(frozen=True)
class Reconstruction:
    """The matched offline comparison of reconstructors."""

    methods: dict[str, MethodScore]
    flat: MethodScore | None = None
    """The same numbers of a map that is always flat ground."""
    noise: MethodScore | None = None
    """And of flat ground with white noise, which must not look good."""
    extent_shift: dict[str, dict[str, ExtentCurve]] = field(default_factory=dict)
    """Method and side of the scene to the curve."""
    training: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    examples: tuple[dict[str, Any], ...] = ()
    kind: Literal["reconstruction"] = "reconstruction"


def _check_names(protocol: dict[str, Any], policy: dict[str, Any]) -> None:
    for what, found in (("protocol", protocol), ("policy", policy)):
        if not isinstance(found.get("name"), str) or not found["name"]:
            raise ValueError(f"{what}.name is {found.get('name')!r}, expected a text")
