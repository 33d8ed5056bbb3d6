"""The command line: verbs, exit codes, results and errors of one line."""

from __future__ import annotations

import dataclasses
import importlib
import json
import subprocess
import sys

import pytest

from solo.cli.main import VERBS, main


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
    for verb, (_, line) in VERBS.items():
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
    module, name = VERBS[verb][0].split(":")
    cls = getattr(importlib.import_module(module), name)
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
    from solo.cli.terrains import ListTerrains

    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(ListTerrains, "run", interrupted)
    code, _, err = run(capsys, "terrains", "list")
    assert code == 130
    assert "Traceback" not in err
