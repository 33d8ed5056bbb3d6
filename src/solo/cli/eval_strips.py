"""``solo eval isolated | course | route``: the paper's real-world tests, simulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solo.cli.checks import check_picture_path
from solo.cli.eval import OnePolicy
from solo.errors import SoloError, check_number, unknown_name
from solo.files import written_aside

if TYPE_CHECKING:
    from solo.evaluation.strips import StripProtocol
    from solo.terrains.strips.strip import Strip

_MAX_LEGS = 6
"""Number of route legs shown in a picture."""


@dataclass(frozen=True, kw_only=True)
class OnStrips(OnePolicy):
    """Options of evaluations on strips."""

    difficulty_scale: float = 1.0
    """Scale of heights, gaps and stone distances, above 0 to 1; 1 is the paper's. Use
    less for weaker policies."""
    picture: Path | None = None
    """PNG file for side views of the terrain, drawn before the evaluation starts."""

    def check(self, *policies: str) -> None:
        """Also check the options of strips."""
        super().check(self.policy, *policies)
        if not 0.0 < self.difficulty_scale <= 1.0:
            raise SoloError(
                f"--difficulty-scale is {self.difficulty_scale}; it must be above 0 "
                "and at most 1, which is the paper's."
            )
        if self.picture is not None:
            check_picture_path(self.picture, (".png",))

    def draw(self, strips: Mapping[str, Strip]) -> None:
        """Write the picture, if requested."""
        if self.picture is None:
            return
        from solo.pictures.terrains import draw_strips

        with written_aside(self.picture) as unfinished:
            draw_strips(strips, unfinished)
        print(f"Wrote {self.picture}")

    def run_strips(self, protocol: StripProtocol, rollouts: int) -> dict[str, Any]:
        """Evaluate on strips of the catalogue."""
        from solo.terrains.strips.catalogue import get_strip

        scale = self.difficulty_scale
        protocol = replace(
            protocol, seed=self.seed, rollouts=rollouts, difficulties=(scale,)
        )
        self.draw({name: get_strip(name, scale) for name in protocol.terrains})
        return self.run_one(protocol, self.policy)


@dataclass(frozen=True, kw_only=True)
class EvalIsolated(OnStrips):
    """Cross the paper's seven real-world terrains one by one, in simulation.

    An interrupted run resumes with the same command.
    """

    rollouts: int = 10
    """Trials on each terrain (paper: 10)."""
    terrains: tuple[str, ...] = ()
    """Names of the terrains; all seven if omitted."""

    def run(self) -> dict[str, Any]:
        self.check()

        from solo.evaluation.strips import ISOLATED

        for name in self.terrains:  # The course is a strip, too.
            if name not in ISOLATED.terrains:
                raise unknown_name("terrain", name, ISOLATED.terrains, "Choose these.")
        terrains = self.terrains or ISOLATED.terrains
        return self.run_strips(replace(ISOLATED, terrains=terrains), self.rollouts)


@dataclass(frozen=True, kw_only=True)
class EvalCourse(OnStrips):
    """Walk the whole indoor course: stairs, stones, gap, movable obstacle.

    An interrupted run resumes with the same command.
    """

    rollouts: int = 10
    """Runs over the course (the paper shows one)."""

    def run(self) -> dict[str, Any]:
        self.check()

        from solo.evaluation.strips import COURSE

        return self.run_strips(COURSE, self.rollouts)


@dataclass(frozen=True, kw_only=True)
class EvalRoute(OnStrips):
    """Walk the outdoor route: stairs, slopes, grass, uneven ground and bends.

    The route is walked in stages of about 100 m. An interrupted run resumes with the
    same command at the stage it was in.
    """

    length_m: float = 1500.0
    """Length of the route (paper: 1500)."""
    num_robots: int = 32
    """Number of robots; each walks the whole route, and up to 32 take the same time."""

    def run(self) -> dict[str, Any]:
        self.check()
        check_number("length_m", self.length_m, 1.0)
        check_number("num_robots", self.num_robots, 1)

        from solo.evaluation.route import ROUTE
        from solo.terrains.strips.catalogue import draw_leg

        protocol = replace(
            ROUTE,
            seed=self.seed,
            rollouts=self.num_robots,
            length_m=self.length_m,
            difficulties=(self.difficulty_scale,),
        )
        num_legs = min(sum(len(stage.legs) for stage in protocol.cells), _MAX_LEGS)
        legs = [
            draw_leg(protocol.terrain_seed, index, self.difficulty_scale)
            for index in range(num_legs)
        ]
        self.draw(
            {
                f"leg {number}, then {leg.turn_deg:+.0f} degrees": leg.strip
                for number, leg in enumerate(legs)
            }
        )
        return self.run_one(protocol, self.policy)
