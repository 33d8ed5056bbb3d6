"""``solo eval isolated | course | route``: the paper's real-world tests, simulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solo.cli.checks import check_at_least, check_picture_path
from solo.errors import SoloError
from solo.files import written_aside

if TYPE_CHECKING:
    from solo.evaluation.protocols import Cell
    from solo.evaluation.rollout import Rollout
    from solo.evaluation.route import RouteProtocol
    from solo.evaluation.strips import StripProtocol
    from solo.terrains.strip import Strip

_MAX_LEGS = 6
"""Legs of the route that a picture shows."""


@dataclass(frozen=True, kw_only=True)
class _OnStrips:
    policy: str
    """zero, random, stand, a run's folder, a checkpoint or a bundle *.onnx."""
    difficulty_scale: float = 1.0
    """Heights, gaps and distances of stones as a share of the paper's, above 0 to 1;
    for policies that are not so far yet."""
    seed: int = 0
    """Seed of starts, commands and terrain."""
    num_envs: int = 64
    """Robots at a time, in steps of 32; changes nothing but the time."""
    robot: str = "g1"
    """Robot of the baseline agents; a run knows its own."""
    output: Path | None = None
    """Folder of the results; eval/PROTOCOL/POLICY if left out. Finished jobs found
    there are not repeated."""
    picture: Path | None = None
    """PNG file for side views of the terrain, drawn before anything is run."""
    json: Path | None = None
    """File to write the result to."""
    failures: int = 3
    """Failures of each job whose last seconds are kept, with pictures if there is GL;
    changes no result."""

    def _check(self) -> None:
        check_at_least("num_envs", self.num_envs, 1)
        check_at_least("seed", self.seed, 0)
        check_at_least("failures", self.failures, 0)
        if not 0.0 < self.difficulty_scale <= 1.0:
            raise SoloError(
                f"--difficulty-scale is {self.difficulty_scale}; it must be above 0 "
                "and at most 1, which is the paper's."
            )
        if self.picture is not None:
            check_picture_path(self.picture, (".png",))

    def _draw(self, strips: Mapping[str, Strip]) -> None:
        if self.picture is None:
            return
        from solo.envs.obstacle import ObstacleCfg
        from solo.terrains.strip_picture import draw_strips

        length_m, _, height_m = ObstacleCfg().size_m
        with written_aside(self.picture) as unfinished:
            draw_strips(strips, unfinished, (length_m, height_m))
        print(f"Wrote {self.picture}")

    def _run(self, protocol: StripProtocol) -> dict[str, Any]:
        """Evaluate on strips of the catalogue."""
        from solo.cli.eval_output import print_cells, watching
        from solo.cli.eval_strips_output import print_progress
        from solo.evaluation.policies import open_policy
        from solo.evaluation.strips_evaluate import evaluate_strips
        from solo.terrains.strip_catalogue import get_strip

        source = open_policy(self.policy, self.robot)
        scale = self.difficulty_scale
        self._draw({name: get_strip(name, scale) for name in protocol.terrains})
        folder = self.output or Path("eval") / protocol.name / source.slug
        with watching(protocol) as watcher:
            result = evaluate_strips(
                protocol,
                source,
                folder,
                self.num_envs,
                on_rollout=watcher.on_rollout,
                on_cell=watcher.on_cell,
                num_failures=self.failures,
            )
        print_cells(result)
        for cell in result["cells"]:
            if len(cell["elements"]) > 1:
                print_progress(cell)
        print(f"Wrote {folder / 'result.json'}: {_speed(result)}")
        return result


@dataclass(frozen=True, kw_only=True)
class EvalIsolated(_OnStrips):
    """Cross the paper's seven real-world terrains one by one, in simulation.

    Killed runs go on with the same command.
    """

    rollouts: int = 10
    """Trials on each terrain (paper: 10)."""
    terrains: tuple[str, ...] = ()
    """Names of the terrains; all seven if left out."""

    def run(self) -> dict[str, Any]:
        from solo.evaluation.strips import ISOLATED

        self._check()
        check_at_least("rollouts", self.rollouts, 1)
        unknown = [name for name in self.terrains if name not in ISOLATED.terrains]
        if unknown or len(set(self.terrains)) != len(self.terrains):
            raise SoloError(
                f"--terrains is {' '.join(self.terrains)}; allowed are "
                f"{', '.join(ISOLATED.terrains)}, each once."
            )
        return self._run(
            replace(
                ISOLATED,
                seed=self.seed,
                rollouts=self.rollouts,
                terrains=self.terrains or ISOLATED.terrains,
                difficulties=(self.difficulty_scale,),
            )
        )


@dataclass(frozen=True, kw_only=True)
class EvalCourse(_OnStrips):
    """Walk the indoor course in one go: stairs, stones, gap, movable obstacle.

    Killed runs go on with the same command.
    """

    rollouts: int = 10
    """Runs over the course (the paper shows one)."""

    def run(self) -> dict[str, Any]:
        from solo.evaluation.strips import COURSE

        self._check()
        check_at_least("rollouts", self.rollouts, 1)
        return self._run(
            replace(
                COURSE,
                seed=self.seed,
                rollouts=self.rollouts,
                difficulties=(self.difficulty_scale,),
            )
        )


@dataclass(frozen=True, kw_only=True)
class EvalRoute(_OnStrips):
    """Walk the outdoor route: stairs, slopes, grass, uneven ground and bends.

    The route is walked in stages of about 100 m. Killed runs go on with the same
    command at the stage they were in.
    """

    length_m: float = 1500.0
    """Length of the route (paper: 1500)."""
    num_robots: int = 32
    """Robots, each of which walks all of it; up to 32 take the same time."""

    def run(self) -> dict[str, Any]:
        protocol = self._protocol()

        from solo.cli.eval_output import watching
        from solo.cli.eval_strips_output import print_route
        from solo.evaluation.policies import open_policy
        from solo.evaluation.route import draw_leg
        from solo.evaluation.route_evaluate import evaluate_route

        source = open_policy(self.policy, self.robot)
        num_legs = min(sum(len(stage.legs) for stage in protocol.cells), _MAX_LEGS)
        legs = [
            draw_leg(protocol.terrain_seed, index, self.difficulty_scale)
            for index in range(num_legs)
        ]
        self._draw(
            {
                f"leg {number}, then {leg.turn_deg:+.0f} degrees": leg.strip
                for number, leg in enumerate(legs)
            }
        )
        folder = self.output or Path("eval") / protocol.name / source.slug
        seen: set[tuple[str, int]] = set()
        with watching(protocol) as watcher:

            def on_walk(cell: Cell, rollout: Rollout) -> None:
                """Show the first walk of each robot in a stage."""
                if (cell.name, rollout.index) not in seen:
                    seen.add((cell.name, rollout.index))
                    watcher.on_rollout(cell, rollout)

            result = evaluate_route(
                protocol,
                source,
                folder,
                self.num_envs,
                on_walk=on_walk,
                on_cell=watcher.on_cell,
                num_failures=self.failures,
            )
        print_route(result["route"])
        print(f"Wrote {folder / 'result.json'}: {_speed(result)}")
        return result

    def _protocol(self) -> RouteProtocol:
        from solo.evaluation.route import ROUTE

        self._check()
        check_at_least("length_m", self.length_m, 1.0)
        check_at_least("num_robots", self.num_robots, 1)
        return replace(
            ROUTE,
            seed=self.seed,
            rollouts=self.num_robots,
            length_m=self.length_m,
            difficulties=(self.difficulty_scale,),
        )


def _speed(result: Mapping[str, Any]) -> str:
    return (
        f"{result['env_steps']} steps in {result['wall_time_s']:.0f} s, "
        f"{result['env_steps_per_s']:.0f} steps/s"
    )
