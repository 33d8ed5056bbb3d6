"""``solo eval``: the paper's simulation experiments, one verb each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solo.cli import Verb
from solo.cli.checks import check_picture_path, check_robot, say_loading
from solo.errors import SoloError, check_number
from solo.files import written_aside
from solo.runs.folder import check_policy

if TYPE_CHECKING:
    from solo.cli.eval_output import Watcher
    from solo.evaluation.protocols import Protocol
    from solo.results import Evaluation
    from solo.robots.robot_cfg import RobotCfg


@dataclass(frozen=True)
class EvalOptions(Verb):
    """Options common to all evaluations."""

    seed: int = 0
    """Seed of starts, commands and terrain."""
    num_envs: int = 64
    """Parallel rollouts, in multiples of 32; affects only the speed."""
    robot: str = "g1"
    """Robot for the baseline agents; a run knows its own."""
    output: Path | None = None
    """Folder for the results; eval/PROTOCOL/POLICY if omitted. Jobs already finished
    there are not repeated."""
    failures: int = 3
    """Failures per job whose last seconds are recorded, with pictures and a video if
    OpenGL is available; does not affect results."""

    def check(self, *policies: str) -> None:
        """Refuse values out of range and missing files."""
        check_robot(self.robot)
        for name in policies:
            check_policy(name)
        check_number("num_envs", self.num_envs, 1)
        check_number("failures", self.failures, 0)

    def run_one(self, protocol: Protocol, policy: str) -> dict[str, Any]:
        """Evaluate one policy; print the tables and the location of the files."""
        say_loading()

        from solo.cli.eval_output import finish, print_evaluation, watching
        from solo.evaluation.evaluate import evaluate
        from solo.evaluation.policies import open_policy

        source = open_policy(policy, self.robot)
        folder = self.output or Path("eval") / protocol.name / source.slug
        with watching(protocol) as watcher:
            result = evaluate(protocol, source, folder, **self.settings(watcher))
        print_evaluation(result)
        self.draw_result(protocol, result, source.robot, folder)
        return finish(result, folder)

    def settings(self, watcher: Watcher) -> dict[str, Any]:
        """What every evaluation passes on to `evaluate`."""
        return {
            "num_slots": self.num_envs,
            "on_rollout": watcher.on_rollout,
            "on_job": watcher.on_job,
            "num_failures": self.failures,
        }

    def draw_result(
        self, protocol: Protocol, result: Evaluation, robot: RobotCfg, folder: Path
    ) -> None:
        """Write pictures of a result, where an evaluation has some."""


@dataclass(frozen=True)
class OnPatches(EvalOptions):
    """Options of evaluations on patches of the training terrains."""

    rollouts: int | None = None
    """Rollouts per terrain and difficulty; the protocol's if omitted."""
    terrains: tuple[str, ...] = ()
    """Names of the terrains; the protocol's if omitted."""
    pass_m: float | None = None
    """Distance that counts as success, m; the protocol's if omitted. With one out of
    reach, e.g. 100, all robots walk until --time-s."""
    time_s: float | None = None
    """Time limit of a rollout, s; the protocol's if omitted."""
    start_m: float | None = None
    """Largest distance of a start from the origin along x and y, m; if omitted 0, as in
    the paper. Training has 0.5."""

    def scaled(
        self, protocol: Protocol, *policies: str, at: tuple[float, ...] = ()
    ) -> Protocol:
        """Apply the options to a protocol; ``at`` are difficulties."""
        self.check(*policies)
        check_number("pass_m", self.pass_m, 0.1)
        check_number("time_s", self.time_s, 0.02)
        check_number("start_m", self.start_m, 0.0, 1.0)
        start = protocol.start
        if self.start_m is not None:
            start = replace(start, offset_m=self.start_m)
        limits = replace(
            protocol.limits,
            pass_m=self.pass_m or protocol.limits.pass_m,
            time_s=self.time_s or protocol.limits.time_s,
        )
        return replace(
            protocol,
            seed=self.seed,
            terrains=self.terrains or protocol.terrains,
            difficulties=at or protocol.difficulties,
            rollouts=protocol.rollouts if self.rollouts is None else self.rollouts,
            limits=limits,
            start=start,
        )


@dataclass(frozen=True, kw_only=True)
class OnePolicy(EvalOptions):
    """The policy of evaluations that have one."""

    policy: str
    """Agent (zero, random, stand), run folder, checkpoint, bundle *.onnx or shipped."""


@dataclass(frozen=True, kw_only=True)
class EvalStress(OnPatches, OnePolicy):
    """Run the stress test: 5 m straight ahead on eight terrains at their hardest.

    An interrupted run resumes with the same command.
    """

    difficulty: float | None = None
    """Difficulty of all terrains, 0 to 1 (paper: 0.99)."""

    def run(self) -> dict[str, Any]:
        from solo.evaluation.protocols import STRESS

        protocol = self.scaled(STRESS, self.policy, at=one(self.difficulty))
        return self.run_one(protocol, self.policy)


def one(value: float | None) -> tuple[float, ...]:
    """An optional value as a tuple."""
    return () if value is None else (value,)


@dataclass(frozen=True, kw_only=True)
class EvalExtent(OnPatches, OnePolicy):
    """Descend stairs of increasing difficulty in 8 m and unseen 10 m scenes."""

    difficulty: tuple[float, ...] = ()
    """Difficulties, 0 to 1; the protocol's if omitted."""

    def run(self) -> dict[str, Any]:
        from solo.evaluation.protocols import EXTENT

        protocol = self.scaled(EXTENT, self.policy, at=self.difficulty)
        return self.run_one(protocol, self.policy)


@dataclass(frozen=True, kw_only=True)
class EvalCommands(OnPatches, OnePolicy):
    """Stand, walk in all directions and turn for ten seconds each, on flat ground.

    Success is not to fall. The last columns are the mean motion of the base, to compare
    with the command: 0.8 m/s forward, 0.4 m/s elsewhere, turns of 0.8 rad/s, curves of
    0.6 m/s and 0.4 rad/s.
    """

    difficulty: float | None = None
    """Difficulty of the terrains, 0 to 1 (0 if omitted)."""

    def run(self) -> dict[str, Any]:
        from solo.evaluation.protocols import DIRECTIONS

        protocol = self.scaled(DIRECTIONS, self.policy, at=one(self.difficulty))
        return self.run_one(protocol, self.policy)


@dataclass(frozen=True, kw_only=True)
class EvalFootholds(OnPatches, OnePolicy):
    """Draw where soles come down on stones and beside gaps, seen from above.

    The caption compares the share of the soles over holes with that of the same soles
    shifted by 5 to 25 cm: if both are equal, the policy does not choose its footholds.
    """

    difficulty: float = 0.5
    """Difficulty of all terrains, 0 to 1."""
    picture: Path | None = None
    """PNG file; footholds.png in the folder of the results if omitted."""

    def run(self) -> dict[str, Any]:
        if self.picture is not None:
            check_picture_path(self.picture, (".png",))

        from solo.evaluation.protocols import FOOTHOLDS

        protocol = self.scaled(FOOTHOLDS, self.policy, at=(self.difficulty,))
        return self.run_one(protocol, self.policy)

    def draw_result(
        self, protocol: Protocol, result: Evaluation, robot: RobotCfg, folder: Path
    ) -> None:
        from solo.pictures.footholds import (
            FootholdPanel,
            describe_landings,
            draw_footholds,
            landings_of,
        )

        panels = [
            FootholdPanel(
                f"{result.policy['name']} on {cell.terrain}, {cell.difficulty:g}",
                describe_landings(job),
                protocol.scene(cell).build(),
                landings_of(job),
                protocol.limits_of(cell).pass_m,
            )
            for cell, job in zip(protocol.cells, result.cells, strict=True)
        ]
        path = self.picture or folder / "footholds.png"
        with written_aside(path) as unfinished:
            draw_footholds(panels, robot.feet[0], unfinished)
        for cell, panel in zip(protocol.cells, panels, strict=True):
            print(f"{cell.terrain}: {panel.caption}")
        print(f"Wrote {path}")


@dataclass(frozen=True, kw_only=True)
class EvalLevels(OnPatches):
    """Run all terrains at ten levels; compare two sets of policies, seed by seed."""

    failures: int = 0
    """Failures per job whose last seconds are recorded; a policy has 170 jobs."""
    policy: tuple[str, ...]
    """Policies, one per seed: agents, run folders, checkpoints or bundles."""
    versus: tuple[str, ...] = ()
    """As many other policies, in the same seed order, to compare pair by pair."""
    levels: tuple[int, ...] = ()
    """Levels to run, 0 to 9; all if omitted."""

    def run(self) -> dict[str, Any]:
        from solo.evaluation.protocols import LEVELS, pick_levels

        protocol = self.scaled(LEVELS, *self.policy, *self.versus)
        protocol = pick_levels(protocol, self.levels)
        if not self.policy:
            raise SoloError("--policy is empty. Name at least one, such as stand.")
        say_loading()

        from solo.cli.eval_output import finish, print_levels, watching
        from solo.evaluation.comparisons import evaluate_levels
        from solo.evaluation.policies import open_policy

        first, second = (
            [open_policy(name, self.robot) for name in names]
            for names in (self.policy, self.versus)
        )
        folder = self.output or Path("eval") / protocol.name
        with watching(protocol, len(first) + len(second)) as watcher:
            result = evaluate_levels(
                protocol, first, second, folder, **self.settings(watcher)
            )
        print_levels(result)
        return finish(result, folder)


@dataclass(frozen=True, kw_only=True)
class EvalRobustness(OnPatches, OnePolicy):
    """Repeat the stress test with degraded depth, a tilted camera and pushes.

    An interrupted run resumes with the same command.
    """

    conditions: tuple[str, ...] = ()
    """Names of the conditions, e.g. zeroed tilted_3; all if omitted. The nominal
    condition always runs."""
    difficulty: float | None = None
    """Difficulty of all terrains, 0 to 1 (stress test: 0.99)."""

    def run(self) -> dict[str, Any]:
        self.check(self.policy)
        say_loading()

        from solo.evaluation.comparisons import ROBUSTNESS
        from solo.evaluation.conditions import CONDITIONS, get_condition

        protocol = self.scaled(ROBUSTNESS, at=one(self.difficulty))
        if len(set(self.conditions)) != len(self.conditions):
            raise SoloError(
                f"--conditions names one twice: {', '.join(self.conditions)}. Name "
                "each once."
            )
        chosen = [get_condition(name) for name in self.conditions or CONDITIONS]

        from solo.cli.eval_output import finish, print_conditions, watching
        from solo.evaluation.comparisons import applies, evaluate_robustness
        from solo.evaluation.policies import open_policy

        source = open_policy(self.policy, self.robot)
        folder = self.output or Path("eval") / protocol.name / source.slug
        names = {c.name for c in chosen if applies(c, source)} | {"nominal"}
        with watching(protocol, len(names)) as watcher:
            result = evaluate_robustness(
                protocol,
                source,
                folder,
                chosen,
                on_condition=lambda condition: watcher.name_part(condition.name),
                **self.settings(watcher),
            )
        print_conditions(result)
        return finish(result, folder)
