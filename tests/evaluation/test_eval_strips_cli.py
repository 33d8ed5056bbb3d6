"""`solo eval isolated`, `course` and `route`: options, tables, and baseline agents."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from solo.cli.eval_strips import EvalCourse, EvalIsolated, EvalRoute
from solo.errors import SoloError
from solo.evaluation import evaluate, failures
from solo.evaluation.evaluate import describe_job, run_cell
from solo.evaluation.policies import open_policy
from solo.evaluation.route import ROUTE, RouteStage
from solo.evaluation.strips import COURSE, ISOLATED
from solo.pictures.failures import read_recording
from solo.results import Outcome, Rollout


@pytest.fixture
def scripted(monkeypatch, tmp_path):
    """Every second trial falls after 8 m, the others succeed."""

    def run_cell(protocol, source, cell, *settings):
        is_stage = isinstance(cell, RouteStage)
        finish_m = protocol.limits_of(cell).pass_m
        wave = []
        for start in protocol.starts(cell, 2):
            falls = start.index % 2 and not is_stage
            outcome = Outcome.FALL if falls else Outcome.SUCCESS
            end_m = 8.0 if falls else finish_m
            wave.append((start, Rollout(start.index, outcome, 9, end_m, 0.0, 0.5)))
        watch = protocol.watch(cell)
        if watch is not None:  # Both see an error of a centimetre at the start.
            watch([wave[0][0]] * 2, np.zeros(2), {"height_map_l1_m": np.full(2, 0.01)})
        job = describe_job(cell, [rollout for _, rollout in wave], 64, 0.5)
        return protocol.describe_job(job, cell, [wave], watch)

    monkeypatch.setattr(evaluate, "run_cell", run_cell)
    monkeypatch.chdir(tmp_path)


def test_isolated_prints_a_row_per_terrain_and_resumes(scripted, capsys, tmp_path):
    result = EvalIsolated(policy="zero", rollouts=4, difficulty_scale=0.5).run()
    printed = capsys.readouterr().out
    assert len(result["cells"]) == 7
    assert "movable_obstacle-0.500" in printed
    assert result["summary"]["success"]["rate"] == 0.5
    written = tmp_path / "eval" / "isolated" / "zero" / "result.json"
    assert json.loads(written.read_text()) == result
    again = EvalIsolated(policy="zero", rollouts=4, difficulty_scale=0.5).run()
    assert again == result
    assert "(found)" in capsys.readouterr().err


def test_the_course_tells_how_far_trials_came(scripted, capsys, tmp_path):
    picture = tmp_path / "course.png"
    result = EvalCourse(policy="stand", rollouts=4, picture=picture).run()
    (cell,) = result["cells"]
    reached = {e["name"]: (e["reached"], e["passed"]) for e in cell["elements"]}
    assert reached["stones_20"] == (4, 4)
    assert reached["stones_30"] == (4, 2)
    assert reached["gap"] == (2, 2)
    assert cell["rollouts"][1]["element"] == "stones_30"
    assert cell["rollouts"][0]["element"] == "after movable_obstacle"
    assert picture.stat().st_size > 1000
    assert "stairs_down" in capsys.readouterr().out


def test_the_route_prints_its_numbers(scripted, capsys):
    result = EvalRoute(policy="zero", length_m=150.0, num_robots=3).run()
    printed = capsys.readouterr().out
    assert "450 m of 450 m" in printed
    assert "3 of 3" in printed
    assert "1.00 to 1.00 cm" in printed
    assert result["route"]["falls"] == 0
    assert result["protocol"]["length_m"] == 150.0


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (
            EvalIsolated(policy="zero", terrains=("lava",)),
            "Unknown terrain .lava.. Allowed: stairs_up",
        ),
        (EvalIsolated(policy="zero", terrains=("gap", "gap")), "a job twice: gap"),
        (EvalIsolated(policy="zero", rollouts=0), "rollouts is 0"),
        (
            EvalCourse(policy="zero", difficulty_scale=0.0),
            r"--difficulty-scale is 0\.0",
        ),
        (EvalCourse(policy="zero", difficulty_scale=1.5), "at most 1"),
        (EvalRoute(policy="zero", length_m=0.5), r"length_m is 0\.5"),
        (EvalRoute(policy="zero", length_m=float("nan")), "length_m is nan"),
        (EvalRoute(policy="zero", num_robots=0), "num_robots is 0"),
        (EvalCourse(policy="zero", failures=-1), "failures is -1"),
        (EvalRoute(policy="walk", length_m=50.0), "Unknown policy 'walk'"),
    ],
)
def test_wrong_options_are_told_in_one_line(scripted, command, reason):
    with pytest.raises(SoloError, match=reason) as error:
        command.run()
    assert "\n" not in str(error.value)


# With everything real, as small as it gets.

FAST = (4.0, 4.0)
"""Command that makes time limits short; nobody here obeys it."""


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["zero", "random", "stand"])
def test_whoever_does_not_walk_fails_on_strips(policy):
    for protocol in (
        replace(ISOLATED, terrains=("movable_obstacle",), rollouts=4, forward_m_s=FAST),
        replace(COURSE, rollouts=4, forward_m_s=FAST),
    ):
        result = run_cell(protocol, open_policy(policy), protocol.cells[0])
        assert result.success.successes == 0
        assert result.outcomes["diverged"] == 0
        assert result.elements[0].passed == 0


@pytest.mark.slow
def test_a_stage_is_the_same_to_the_bit_in_any_batch(monkeypatch, tmp_path):
    """Robots that tumble over the legs of a stage, wave after wave."""
    monkeypatch.setattr(failures, "has_gl", lambda: False)
    protocol = replace(
        ROUTE, length_m=60.0, rollouts=36, forward_m_s=(20.0, 20.0), seed=1
    )
    stage = protocol.cells[0]
    assert len(stage.legs) > 1

    def walks(num_slots: int, num_threads: int) -> str:
        folder = tmp_path / str(num_slots)
        folder.mkdir()
        result = run_cell(
            protocol,
            open_policy("zero"),
            stage,
            num_slots,
            num_threads,
            folder=folder,
            num_failures=38,
        )
        assert result.success.successes == 0
        assert result.outcomes["fall"] > 30
        assert {walk.leg for walk in result.walks} == set(range(len(stage.legs)))
        # First walks, then second ones, whichever ended first.
        names = [Path(name).stem for name in result.failures]
        assert names[:36] == [f"stage-000-{robot}" for robot in range(36)]
        assert names[36:] == ["stage-000-0-1", "stage-000-1-1"]
        return repr((result.walks, result.rollouts, result.failures))

    assert walks(32, 1) == walks(64, 2)
    for one in (tmp_path / "32" / "failures").iterdir():
        first, second = (
            read_recording(one),
            read_recording(tmp_path / "64" / "failures" / one.name),
        )
        np.testing.assert_array_equal(first.qpos, second.qpos)
        np.testing.assert_array_equal(first.ground.grid.units, second.ground.grid.units)
        assert first.ground.families == second.ground.families
