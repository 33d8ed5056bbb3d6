"""``solo eval``: the paper's simulation experiments, one verb each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from solo.cli.checks import check_at_least, check_picture_path
from solo.errors import SoloError
from solo.files import written_aside

if TYPE_CHECKING:
    from solo.evaluation.protocols import Protocol


@dataclass(frozen=True)
class _Evaluation:
    rollouts: int | None = None
    """Rollouts of each terrain at each difficulty; the protocol's if left out."""
    terrains: tuple[str, ...] = ()
    """Names of the terrains; the protocol's if left out."""
    pass_m: float | None = None
    """Distance that is a success; the protocol's if left out. Far enough, e.g. 100,
    everybody walks until --time-s, over patch after patch."""
    time_s: float | None = None
    """Time limit of a rollout; the protocol's if left out."""
    seed: int = 0
    """Seed of starts, commands and terrain."""
    num_envs: int = 64
    """Rollouts at a time, in steps of 32; changes nothing but the time."""
    robot: str = "g1"
    """Robot of the baseline agents; a run knows its own."""
    output: Path | None = None
    """Folder of the results; eval/PROTOCOL/POLICY if left out. Finished jobs found
    there are not repeated."""
    json: Path | None = None
    """File to write the result to."""
    failures: int = 3
    """Failures of each job whose last seconds are kept, with pictures if there is GL;
    changes no result."""

    def _scaled(self, protocol: Protocol) -> Protocol:
        """The protocol with what the options change."""
        check_at_least("num_envs", self.num_envs, 1)
        check_at_least("seed", self.seed, 0)
        check_at_least("failures", self.failures, 0)
        if self.rollouts is not None:
            check_at_least("rollouts", self.rollouts, 1)
        limits = protocol.limits
        if self.pass_m is not None:
            check_at_least("pass_m", self.pass_m, 0.1)
            limits = replace(limits, pass_m=self.pass_m)
        if self.time_s is not None:
            check_at_least("time_s", self.time_s, 0.02)
            limits = replace(limits, time_s=self.time_s)
        if len(set(self.terrains)) != len(self.terrains):
            raise SoloError(
                f"--terrains names one twice: {', '.join(self.terrains)}. "
                "Name each once."
            )
        return replace(
            protocol,
            seed=self.seed,
            terrains=self.terrains or protocol.terrains,
            rollouts=self.rollouts or protocol.rollouts,
            limits=limits,
        )

    def _run_one(self, protocol: Protocol, policy: str) -> dict[str, Any]:
        """Evaluate one policy, print the table and where the files are."""
        from solo.cli.eval_output import print_cells, watching
        from solo.evaluation.evaluate import evaluate
        from solo.evaluation.policies import open_policy

        source = open_policy(policy, self.robot)
        folder = self.output or Path("eval") / protocol.name / source.slug
        with watching(protocol) as watcher:
            result = evaluate(
                protocol,
                source,
                folder,
                self.num_envs,
                on_rollout=watcher.on_rollout,
                on_cell=watcher.on_cell,
                num_failures=self.failures,
            )
        print_cells(result)
        print(f"Wrote {folder / 'result.json'}: {_speed(result)}")
        return result


@dataclass(frozen=True, kw_only=True)
class EvalStress(_Evaluation):
    """Run the stress test: eight terrains at their hardest, straight ahead for 5 m.

    Killed runs go on with the same command.
    """

    policy: str
    """zero, random, stand, a run's folder, a checkpoint or a bundle *.onnx."""
    difficulty: float | None = None
    """Difficulty of all terrains, 0 to 1 (paper: 0.99)."""

    def run(self) -> dict[str, Any]:
        from solo.evaluation.protocols import STRESS

        protocol = self._scaled(STRESS)
        if self.difficulty is not None:
            protocol = _with_difficulties(protocol, (self.difficulty,))
        return self._run_one(protocol, self.policy)


@dataclass(frozen=True, kw_only=True)
class EvalExtent(_Evaluation):
    """Descend stairs of growing difficulty on 8 m scenes and on unseen 10 m scenes."""

    policy: str
    """zero, random, stand, a run's folder, a checkpoint or a bundle *.onnx."""
    difficulty: tuple[float, ...] = ()
    """Difficulties, 0 to 1; the protocol's if left out."""

    def run(self) -> dict[str, Any]:
        from solo.evaluation.protocols import EXTENT

        protocol = self._scaled(EXTENT)
        if self.difficulty:
            protocol = _with_difficulties(protocol, self.difficulty)
        return self._run_one(protocol, self.policy)


@dataclass(frozen=True, kw_only=True)
class EvalLevels(_Evaluation):
    """Run all terrains at ten levels; compare two sets of policies, seed by seed."""

    failures: int = 0
    """Failures of each job whose last seconds are kept; there are 170 jobs a policy."""
    policy: tuple[str, ...]
    """Policies, one per seed: agents, run folders, checkpoints or bundles."""
    versus: tuple[str, ...] = ()
    """As many others, in the same order of seeds, to compare with pair by pair."""
    levels: tuple[int, ...] = ()
    """Levels to run, 0 to 9; all if left out."""

    def run(self) -> dict[str, Any]:
        protocol = self._protocol()
        if not self.policy:
            raise SoloError("--policy is empty. Name at least one, such as stand.")

        from solo.cli.eval_output import print_levels, watching
        from solo.evaluation.levels import evaluate_levels
        from solo.evaluation.policies import open_policy

        first, second = (
            [open_policy(name, self.robot) for name in names]
            for names in (self.policy, self.versus)
        )
        folder = self.output or Path("eval") / protocol.name
        with watching(protocol, len(first) + len(second)) as watcher:
            result = evaluate_levels(
                protocol,
                first,
                second,
                folder,
                num_slots=self.num_envs,
                on_rollout=watcher.on_rollout,
                on_cell=watcher.on_cell,
                num_failures=self.failures,
            )
        print_levels(result)
        print(f"Wrote {folder / 'result.json'}: {_speed(result)}")
        return result

    def _protocol(self) -> Protocol:
        from solo.evaluation.protocols import LEVELS

        protocol = self._scaled(LEVELS)
        if not self.levels:
            return protocol
        if not set(self.levels) <= set(range(len(LEVELS.difficulties))):
            raise SoloError(f"--levels is {self.levels}; allowed are 0 to 9.")
        levels = tuple(sorted(set(self.levels)))
        chosen = tuple(LEVELS.difficulties[level] for level in levels)
        return replace(protocol, levels=levels, difficulties=chosen)


@dataclass(frozen=True)
class EvalCurriculum:
    """Draw the curriculum levels of several training runs in one figure."""

    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN")]
    """Folders of the runs."""
    labels: tuple[str, ...] = ()
    """Names in the figure, one per run; the folders' if left out."""
    output: Path = Path("curriculum.png")
    """Figure to write."""
    json: Path | None = None
    """File to write the curves to."""

    def run(self) -> dict[str, Any]:
        check_picture_path(self.output, (".png",))
        if not self.runs:
            raise SoloError("No run is given. Name the folder of at least one.")

        from solo.evaluation.curriculum import CEILING, read_curves
        from solo.viewer.curriculum_picture import draw_curriculum

        curves = read_curves(self.runs, self.labels)
        for curve in curves:
            print(
                f"{curve.name}: level {curve.final_level:.2f} after "
                f"{curve.iterations[-1] + 1} iterations, at best "
                f"{curve.levels.max():.2f}"
            )
        with written_aside(self.output) as unfinished:
            draw_curriculum(curves, CEILING, unfinished)
        print(f"Wrote {self.output}")
        return {
            "runs": [curve.to_dict() for curve in curves],
            "ceiling": CEILING,
            "output": str(self.output),
        }


def _with_difficulties(protocol: Protocol, values: tuple[float, ...]) -> Protocol:
    for value in values:
        if not 0.0 <= value <= 1.0:
            raise SoloError(f"--difficulty is {value}; it must be from 0 to 1.")
    return replace(protocol, difficulties=values)


def _speed(result: dict[str, Any]) -> str:
    return (
        f"{result['env_steps']} steps in {result['wall_time_s']:.0f} s, "
        f"{result['env_steps_per_s']:.0f} steps/s"
    )
