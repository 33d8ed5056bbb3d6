"""Results on disk: killed evaluations go on, malformed files are told in one line."""

from __future__ import annotations

import json

import pytest

from solo.errors import SoloError
from solo.evaluation import evaluate as module
from solo.evaluation.evaluate import describe_job, evaluate
from solo.evaluation.policies import open_policy
from solo.evaluation.protocols import Protocol
from solo.result_files import parse_result
from solo.results import Outcome, Rollout

PROTOCOL = Protocol(
    name="tiny", terrains=("flat", "gap", "pits"), difficulties=(0.5,), rollouts=4
)


class Stopped(Exception):
    """Stands for a kill."""


@pytest.fixture
def jobs(monkeypatch):
    """Replace the simulation; the names of the jobs that were run."""
    ran: list[str] = []

    def run_cell(protocol, source, cell, *rest):
        if len(ran) == stop_after[0]:
            raise Stopped
        ran.append(cell.terrain)
        rollouts = [
            Rollout(i, Outcome.SUCCESS if i else Outcome.FALL, 10 + i, 5.1, 0.0, 0.5,
                    0, {"velocity_error": 0.25})
            for i in range(protocol.rollouts)
        ]  # fmt: skip
        return describe_job(cell, rollouts, 400, 2.0)

    stop_after = [99]
    monkeypatch.setattr(module, "run_cell", run_cell)
    return ran, stop_after


def run(folder, protocol=PROTOCOL, policy="stand", **callbacks):
    return evaluate(protocol, open_policy(policy), folder, **callbacks)


def test_a_result_says_everything_about_itself(jobs, tmp_path):
    result = run(tmp_path)
    path = tmp_path / "result.json"
    assert parse_result(path, json.loads(path.read_text())) == result
    assert json.loads(path.read_text())["kind"] == "evaluation"
    assert result.policy["name"] == "stand"
    assert result.policy["sha256"] is None
    assert {"solo", "torch", "mujoco", "mjlab", "python"} <= set(result.versions)
    assert result.protocol["seed"] == 0
    limits = {"pass_m": 5.0, "time_s": 30.0, "survive": False}
    assert result.protocol["limits"] == limits
    assert result.wall_time_s == 6.0
    assert result.env_steps_per_s == 200.0
    assert result.summary is not None
    assert result.summary.success.successes == 9
    assert [job.terrain for job in result.cells] == ["flat", "gap", "pits"]
    assert result.cells[0].rollouts[0].outcome == Outcome.FALL


def test_a_killed_run_goes_on_without_repeating(jobs, tmp_path):
    ran, stop_after = jobs
    stop_after[0] = 2
    with pytest.raises(Stopped):
        run(tmp_path)
    assert not (tmp_path / "result.json").exists()
    stop_after[0] = 99
    seen = []
    resumed = run(tmp_path, on_job=lambda job, new: seen.append((job.name, new)))
    assert ran == ["flat", "gap", "pits"]
    assert [is_new for _, is_new in seen] == [False, False, True]
    ran.clear()
    assert run(tmp_path / "again") == resumed


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "Expecting"),
        ("[1]", "not an object"),
        ('{"name": "flat-8m-0.500"}', "success is missing"),
    ],
)
def test_a_malformed_file_is_told_in_one_line(jobs, tmp_path, content, reason):
    run(tmp_path)
    (tmp_path / "cells" / "flat-8m-0.500.json").write_text(content)
    with pytest.raises(SoloError, match=reason) as error:
        run(tmp_path)
    assert "flat-8m-0.500.json" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_lost_rollouts_is_refused(jobs, tmp_path):
    run(tmp_path)
    path = tmp_path / "cells" / "flat-8m-0.500.json"
    saved = json.loads(path.read_text())
    saved["rollouts"].pop()
    path.write_text(json.dumps(saved))
    with pytest.raises(SoloError, match="3 rollouts, not 4"):
        run(tmp_path)


def test_a_folder_takes_no_results_of_another_evaluation(jobs, tmp_path):
    run(tmp_path)
    with pytest.raises(SoloError, match=r"policy\.name is stand there and zero here"):
        run(tmp_path, policy="zero")
    other = Protocol("tiny", PROTOCOL.terrains, (0.5,), rollouts=5)
    with pytest.raises(SoloError, match=r"protocol\.rollouts is 4 there"):
        run(tmp_path, other)
