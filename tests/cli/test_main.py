"""The command line: verbs, exit codes, results and errors of one line."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import subprocess
import sys

import pytest

from solo.cli.checks import say_loading
from solo.cli.main import VERBS, load_verb, main


def run(capsys, *args: str) -> tuple[int, str, str]:
    code = main(args)
    out, err = capsys.readouterr()
    return code, out, err


def assert_one_clear_line(err: str, *parts: str) -> None:
    assert err.count("\n") == 1, err
    assert err.startswith("solo: ")
    for part in parts:
        assert part in err


def test_help_lists_every_verb(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for verb, line in VERBS.items():
        assert f"  {verb}" in out
        assert line in out


def test_help_does_not_import_the_simulation():
    script = (
        "import sys; from solo.cli.main import main; main(['--help']); "
        "assert not {'torch', 'mjlab', 'mujoco'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_a_documented_dataclass_with_json(verb):
    cls = load_verb(verb)
    assert dataclasses.is_dataclass(cls)
    assert cls.__doc__
    assert "json" in {field.name for field in dataclasses.fields(cls)}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_its_options(verb, capsys):
    with pytest.raises(SystemExit) as exit_info:
        main([*verb.split(), "--help"])
    assert exit_info.value.code == 0
    assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (["walk"], ["Unknown verb 'walk'", "Allowed: demo, tasks"]),
        (["terrains", "sow"], ["Unknown verb 'terrains sow'", "terrains show"]),
    ],
)
def test_wrong_verb_is_wrong_usage(capsys, args, parts):
    code, _, err = run(capsys, *args)
    assert code == 2
    assert_one_clear_line(err, *parts)


def test_nothing_at_all_shows_the_overview_and_fails(capsys):
    code, out, _ = run(capsys)
    assert code == 2
    assert "usage: solo VERB" in out


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (
            ["terrains", "show", "--terrains", "stares"],
            ["Unknown terrain 'stares'", "stairs_up_25", "solo terrains list"],
        ),
        (["terrains", "show", "--difficulty", "1.5"], ["1.5"]),
        (["terrains", "show", "--output", "no/such/folder/a.png"], ["no/such/folder"]),
        (["bench", "sim", "--num-envs", "-4"], ["--num-envs is -4", "at least 1"]),
        (["bench", "sim", "--threads", "0"], ["--threads is 0", "at least 1"]),
        (["terrains", "list", "--json", "no/such/folder/a.json"], ["no/such/folder"]),
        (
            ["train", "teacher", "--motions", __file__, "no/walk.npz"],
            ["There is no motion file 'no/walk.npz'", "solo motions make"],
        ),
    ],
)
def test_bad_input_is_one_clear_line(capsys, args, parts):
    code, _, err = run(capsys, *args)
    assert code == 1
    assert_one_clear_line(err, *parts)


def test_json_holds_the_result(capsys, tmp_path):
    path = tmp_path / "terrains.json"
    code, out, _ = run(capsys, "terrains", "list", "--json", str(path))
    assert code == 0
    assert f"Wrote {path}" in out
    assert len(json.loads(path.read_text())["terrains"]) == 17
    assert [p.name for p in tmp_path.iterdir()] == ["terrains.json"]


@pytest.mark.slow
def test_bench_sim_measures_what_it_promises(capsys, tmp_path):
    path = tmp_path / "bench.json"
    code, _, _ = run(
        capsys, "bench", "sim", "--num-envs", "4", "--rounds", "1", "--steps", "2",
        "--warp-steps", "0", "--json", str(path),
    )  # fmt: skip
    assert code == 0
    result = json.loads(path.read_text())
    assert result["num_envs"] == 4
    for key in ("native_steps_per_s", "raw_steps_per_s", "fraction_of_raw", "threads"):
        assert result[key] > 0


def test_missing_extra_is_one_clear_line(monkeypatch, capsys):
    """As on a robot, where only the deployment extra is installed."""
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.delitem(sys.modules, "solo.cli.terrains", raising=False)
    code, _, err = run(capsys, "terrains", "list")
    assert code == 1
    assert_one_clear_line(err, "rich", "solo-locomotion[train]")


def test_interrupt_ends_with_the_shells_code(monkeypatch, capsys):
    from solo.cli.terrains import TerrainsList

    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(TerrainsList, "run", interrupted)
    code, _, err = run(capsys, "terrains", "list")
    assert code == 130
    assert "Traceback" not in err


def test_an_output_that_is_an_input_is_refused(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    policy = tmp_path / "policy.onnx"
    policy.write_bytes(b"\x08weights")
    (tmp_path / "link.json").symlink_to(policy)
    (tmp_path / "hard.json").hardlink_to(policy)
    (tmp_path / "result.json").write_text("{}")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    for args in (
        ["deploy", "policy.onnx", "--dry-run", "--json", "policy.onnx"],
        ["deploy", "policy.onnx", "--dry-run", "--json", "./link.json"],
        ["deploy", "policy.onnx", "--dry-run", "--json", "hard.json"],
        ["deploy", "other.onnx", "--dry-run", "--json", "policy.onnx"],
        ["report", "result.json", "--json", "result.json"],
        ["report", "result.json", "--output", "result.json"],
        ["train", "curves", "run", "--json", "run/run.json"],
        ["terrains", "show", "--output", "new.png", "--json", "new.png"],
    ):
        code, _, err = run(capsys, *args)
        assert code == 1
        assert_one_clear_line(err, "would ", "Choose another")
    assert policy.read_bytes() == b"\x08weights"
    assert (tmp_path / "result.json").read_text() == "{}"


def test_results_may_be_written_again_and_to_nowhere(capsys, tmp_path):
    path = tmp_path / "terrains.json"
    (tmp_path / "nowhere").symlink_to("/dev/null")
    for target in (path, path, tmp_path / "nowhere"):
        assert run(capsys, "terrains", "list", "--json", str(target))[0] == 0
    assert len(json.loads(path.read_text())["terrains"]) == 17


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (["depth", "show", "--seed", str(2**63)], ["--seed", "at most"]),
        (["deploy", "x.onnx", "--seconds", "1e308"], ["--seconds", "at most"]),
        (["deploy", "x.onnx", "--velocity", "nan", "0", "0"], ["--velocity"]),
        (["train", "teacher", "--device", "xyz"], ["--device 'xyz'", "cpu"]),
        (["train", "teacher", "--device", "meta"], ["--device 'meta'", "cpu"]),
        (
            ["train", "teacher", "--terrain-weights", "gap", "inf"],
            ["'gap'", "inf", "finite"],
        ),
        (["recon", "collect", "--steps", "0"], ["--steps is 0", "at least 1"]),
        (["report", "n" * 300], ["name too long"]),
        (["terrains", "list", "--json", "n" * 300], ["name too long"]),
    ],
)
def test_a_surprising_value_is_one_clear_line(capsys, tmp_path, args, parts):
    code, _, err = run(capsys, *args)
    assert code == 1
    assert_one_clear_line(err, *parts)


def test_a_log_that_is_a_file_is_refused(capsys, tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    (tmp_path / "run").mkdir()
    code, _, err = run(
        capsys, "train", "curves", str(tmp_path / "run"), "--log", str(path)
    )
    assert code == 1
    assert_one_clear_line(err, "--log", "a file")


@pytest.mark.parametrize("args", [["help"], ["terrains", "list"]])
def test_a_reader_that_leaves_ends_it_quietly(args):
    """As in `solo help | head -1`."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as output:
        result = subprocess.run(
            [sys.executable, "-m", "solo.cli.main", *args],
            stdout=output,
            stderr=subprocess.PIPE,
        )
    assert result.stderr == b""
    assert result.returncode in (1, 141)  # rich has a code of its own.


def test_a_family_lists_its_verbs(capsys):
    for args in (["train", "--help"], ["help", "train"]):
        code, out, _ = run(capsys, *args)
        assert code == 0
        assert "train teacher" in out
        assert "eval stress" not in out
    assert run(capsys, "train")[0] == 2


def test_a_wrong_verb_is_told_the_nearest(capsys):
    for given, near in (
        (["train", "tecaher"], "train teacher"),
        (["exprot", "runs/x"], "export"),
        (["evla", "stress"], "eval stress"),
        (["trian"], "train"),
        (["trian", "--help"], "train"),
    ):
        code, _, err = run(capsys, *given)
        assert code == 2
        assert_one_clear_line(err, f"Did you mean {near!r}?")
    for args, allowed in ((["zzz"], "demo"), (["train", "nope"], "train teacher")):
        assert_one_clear_line(run(capsys, *args)[2], f"Allowed: {allowed}, ")


def test_help_fits_the_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    for verb in VERBS:
        with pytest.raises(SystemExit):
            main([*verb.split(), "--help"])
        lines = capsys.readouterr().out.splitlines()[1:]
        assert [line for line in lines if len(line) > 60] == [], verb


def test_a_terminal_is_told_of_imports_that_take_long(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    say_loading()
    assert "Loading PyTorch" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "torch", sys)  # Loaded: nothing to wait for.
    say_loading()
    assert capsys.readouterr().err == ""


def test_help_of_an_option_flows_to_the_margin(capsys):
    """A paragraph breaks where the line is full, not where its source breaks."""
    with pytest.raises(SystemExit):
        main(["eval", "stress", "--help"])
    shown = capsys.readouterr().out.splitlines()
    margin = max(len(line) for line in shown) - 2
    first = next(i for i, line in enumerate(shown) if "whose last seconds" in line)
    lines = [line.strip("\u2502").rstrip() for line in shown[first : first + 3]]
    for line, after in itertools.pairwise(lines):
        assert len(f"{line} {after.split()[0]}") > margin - 2
