"""Ablations: every arm trained from the same start, evaluated, and compared by seed.

The paper's protocol ("Seed-Paired Reduced-Compute TA-MSE Ablation"), for any profile:

    teacher -> student of seed 101, by MSE+PPO -> arm 1 of seed 101 -> evaluation
                                              -> arm 2 of seed 101 -> evaluation
            -> student of seed 202, by MSE+PPO -> ...

The arms of a seed differ in what the ablation is about and in nothing else: they begin
with the same weights, optimiser, action std and curriculum, and draw the same random
numbers until they act differently.

A folder holds a run for each seed's start and for each arm, the evaluations under
``eval/``, and the result. What is found there is not done again, and what is half done
goes on. Several computers or GPUs can share the seeds: each gets some, in the same
folder, and a last call with all of them collects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from solo.ablation_cfg import AblationCfg
from solo.envs.observations_cfg import Stage
from solo.evaluation.comparisons import compare, evaluate_one
from solo.evaluation.policies import open_policy
from solo.files import check_same, read_json, write_json, written_aside
from solo.pictures.training import draw_ablation
from solo.result_files import RESULT, write_result
from solo.results import LEVEL_TAG, Evaluation, Mean
from solo.runs.folder import checkpoints
from solo.stages.curves import read_curves
from solo.stages.train import train_perceptive, train_student
from solo.stages.train_cfg import PerceptiveCfg, StudentCfg
from solo.tasks.profiles import Profile, get_profile

SETTINGS, TABLE, FIGURE = "ablation.json", "table.md", "figure.png"
"""Files of an ablation, beside `RESULT`."""

LEVEL = "curriculum level"
"""Column of the table: mean level in the last tenth of the training."""

START_OBJECTIVE = "mse-ppo"
"""How the students learn that all arms start from; the paper calls it D-PPO."""

Table = Mapping[str, Mapping[str, Sequence[float]]]
"""Arm and column to a value per seed: success in percent, and `LEVEL`."""


@dataclass(frozen=True)
class Arm:
    """What one arm trains with."""

    name: str
    objective: str = "ta-mse"
    """Key of `solo.tasks.agent_cfg.OBJECTIVES`."""
    reconstructor: str = "qr"
    """Key of `solo.reconstruction.networks.RECONSTRUCTORS`."""
    profile: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the profile that differ."""
    teacher_pull: float | None = None
    """Other `StageCfg.teacher_pull` than the profile's."""

    def change(self, profile: Profile) -> Profile:
        """The profile that the arm trains with."""
        profile = replace(profile, **self.profile)
        if self.teacher_pull is None:
            return profile
        return replace(
            profile,
            student=replace(profile.student, teacher_pull=self.teacher_pull),
            perceptive=replace(profile.perceptive, teacher_pull=self.teacher_pull),
        )


def _reading(name: str, distance: str, objective: str = "ta-mse") -> Arm:
    """The paper's weights, 5 and 1, with one reading of the distance."""
    profile = {"teacher_distance": distance}
    return Arm(name, objective, profile=profile, teacher_pull=1.0)


ABLATIONS: dict[str, tuple[Arm, ...]] = {
    "objectives": (Arm("ta-mse"), Arm("mse-ppo", "mse-ppo"), Arm("ppo", "ppo")),
    "reconstructors": (
        Arm("qr"),
        Arm("start", reconstructor="start"),
        Arm("dpl", reconstructor="dpl"),
    ),
    "reading": (
        _reading("radians", "radians"),
        _reading("raw", "raw"),
        _reading("mean", "mean"),
        _reading("loss only", "radians", "mse-ppo"),
        _reading("penalty only", "radians", "ta-ppo"),
    ),
}
"""Name to its arms; the others are compared with the first."""


def run_ablation(cfg: AblationCfg, **settings: Any) -> dict[str, Any]:
    """Train and evaluate what is missing, then compare; see the head of this file.

    Further settings are those of `evaluate`. Returns what the result file holds.

    Raises:
        SoloError: The folder holds another ablation, or something cannot be read.
        KeyboardInterrupt: A training was stopped; the same call goes on.
    """
    output, arms = cfg.output, ABLATIONS[cfg.ablation]
    _check_settings(cfg)
    found: dict[str, list[Evaluation]] = {arm.name: [] for arm in arms}
    levels: dict[str, list[float]] = {arm.name: [] for arm in arms}
    for index, seed in enumerate(cfg.seeds):
        start = cfg.teacher
        if cfg.students:
            start = cfg.students[index % len(cfg.students)]
        elif cfg.stage == "perceptive":
            start = _train_start(cfg, seed)
        for arm in arms:
            run = _train_arm(cfg, arm, seed, start)
            found[arm.name].append(_evaluate(cfg, run, settings))
            if (curve := read_curves(run, (LEVEL_TAG,)).get(LEVEL_TAG)) is not None:
                levels[arm.name].append(curve.last_mean())
    table = make_table(found, levels)
    first, *others = found
    for other in others:  # For `solo report`.
        pair = compare(found[other], found[first])
        write_result(output / f"{_slug(other)}-and-{_slug(first)}.json", pair)
    result = {
        **_settings(cfg),
        "seeds": list(cfg.seeds),
        "arms": table,
        "differences": {
            other: {
                column: {**asdict(difference), "interval": difference.interval}
                for column, difference in differences(table, first, other).items()
            }
            for other in others
        },
    }
    write_json(output / RESULT, result)
    with written_aside(output / TABLE) as unfinished:
        unfinished.write_text(make_markdown(table, cfg.seeds))
    with written_aside(output / FIGURE) as unfinished:
        draw_ablation(table, unfinished)
    return result


def _settings(cfg: AblationCfg) -> dict[str, Any]:
    """What all seeds of an ablation must have in common."""
    profile, protocol = _profile(cfg), cfg.evaluation()
    return {
        "ablation": cfg.ablation,
        "stage": cfg.stage,
        "profile": profile.name,
        "iterations": cfg.iterations or profile.stage(cfg.stage).iterations,
        "start_iterations": cfg.start_iterations,
        "num_envs": cfg.num_envs,
        "teacher": str(cfg.teacher),
        "terrains": list(protocol.terrains),
        "difficulties": list(protocol.difficulties),
        "rollouts": protocol.rollouts,
    }


def _profile(cfg: AblationCfg) -> Profile:
    """Sizes of the trainings."""
    if isinstance(cfg.profile, Profile):
        return cfg.profile
    return get_profile(cfg.profile or ("laptop" if cfg.device == "cpu" else "reduced"))


def _check_settings(cfg: AblationCfg) -> None:
    path, here = cfg.output / SETTINGS, _settings(cfg)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, here)
        return
    there = read_json(path, "Choose another output.")
    check_same(cfg.output, "ablation", there, here)


def _train_start(cfg: AblationCfg, seed: int) -> Path:
    options = _options(cfg, f"start-{seed}", seed, _profile(cfg))
    options["iterations"] = cfg.start_iterations
    run = StudentCfg(**options, teacher=cfg.teacher, objective=START_OBJECTIVE)
    return _finish(run, "student")


def _train_arm(cfg: AblationCfg, arm: Arm, seed: int, start: Path) -> Path:
    name = f"{_slug(arm.name)}-{seed}"
    options = _options(cfg, name, seed, arm.change(_profile(cfg)))
    options["objective"] = arm.objective
    if cfg.stage == "student":
        return _finish(StudentCfg(**options, teacher=start), cfg.stage)
    options["reconstructor"] = arm.reconstructor
    return _finish(PerceptiveCfg(**options, student=start), cfg.stage)


def _options(
    cfg: AblationCfg, name: str, seed: int, profile: Profile
) -> dict[str, Any]:
    """What the trainings of an ablation have in common, and the name of one."""
    shared = ("robot", "device", "num_envs", "iterations", "terrain")
    return {
        **{field: getattr(cfg, field) for field in shared},
        "output": cfg.output / name,
        "seed": seed,
        "profile": profile,
    }


def _finish(run: StudentCfg | PerceptiveCfg, stage: Stage) -> Path:
    """Train a run to its end, if it is not there yet; its folder."""
    assert run.output is not None
    assert isinstance(run.profile, Profile)
    iterations = run.iterations or run.profile.stage(stage).iterations
    done, last = checkpoints(run.output), iterations - 1
    if run.output / f"model_{last}.pt" in done:
        print(f"{run.output.name}: found.")
        return run.output
    if done:
        run = type(run)(resume=run.output, iterations=iterations, device=run.device)
    train = train_student if isinstance(run, StudentCfg) else train_perceptive
    summary = train(run)  # type: ignore[arg-type] - Each has its own.
    if summary["stopped"]:
        raise KeyboardInterrupt
    return Path(summary["output"])


def _evaluate(cfg: AblationCfg, run: Path, settings: Mapping[str, Any]) -> Evaluation:
    source, folder = open_policy(str(run)), f"eval/{run.name}"
    found = evaluate_one(cfg.evaluation(), source, cfg.output, folder, **settings)
    assert found.summary is not None
    print(f"{run.name}: {100 * found.summary.success.rate:.1f} % of all rollouts.")
    aggregates = {"all": found.summary.success, **found.aggregates}
    return replace(found, aggregates=aggregates)


def _slug(name: str) -> str:
    return name.replace(" ", "-")


def make_table(
    found: Mapping[str, Sequence[Evaluation]], levels: Mapping[str, Sequence[float]]
) -> dict[str, dict[str, list[float]]]:
    """Arm and column to a value per seed.

    The curriculum's level is left out if a training has none, as very short ones may.
    """
    table = {
        arm: {
            column: [100.0 * one.aggregates[column].rate for one in evaluations]
            for column in evaluations[0].aggregates
        }
        for arm, evaluations in found.items()
    }
    if all(len(levels[arm]) == len(found[arm]) for arm in found):
        for arm, row in table.items():
            row[LEVEL] = list(levels[arm])
    return table


def differences(table: Table, first: str, other: str) -> dict[str, Mean]:
    """For each column the first arm minus another one, taken per seed."""
    return {
        column: Mean.of(
            [a - b for a, b in zip(values, table[other][column], strict=True)]
        )
        for column, values in table[first].items()
    }


def make_markdown(table: Table, seeds: Sequence[int]) -> str:
    """The table: arms, then differences from the first arm; columns downwards.

    An arm has mean and deviation over the seeds. A difference has its 95 % interval
    (Student), and is bold where that does not contain 0.
    """
    first, *others = table
    head = [*table, *(f"{first} - {other}" for other in others)]
    lines = [
        f"Success in percent, and the {LEVEL}; {len(seeds)} seeds "
        f"({', '.join(map(str, seeds))}), paired.",
        "",
        f"| | {' | '.join(head)} |",
        "|" + "---|" * (len(head) + 1),
    ]
    changes = [differences(table, first, other) for other in others]
    for column in table[first]:
        arms = [str(Mean.of(table[arm][column])) for arm in table]
        lines += [
            f"| {_title(column)} | "
            + " | ".join([*arms, *(_change(one[column]) for one in changes)])
            + " |"
        ]
    return "\n".join(lines) + "\n"


def _title(column: str) -> str:
    name = column.removeprefix("top/")
    return name if name == column else f"level 9, {name}"


def _change(value: Mean) -> str:
    if value.interval is None:
        return f"{value.mean:+.2f}"
    low, high = value.interval
    text = f"{value.mean:+.2f} [{low:+.2f}, {high:+.2f}]"
    return f"**{text}**" if low > 0.0 or high < 0.0 else text
