"""The command ``solo``: find the verb, parse its options, run it, write its result.

A verb is a frozen dataclass: its docstring is the help text, its fields are the options
and ``run()`` returns what ``--json`` writes. Modules are imported only when their verb
is asked for, so that ``solo --help`` answers at once.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from solo import __version__
from solo.errors import SoloError
from solo.files import write_json

VERBS: dict[str, tuple[str, str]] = {
    "demo": ("solo.cli.demo:Demo", "Show the robot on the terrain."),
    "tasks": ("solo.cli.tasks:ListTasks", "List the tasks with their observations."),
    "play": (
        "solo.cli.play:Play",
        "Look at a task: robot, depth images, height map.",
    ),
    "terrains list": ("solo.cli.terrains:ListTerrains", "List the terrain variants."),
    "terrains show": (
        "solo.cli.terrains:ShowTerrains",
        "Draw a contact sheet of the terrain variants.",
    ),
    "depth show": (
        "solo.cli.depth:ShowDepth",
        "Draw clean and corrupted depth images of several terrains.",
    ),
    "motions make": (
        "solo.cli.motions:MakeMotions",
        "Synthesise the reference motions.",
    ),
    "motions check": (
        "solo.cli.motions:CheckMotions",
        "Measure the quality of motions.",
    ),
    "motions watch": (
        "solo.cli.motions:WatchMotions",
        "Play motions in the browser.",
    ),
    "motions show": (
        "solo.cli.motions:ShowMotion",
        "Draw a motion as a strip or a movie.",
    ),
    "train teacher": (
        "solo.cli.train:TrainTeacher",
        "Train the privileged teacher (stage 1).",
    ),
    "train student": (
        "solo.cli.train:TrainStudent",
        "Distil the teacher into the student (stage 2).",
    ),
    "train perceptive": (
        "solo.cli.train:TrainPerceptive",
        "Let the student see through the depth camera (stage 3).",
    ),
    "train curves": (
        "solo.cli.train_curves:TrainCurves",
        "Draw how a training went.",
    ),
    "train pack": (
        "solo.cli.train_pack:TrainPack",
        "Write a run as a small folder to give away.",
    ),
    "recon collect": (
        "solo.cli.recon:CollectRecon",
        "Record data for the reconstructors.",
    ),
    "recon train": (
        "solo.cli.recon:TrainRecon",
        "Train one reconstructor on recorded data.",
    ),
    "recon compare": (
        "solo.cli.recon:CompareRecon",
        "Compare reconstructors on held-out terrain.",
    ),
    "eval stress": (
        "solo.cli.eval:EvalStress",
        "Run the stress test: eight terrains at their hardest.",
    ),
    "eval levels": (
        "solo.cli.eval:EvalLevels",
        "Run ten levels of every terrain; compare two sets of policies.",
    ),
    "eval extent": (
        "solo.cli.eval:EvalExtent",
        "Descend stairs on 8 m and on unseen 10 m scenes.",
    ),
    "eval isolated": (
        "solo.cli.eval_strips:EvalIsolated",
        "Cross the seven real-world terrains one by one.",
    ),
    "eval course": (
        "solo.cli.eval_strips:EvalCourse",
        "Walk the indoor course in one go.",
    ),
    "eval route": (
        "solo.cli.eval_strips:EvalRoute",
        "Walk the outdoor route: 1.5 km in stages.",
    ),
    "eval robustness": (
        "solo.cli.eval_robustness:EvalRobustness",
        "What bad depth, pushes and a tilted camera cost.",
    ),
    "eval curriculum": (
        "solo.cli.eval:EvalCurriculum",
        "Draw the curriculum levels of several runs.",
    ),
    "report": (
        "solo.cli.report:Report",
        "Make one page of results, beside the paper's.",
    ),
    "export": (
        "solo.cli.export:Export",
        "Write a trained policy as one file that a robot can run.",
    ),
    "deploy": (
        "solo.cli.deploy:Deploy",
        "Run a policy bundle on a simulated or real robot.",
    ),
    "sim-robot": (
        "solo.cli.sim_robot:SimRobot",
        "Simulate a G1 that speaks the robot's DDS topics.",
    ),
    "bench sim": (
        "solo.cli.bench:BenchSim",
        "Measure the simulation: native, stock mjlab, and the raw bound.",
    ),
    "bench depth": (
        "solo.cli.bench:BenchDepth",
        "Measure the depth camera: speed, and error against MuJoCo's own rays.",
    ),
    "bench machine": (
        "solo.cli.bench:BenchMachine",
        "Measure whether this computer keeps 50 Hz, without a policy.",
    ),
    "bench policy": (
        "solo.cli.bench_policy:BenchPolicy",
        "Measure a policy bundle: inference and pipeline, against torch.",
    ),
    "bench recon": (
        "solo.cli.bench:BenchRecon",
        "Measure the reconstructors: training rate and latency.",
    ),
    "bench train": (
        "solo.cli.bench:BenchTrain",
        "Measure training: steps per second, and where the time goes.",
    ),
}
"""Verb to the dataclass that implements it, and one line for the overview."""


class Command(Protocol):
    """What a verb's dataclass offers."""

    json: Path | None

    def run(self) -> dict[str, Any]: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code: 0 fine, 1 failed, 2 wrong usage."""
    args = list(sys.argv[1:] if argv is None else argv)
    os.environ.setdefault("MJLAB_WARP_QUIET", "1")
    # Threads of torch that wait should sleep: spinning, they take the cores from others
    # (five times slower on a machine with other work). Read when torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if not args or args[0] in ("-h", "--help", "help"):
        print(overview())
        return 0 if args else 2
    if args[0] == "--version":
        print(f"solo {__version__}")
        return 0
    try:
        verb, rest = split_verb(args)
    except SoloError as error:
        return _fail(error, 2)
    try:
        command = parse(verb, rest)
        _check_json(command.json)
        result = command.run()
        is_first = os.environ.get("RANK", "0") == "0"  # Of torchrun's processes.
        if command.json is not None and is_first:
            write_json(command.json, result)
            print(f"Wrote {command.json}")
    except SoloError as error:
        return _fail(error, 1)
    except ModuleNotFoundError as error:
        if (error.name or "solo").split(".")[0] == "solo":
            raise
        return _fail(
            SoloError(
                f"The Python package {error.name!r} is not installed; this verb needs "
                'the training extra: pip install "solo-locomotion[train]".'
            ),
            1,
        )
    except KeyboardInterrupt:
        print("solo: stopped", file=sys.stderr)
        return 130
    return 0


def overview() -> str:
    """The text of ``solo --help``."""
    width = max(map(len, VERBS))
    lines = [f"  {verb:<{width}}  {line}" for verb, (_, line) in VERBS.items()]
    return "\n".join(
        [
            "SOLO: perceptive humanoid locomotion from one chest depth camera.",
            "",
            "usage: solo VERB [OPTIONS]",
            "",
            *lines,
            "",
            "`solo VERB --help` shows the options. Every verb takes `--json PATH`.",
        ]
    )


def split_verb(args: Sequence[str]) -> tuple[str, list[str]]:
    """Split the arguments into the verb, of one or two words, and its options."""
    for words in (2, 1):
        verb = " ".join(args[:words])
        if len(args) >= words and verb in VERBS:
            return verb, list(args[words:])
    family = [verb for verb in VERBS if verb.split()[0] == args[0]]
    given = " ".join(args[:2] if family else args[:1])
    raise SoloError(
        f"Unknown verb {given!r}. Allowed: {', '.join(family or VERBS)}. "
        "`solo --help` describes them."
    )


def parse(verb: str, args: Sequence[str]) -> Command:
    """Turn options into the verb's dataclass. Exits with 2 if they do not parse."""
    import tyro

    module, name = VERBS[verb][0].split(":")
    cls = getattr(importlib.import_module(module), name)
    return cast(Command, tyro.cli(cls, args=list(args), prog=f"solo {verb}"))


def _check_json(path: Path | None) -> None:
    """Refuse an impossible result path before the work, not after it."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise SoloError(
            f"Cannot write the result to {str(path)!r}: its folder does not exist or "
            "it is a folder itself. Give the path of a file in an existing folder."
        )


def _fail(error: SoloError, code: int) -> int:
    print(f"solo: {' '.join(str(error).split())}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
