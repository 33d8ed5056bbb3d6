"""The command ``solo``: find the verb, parse its options, run it, write its result.

Modules are imported only when their verb is asked for, so that ``solo --help`` answers
at once.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import itertools
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import Any, cast

from solo import __version__
from solo.cli import Verb
from solo.errors import FieldError, SoloError
from solo.files import write_json

VERBS = {
    "demo": "Walk the indoor course with the shipped policy.",
    "tasks": "List the tasks with their observations.",
    "play": "Watch any policy in the browser, or write a video.",
    "terrains list": "List the terrain variants.",
    "terrains show": "Draw a contact sheet of the terrain variants.",
    "depth show": "Draw clean and corrupted depth images of several terrains.",
    "motions make": "Synthesise the reference motions.",
    "motions check": "Measure the quality of motions.",
    "motions watch": "Play motions in the browser.",
    "motions show": "Draw a motion as a strip or a video.",
    "train teacher": "Train the privileged teacher (stage 1).",
    "train student": "Distil the teacher into the student (stage 2).",
    "train perceptive": "Fine-tune the student on depth images (stage 3).",
    "train all": "Train all stages, export, evaluate and report; resumable.",
    "train curves": "Plot training curves of one or more runs.",
    "train pack": "Write a run as a small folder to share.",
    "recon run": "Record data, train and compare reconstructors in one command.",
    "recon collect": "Record data for the reconstructors.",
    "recon train": "Train one reconstructor on recorded data.",
    "recon compare": "Compare reconstructors on held-out terrain.",
    "eval stress": "Run the stress test: eight terrains at their hardest.",
    "eval levels": "Evaluate ten levels of every terrain; compare policies.",
    "eval extent": "Descend stairs on 8 m and on unseen 10 m scenes.",
    "eval commands": "Walk and turn in all directions on flat ground.",
    "eval footholds": "Draw the footholds on stones and beside gaps.",
    "eval isolated": "Cross the seven real-world terrains one by one.",
    "eval course": "Walk the indoor course in one go.",
    "eval route": "Walk the outdoor route: 1.5 km in stages.",
    "eval robustness": "Measure the effect of bad depth, pushes and a tilted camera.",
    "eval curriculum": "Plot the curriculum levels of several runs.",
    "ablate": "Train, evaluate and compare the arms of an ablation, seed by seed.",
    "report": "Make one page of results, next to the paper's.",
    "export": "Export a trained policy as one file for the robot.",
    "deploy": "Run a policy bundle on a simulated or real robot.",
    "hub push": "Upload a bundle or a packed run to the Hugging Face Hub.",
    "hub pull": "Download a bundle or a packed run from the Hub, and check it.",
    "sim-robot": "Simulate a G1 that speaks the robot's DDS topics.",
    "bench sim": "Measure the simulation: native, stock mjlab, and the raw bound.",
    "bench depth": "Measure the depth camera: speed, and error against MuJoCo's rays.",
    "bench machine": "Measure whether this computer can hold 50 Hz.",
    "bench policy": "Measure a policy bundle: inference and pipeline, against torch.",
    "bench recon": "Measure the reconstructors: training rate and latency.",
    "bench stop": "Measure how fast a G1 is damped when its program ends.",
    "bench train": "Measure training: steps per second, and where the time goes.",
    "completion": "Print a script that completes verbs and options in your shell.",
}
"""Verb to one line for the overview. `solo eval stress` is `EvalStress` of ``eval.py``
in this package, unless `MODULES` names another file."""

MODULES = {
    "demo": "play",
    "depth show": "terrains",
    "train all": "train_all",
    "train curves": "curves",
    "ablate": "train",
    "eval isolated": "eval_strips",
    "eval course": "eval_strips",
    "eval route": "eval_strips",
    "eval curriculum": "curves",
    "sim-robot": "deploy",
}
"""Verb to the file it is in, where that is not called as its first word."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code: 0 fine, 1 failed, 2 wrong usage."""
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("solo: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # The reader of our output has closed it, as `head` does.
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), sys.stdout.fileno())
        return 141
    return code


def _run(args: list[str]) -> int:
    os.environ.setdefault("MJLAB_WARP_QUIET", "1")
    # Threads of torch that wait should sleep: spinning, they take the cores from others
    # (five times slower on a machine with other work). Read when torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if args[:1] in (["help"], ["-h"]):  # `solo help train` is `solo train --help`.
        args = [*args[1:], "--help"]
    if args in ([], ["--help"]):
        print(overview())
        return 0 if args else 2
    if (
        args[1:] in ([], ["--help"], ["-h"])
        and args[0] not in VERBS
        and family(args[0])
    ):
        print(overview(args[0]))
        return 0 if args[1:] else 2
    if args[0] == "--version":
        print(f"solo {__version__}")
        return 0
    try:
        verb, rest = split_verb(args)
    except SoloError as error:
        return _fail(error, 2)
    try:
        command = parse(verb, rest)
        check_outputs(command)
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
    except BrokenPipeError:
        raise
    except OSError as error:  # Of the computer, not of the program.
        name = f"{str(error.filename)!r}: " if error.filename is not None else ""
        return _fail(
            SoloError(
                f"{name}{error.strerror or error}. Check the path, its permissions and "
                "the space on the disk."
            ),
            1,
        )
    except MemoryError as error:
        return _fail(SoloError(f"Out of memory ({error}). Ask for less at once."), 1)
    return 0


def family(first: str) -> list[str]:
    """The verbs that begin with a word."""
    return [verb for verb in VERBS if verb.split()[0] == first]


def overview(first: str | None = None) -> str:
    """The text of ``solo --help``, or of ``solo train --help`` and the like."""
    verbs = family(first) if first else list(VERBS)
    width = max(map(len, verbs))
    lines = [f"  {verb:<{width}}  {VERBS[verb]}" for verb in verbs]
    return "\n".join(
        [
            "SOLO: perceptive humanoid locomotion from one chest depth camera.",
            "",
            f"usage: solo {f'{first} ' if first else ''}VERB [OPTIONS]",
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
    if verbs := family(args[0]):  # Its second word decides: the first is right.
        allowed, given = verbs, " ".join(args[:2])
        second = [verb.split()[1] for verb in verbs]
        near = [f"{args[0]} {word}" for word in _nearest("".join(args[1:2]), second)]
    else:
        allowed, given = list(VERBS), args[0]
        near = _nearest(" ".join(args[:2]), allowed) or _nearest(given, allowed)
        near = near or _nearest(given, {verb.split()[0] for verb in VERBS})
    hint = f"Did you mean {near[0]!r}?" if near else f"Allowed: {', '.join(allowed)}."
    raise SoloError(f"Unknown verb {given!r}. {hint} `solo --help` lists all verbs.")


def _nearest(word: str, words: Iterable[str]) -> list[str]:
    """The word that is spelt alike, if there is one."""
    return difflib.get_close_matches(word, words, n=1)


def parse(verb: str, args: Sequence[str]) -> Verb:
    """Turn options into the verb's dataclass. Exits with 2 if they do not parse."""
    import tyro

    cls = load_verb(verb)
    if {"-h", "--help"} & set(args):
        _let_help_flow()
    overrides: dict[str, str] = {}
    if "overrides" in {field.name for field in dataclasses.fields(cls)}:
        args, overrides = split_overrides(args)
    command = tyro.cli(
        cls, args=list(args), prog=f"solo {verb}", description=description(cls)
    )
    if overrides:
        command = dataclasses.replace(command, overrides=overrides)
    return cast(Verb, command)


def description(cls: type) -> str:
    """The docstring of a verb, as wide as the terminal.

    tyro joins its lines into paragraphs and leaves those as long as they get, except
    for lines that begin with a space.
    """
    width = shutil.get_terminal_size().columns - 1
    wrap = textwrap.TextWrapper(
        width=width,
        initial_indent=" ",
        subsequent_indent=" ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    paragraphs = cleandoc(cls.__doc__ or "").split("\n\n")
    return "\n\n".join(wrap.fill(paragraph) for paragraph in paragraphs)


@functools.cache
def _let_help_flow() -> None:
    """Join the lines of each paragraph in the help of an option.

    tyro breaks the line where a docstring has a line break followed by anything but a
    letter, and lines of attribute docstrings are indented. Its function is private; a
    test looks at the result.
    """
    from tyro import _docstrings

    find = _docstrings.parse_docstring_from_object

    def find_joined(obj: object) -> dict[str, str]:
        return {
            name: re.sub(r"(?<!\n)\n(?!\n)", " ", cleandoc(text))
            for name, text in find(obj).items()
        }

    _docstrings.parse_docstring_from_object = cast(Any, find_joined)


def split_overrides(args: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Take ``--env.PATH VALUE`` and ``--agent.PATH VALUE`` out of the arguments.

    Raises:
        SoloError: A value is missing.
    """
    rest, overrides, words = [], {}, iter(args)
    for word in words:
        if not word.startswith(("--env.", "--agent.")):
            rest.append(word)
            continue
        path, _, value = word[2:].partition("=")
        if not value:
            value = next(words, "")
        if not value or value.startswith("--"):
            raise SoloError(f"--{path} has no value. Give one, e.g. --{path} 1.")
        overrides[path] = value
    return rest, overrides


def load_verb(verb: str) -> Any:
    """The dataclass of a verb; see `VERBS`."""
    module = MODULES.get(verb, verb.split()[0])
    name = verb.replace("-", " ").title().replace(" ", "")
    return getattr(importlib.import_module(f"solo.cli.{module}"), name)


OUTPUTS = ("json", "output", "resume", "picture", "log", "faults")
"""Options that name what a verb writes; all other paths are read."""


def check_outputs(command: Verb) -> None:
    """Refuse an impossible or harmful result path before the work, not after it."""
    path = command.json
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise SoloError(
            f"Cannot write the result to {str(path)!r}: its folder does not exist or "
            "it is a folder itself. Give the path of a file in an existing folder."
        )
    if path is not None and path.is_file() and not _may_be_json(path):
        raise SoloError(
            f"--json {str(path)!r} would replace a file that is no result: it does not "
            "begin as JSON does. Choose another name, or delete it first."
        )
    named = {
        field.name: [Path(v) for v in _each(getattr(command, field.name))]
        for field in dataclasses.fields(cast(Any, command))
    }
    for option, other in itertools.product(OUTPUTS, named):
        for out, read in itertools.product(named.get(option, ()), named[other]):
            if option != other and _would_overwrite(out, read, other not in OUTPUTS):
                raise SoloError(
                    f"--{option} {str(out)!r} would overwrite what "
                    f"{other.replace('_', '-')} {str(read)!r} names. Choose another "
                    "path."
                )


def _each(value: Any) -> list[Any]:
    """The paths of an option, and the texts that look like one."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return [
        v
        for v in values
        if isinstance(v, Path) or (isinstance(v, str) and ("/" in v or "." in v))
    ]


def _would_overwrite(out: Path, other: Path, is_read: bool) -> bool:
    """Whether two paths are one file, or one is a file in a folder that is read."""
    out, other = Path(os.path.realpath(out)), Path(os.path.realpath(other))
    if out == other:
        return out.is_file() or not out.exists()
    if not out.is_file() or not other.exists():
        return False
    return out.samefile(other) or (is_read and other in out.parents)


def _may_be_json(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(64).lstrip()[:1] in (b"", b"{", b"[")


def _fail(error: SoloError, code: int) -> int:
    text = error.as_option if isinstance(error, FieldError) else str(error)
    print(f"solo: {' '.join(text.split())}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
