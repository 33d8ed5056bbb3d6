"""Evaluations on strips: the paper's real-world terrains in simulation.

What the paper leaves open, and how it is read here: success of a trial is to come over
the finish line behind the last element without a fall. The command is what an operator
does with a joystick: a steady speed along the centre line, corrected towards it. There
are no pushes and no noise, as in the other evaluations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from solo.evaluation.protocols import EvalCell, LimitsCfg, OnStep, Protocol, Range, Wave
from solo.results import Job, Progress, Rollout
from solo.terrains.strips.catalogue import ISOLATED as STRIPS_ALONE
from solo.terrains.strips.catalogue import get_strip
from solo.terrains.strips.strip import Element, StripSceneCfg

SLACK = 2.0
"""Trials end after this many times the time that the slowest command takes."""


@dataclass(frozen=True)
class StripCell(EvalCell):
    """One job: trials on one strip."""

    finish_m: float
    """Success: the base is farther than this from the start line."""
    time_s: float
    """Failure: not there after this time."""
    elements: tuple[Element, ...]
    """What lies on the way."""

    @property
    def name(self) -> str:
        """Name of the job, also of its file."""
        return f"{self.terrain}-{self.difficulty:.3f}"


@dataclass(frozen=True)
class StripProtocol(Protocol):
    """An evaluation on strips of the catalogue.

    Its terrains are names of strips and its one difficulty is their scale; 1 is the
    paper's. Patches are strips: as many as start lines are needed for random ones to
    differ.
    """

    follows_line: ClassVar[bool] = True

    patches_m: tuple[float, ...] = (4.0,)
    """Width of the strips."""

    def _check_terrain(self, name: str) -> None:
        get_strip(name)

    @property
    def cells(self) -> tuple[StripCell, ...]:
        """One job per strip."""
        (scale,), (width_m,) = self.difficulties, self.patches_m
        cells = []
        for name in self.terrains:
            strip = get_strip(name, scale)
            cells.append(
                StripCell(
                    terrain=name,
                    difficulty=scale,
                    level=0,
                    patch_m=width_m,
                    finish_m=strip.finish_m,
                    time_s=time_limit(strip.finish_m, self.forward_m_s),
                    elements=strip.elements,
                )
            )
        return tuple(cells)

    def scene(self, cell: StripCell) -> StripSceneCfg:
        """All strips of a job side by side."""
        strips = tuple(
            get_strip(cell.terrain, cell.difficulty, (self.terrain_seed, index))
            for index in range(min(self.num_patches, self.rollouts))
        )
        return StripSceneCfg(strips=strips, patch_m=cell.patch_m)

    def limits_of(self, cell: StripCell) -> LimitsCfg:
        """Behind the last element, in time."""
        return LimitsCfg(pass_m=cell.finish_m, time_s=cell.time_s)

    def describe_job(
        self, job: Job, cell: StripCell, waves: Sequence[Wave], watch: OnStep | None
    ) -> Job:
        """Add the progress of the trials over the elements."""
        elements = cell.elements
        listed = tuple(
            replace(rollout, element=element_at(elements, rollout.distance_m or 0.0))
            for rollout in job.rollouts
        )
        return replace(
            job, rollouts=listed, elements=count_progress(elements, job.rollouts)
        )


def time_limit(length_m: float, forward_m_s: Range) -> float:
    """Seconds that a way may take."""
    return SLACK * length_m / forward_m_s[0]


def element_at(elements: Sequence[Element], x_m: float) -> str:
    """Where on a strip a place is: in an element, or before or after all or two."""
    for element in elements:
        if x_m < element.begin_m:
            return f"before {element.name}"
        if x_m <= element.end_m:
            return element.name
    return f"after {elements[-1].name}" if elements else "flat"


def count_progress(
    elements: Sequence[Element], rollouts: Sequence[Rollout]
) -> tuple[Progress, ...]:
    """How many trials came to each element, and how many passed it."""
    ends = [rollout.distance_m or 0.0 for rollout in rollouts]
    return tuple(
        Progress(
            name=element.name,
            begin_m=element.begin_m,
            end_m=element.end_m,
            reached=sum(end >= element.begin_m for end in ends),
            passed=sum(end > element.end_m for end in ends),
        )
        for element in elements
    )


ISOLATED = StripProtocol(
    name="isolated", terrains=tuple(STRIPS_ALONE), difficulties=(1.0,), rollouts=10
)
"""Seven terrains, ten trials each (paper, table of real-world success)."""

COURSE = StripProtocol(
    name="course",
    terrains=("course",),
    difficulties=(1.0,),
    # The paper shows one run.
    rollouts=10,
)
"""The indoor mixed-terrain course."""
