"""The verbs of `solo eval`, with scripted jobs instead of the simulation."""

from __future__ import annotations

import json

import pytest

from solo.cli.curves import EvalCurriculum
from solo.cli.eval import EvalExtent, EvalLevels, EvalStress
from solo.cli.report import Report
from solo.errors import SoloError
from solo.evaluation import evaluate as module
from solo.evaluation.evaluate import describe_job
from solo.results import Outcome, Rollout


@pytest.fixture(autouse=True)
def scripted(monkeypatch, tmp_path):
    """A policy succeeds below its difficulty: zero at 0.3, stand at 0.6."""
    limits = {"zero": 0.3, "stand": 0.6, "random": 0.0}

    def run_cell(protocol, source, cell, num_slots, num_threads, on_rollout, *_):
        outcome = Outcome.FALL
        if cell.difficulty < limits[source.name]:
            outcome = Outcome.SUCCESS
        rollouts = [
            Rollout(i, outcome, 9, 5.1, 0.0, 0.5, 0, {"velocity_error": 0.25})
            for i in range(protocol.rollouts)
        ]
        for rollout in rollouts:
            on_rollout(cell, rollout)
        return describe_job(cell, rollouts, 64, 0.5)

    monkeypatch.setattr(module, "run_cell", run_cell)
    monkeypatch.chdir(tmp_path)


def test_stress_prints_a_row_per_terrain_and_resumes(capsys, tmp_path):
    result = EvalStress(policy="zero", rollouts=4).run()
    printed = capsys.readouterr().out
    assert len(result["cells"]) == 8
    assert "high_plane-8m-0.990" in printed
    assert "0.0 % [0.0, 49.0]" in printed
    written = tmp_path / "eval" / "stress" / "zero" / "result.json"
    assert json.loads(written.read_text()) == result
    assert result["env_steps_per_s"] == 128.0
    assert EvalStress(policy="zero", rollouts=4).run() == result
    assert "(found)" in capsys.readouterr().err


def test_options_scale_a_protocol_down(tmp_path):
    result = EvalStress(
        policy="stand",
        rollouts=2,
        terrains=("gap",),
        difficulty=0.5,
        seed=3,
        pass_m=100.0,
        start_m=0.25,
        time_s=20.0,
        output=tmp_path / "here",
    ).run()
    limits = {"pass_m": 100.0, "time_s": 20.0, "survive": False}
    assert result["protocol"]["limits"] == limits
    assert result["protocol"]["start"]["offset_m"] == 0.25
    (cell,) = result["cells"]
    assert cell["name"] == "gap-8m-0.500"
    assert cell["success"]["rate"] == 1.0
    assert result["protocol"]["seed"] == 3
    assert (tmp_path / "here" / "result.json").exists()


def test_extent_has_a_row_per_scene_and_difficulty():
    result = EvalExtent(policy="zero", rollouts=1, difficulty=(0.2, 0.99)).run()
    rates = {cell["name"]: cell["success"]["rate"] for cell in result["cells"]}
    assert rates == {
        "stairs_down_25-8m-0.200": 1.0,
        "stairs_down_25-8m-0.990": 0.0,
        "stairs_down_25-10m-0.200": 1.0,
        "stairs_down_25-10m-0.990": 0.0,
    }


def test_levels_are_compared_pair_by_pair(capsys):
    result = EvalLevels(
        policy=("zero", "stand"),
        versus=("stand", "zero"),
        rollouts=1,
        terrains=("gap", "pits"),
    ).run()
    # Below 0.3 are levels 0 to 2, below 0.6 levels 0 to 5.
    row = result["paired"]["easy"]
    assert row["first"]["mean"] == pytest.approx(100 * (3 / 4 + 1) / 2)
    assert row["difference"]["mean"] == pytest.approx(0.0)
    assert row["difference"]["std"] == pytest.approx(25 * 2**0.5)
    assert "second - first" in capsys.readouterr().out
    assert result["kind"] == "levels"
    assert result["first"][0]["cells"][0]["rollouts"] == []


def test_some_levels_keep_their_numbers():
    result = EvalLevels(
        policy=("zero",), rollouts=1, terrains=("gap",), levels=(9, 0)
    ).run()
    (found,) = result["first"]
    assert [cell["level"] for cell in found["cells"]] == [0, 9]
    assert set(found["aggregates"]) == {"easy", "hard", "top/gap"}


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (EvalStress(policy="walk"), "Unknown policy 'walk'"),
        (EvalStress(policy="zero", rollouts=0), "rollouts is 0"),
        (EvalStress(policy="zero", num_envs=0), "num_envs is 0"),
        (EvalStress(policy="zero", difficulty=1.2), r"difficulty is 1\.2"),
        (EvalStress(policy="zero", terrains=("lava",)), "Unknown terrain 'lava'"),
        (EvalStress(policy="zero", terrains=("gap", "gap")), "a job twice: gap"),
        (EvalLevels(policy=("zero",), versus=("zero", "stand")), "as many of both"),
        (EvalLevels(policy=("zero",), levels=(10,)), "allowed are 0 to 9"),
        (EvalLevels(policy=()), "--policy is empty"),
        (EvalCurriculum(runs=()), "No run is given"),
    ],
)
def test_wrong_options_are_told_in_one_line(command, reason):
    with pytest.raises(SoloError, match=reason) as error:
        command.run()
    assert "\n" not in str(error.value)


def test_the_report_takes_the_file_the_folder_and_its_parent(tmp_path):
    options = {"rollouts": 2, "terrains": ("gap",), "levels": (0, 9)}
    EvalLevels(policy=("zero",), versus=("stand",), **options).run()
    folder = tmp_path / "eval" / "levels"
    for given, kind in (
        (folder / "result.json", "levels"),
        (folder, "levels"),
        (tmp_path / "eval", "levels"),
        (folder / "zero", "evaluation"),
    ):
        page = Report((given,), output=tmp_path / "page.html").run()
        assert page["sections"] == ["levels"]
        assert [found["kind"] for found in page["results"]] == [kind]
    # Killed before the second policy was done: the first one can be looked at.
    (folder / "result.json").unlink()
    (folder / "stand" / "result.json").unlink()
    page = Report((tmp_path / "eval",), output=tmp_path / "page.html").run()
    assert [found["kind"] for found in page["results"]] == ["evaluation"]
