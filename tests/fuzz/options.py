"""Odd options for every verb, in process, up to where the work begins."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import random
from pathlib import Path
from unittest import mock

from solo.cli.main import VERBS, load_verb, main

WORK = (
    "solo.bench.depth:bench_depth", "solo.bench.machine:bench_machine",
    "solo.bench.policy:bench_policy", "solo.bench.recon:bench_recon",
    "solo.bench.sim:bench_sim", "solo.bench.stop:bench_stop",
    "solo.bench.train:bench_train", "solo.cli.hub:hub_api",
    "solo.viewer.film:write_clip", "solo.viewer.film:write_demo",
    "solo.deploy.drivers.sim_dds:SimG1",
    "solo.deploy.dashboard.publisher:Dashboard",
    "solo.deploy.session:run_session", "solo.evaluation.evaluate:evaluate",
    "solo.evaluation.comparisons:evaluate_levels",
    "solo.evaluation.comparisons:evaluate_robustness",
    "solo.motions.catalogue:make_clip", "solo.motions.catalogue:make_clips",
    "solo.reconstruction.comparison:compare",
    "solo.reconstruction.data.recorder:collect",
    "solo.reconstruction.offline:fit", "solo.stages.train:train_perceptive",
    "solo.stages.train:train_student", "solo.stages.train:train_teacher",
    "solo.pictures.terrains:draw_contact_sheet",
    "solo.pictures.terrains:draw_strips",
    "solo.pictures.depth:draw_depth_picture",
    "solo.viewer.motions:MotionPlayer",
    "solo.viewer.server:start_server",
)  # fmt: skip
"""Where verbs begin to work; until there they look at their options."""

VALUES = (
    "", "0", "-1", "1", "3", "0.5", "-0.0", "1e308", "-1e308", "nan", "inf", "-inf",
    str(2**31), str(2**63), "0x10", "1_000", "x", "gap", "flat", "g1", "qr", "shipped",
    "stand", "cpu", "cuda:7", "laptop", "smoke", "train", "here.json", "here.png",
    "here.npz", "here.onnx", "here.html", "folder", "folder/new.json", "missing",
    "missing/x.png", "loop", "n" * 300, "n" * 300 + ".png", "\udcff.json", "ü.png", ".",
    "..", "--", "-h", "a b", "%s{0}",
)  # fmt: skip


class Started(BaseException):
    """The options were fine."""


def _start(*args: object, **kwargs: object) -> None:
    raise Started


@contextlib.contextmanager
def without_work():
    """Stop every verb where its work begins."""
    with contextlib.ExitStack() as stack:
        for place in WORK:
            stack.enter_context(mock.patch(place.replace(":", "."), _start))
        yield


def prepare(folder: Path) -> None:
    """Files for options to name."""
    for name in ("here.json", "here.png", "here.npz", "here.onnx", "here.html"):
        (folder / name).write_text("{}")
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to("loop")


def random_options(rng: random.Random) -> list[str]:
    """A verb with options of its own and some values."""
    verb = rng.choice(list(VERBS))
    fields = dataclasses.fields(load_verb(verb))
    names = [field.name.replace("_", "-") for field in fields]
    words = verb.split()
    words += [rng.choice(VALUES) for _ in range(rng.choice((0, 1, 1, 2)))]
    for option in rng.sample(names, rng.randrange(min(4, len(names)) + 1)):
        words.append(rng.choice((f"--{option}", f"--{option}", f"--no-{option}")))
        words += [rng.choice(VALUES) for _ in range(rng.choice((0, 1, 1, 1, 2, 3)))]
    return words


def run(words: list[str], folder: Path) -> None:
    """Give the words to the command line.

    Raises:
        AssertionError: It fails without exactly one clear line.
    """
    out, err = io.StringIO(), io.StringIO()
    before = os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
    except Started:
        return
    except SystemExit as error:
        code = error.code
        assert code in (0, 2), f"exit code {code}"
        return
    finally:
        os.chdir(before)
    text = err.getvalue()
    if code != 0:
        assert text.startswith("solo: "), text
        assert text.count("\n") == 1, text
        assert len(text) < 3000, "a line of more than 3000 characters"
