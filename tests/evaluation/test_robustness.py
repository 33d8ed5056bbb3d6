"""What conditions cost, with scripted jobs instead of the simulation."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from solo.cli.eval import EvalRobustness
from solo.errors import SoloError
from solo.evaluation import evaluate as module
from solo.evaluation.comparisons import ROBUSTNESS, evaluate_robustness
from solo.evaluation.conditions import CONDITIONS, NOMINAL
from solo.evaluation.evaluate import describe_job
from solo.evaluation.metrics import rate_difference, success_rate
from solo.evaluation.policies import open_policy
from solo.result_files import parse_result
from solo.results import Outcome, Rollout

SUCCESSES = {"nominal": 9, "zeroed": 0, "pushed": 6}
"""Of ten rollouts on each terrain."""
ERROR_M = {"nominal": 0.02, "zeroed": 0.25, "pushed": 0.03}
PROTOCOL = replace(ROBUSTNESS, terrains=("gap", "flat"), rollouts=10)


@pytest.fixture(autouse=True)
def ran(monkeypatch, tmp_path):
    """Jobs that were run, by condition and terrain."""
    names: list[str] = []

    def run_cell(protocol, source, cell, slots, threads, on_rollout, condition, *_):
        names.append(f"{condition.name} {cell.terrain}")
        seen = "depth" in source.groups
        measures = {"height_map_l1_m": ERROR_M[condition.name]} if seen else {}
        rollouts = [
            Rollout(
                index=i,
                outcome=(
                    Outcome.SUCCESS if i < SUCCESSES[condition.name] else Outcome.FALL
                ),
                steps=10,
                distance_m=5.1,
                sideways_m=0.0,
                forward_m_s=0.5,
                patch=0,
                measures={"velocity_error": 0.25, **measures},
            )
            for i in range(protocol.rollouts)
        ]
        failures = [f"failures/{cell.name}-9.npz"]
        return describe_job(cell, rollouts, 100, 0.5, failures)

    monkeypatch.setattr(module, "run_cell", run_cell)
    monkeypatch.chdir(tmp_path)
    return names


def seeing():
    """A policy that could have a camera."""
    return replace(open_policy("stand"), groups=("depth",))


def test_the_difference_of_rates_is_newcombes():
    # The first example of his paper of 1998, method 10: 56 of 70 against 48 of 80.
    found = rate_difference(success_rate(56, 70), success_rate(48, 80))
    assert found == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    same = rate_difference(success_rate(5, 10), success_rate(5, 10))
    assert same[0] == 0.0
    assert same[1] == pytest.approx(-same[2])


def test_each_condition_has_its_row_and_its_cost(ran, tmp_path):
    chosen = [CONDITIONS["zeroed"], CONDITIONS["pushed"]]
    result = evaluate_robustness(PROTOCOL, seeing(), tmp_path, chosen)
    assert ran == [
        f"{condition} {terrain}"
        for condition in ("nominal", "zeroed", "pushed")
        for terrain in ("gap", "flat")
    ]
    rows: dict[str, Any] = {row.name: row for row in result.conditions}
    assert rows["nominal"].success.rate == 0.9
    assert rows["nominal"].cost.success_points == 0.0
    # 18 of 20 and 12 of 20 succeed.
    assert rows["pushed"].cost.success_points == pytest.approx(30.0)
    cost = rows["zeroed"].cost
    assert cost.success_points == pytest.approx(90.0)
    assert cost.low < 90.0 < cost.high
    assert cost.height_map_l1_m == pytest.approx(0.23)
    files = rows["zeroed"].cells[0].failures
    assert files == ("zeroed/failures/gap-8m-0.990-9.npz",)
    assert result.env_steps == 600
    assert result.env_steps_per_s == 200.0
    path = tmp_path / "result.json"
    assert parse_result(path, json.loads(path.read_text())) == result
    config = json.loads((tmp_path / "zeroed" / "config.json").read_text())
    assert config["condition"]["depth"] == "zeroed"


def test_finished_jobs_are_not_repeated_and_other_conditions_not_taken(ran, tmp_path):
    first = evaluate_robustness(PROTOCOL, seeing(), tmp_path, [CONDITIONS["zeroed"]])
    (tmp_path / "zeroed" / "cells" / "flat-8m-0.990.json").unlink()
    ran.clear()
    again = evaluate_robustness(PROTOCOL, seeing(), tmp_path, [CONDITIONS["zeroed"]])
    assert ran == ["zeroed flat"]
    assert again == first
    (tmp_path / "nominal").rename(tmp_path / "pushed")
    with pytest.raises(SoloError, match="holds another evaluation: condition"):
        evaluate_robustness(PROTOCOL, seeing(), tmp_path, [CONDITIONS["pushed"]])


def test_a_policy_without_a_camera_is_spared_what_is_done_to_it(ran, capsys):
    command = EvalRobustness(
        policy="stand",
        rollouts=10,
        terrains=("gap",),
        conditions=("zeroed", "pushed"),
    )
    result = command.run()
    assert ran == ["nominal gap", "pushed gap"]
    rows = {row["name"]: row for row in result["conditions"]}
    assert not rows["zeroed"]["is_applicable"]
    assert rows["pushed"]["cost"]["height_map_l1_m"] is None
    printed = capsys.readouterr().out
    assert "not applicable: the policy has no depth camera" in printed
    assert "90.0 % [59.6, 98.2]" in printed
    assert "30.0 [-" in printed
    assert result["conditions"][0]["name"] == NOMINAL.name


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (EvalRobustness(policy="zero", conditions=("fog",)), "Unknown condition 'fog'"),
        (
            EvalRobustness(policy="zero", conditions=("zeroed", "zeroed")),
            "--conditions names one twice",
        ),
        (EvalRobustness(policy="zero", difficulty=2.0), "difficulty is 2"),
        (EvalRobustness(policy="zero", failures=-1), "failures is -1"),
    ],
)
def test_wrong_options_are_told_in_one_line(command, reason):
    with pytest.raises(SoloError, match=reason) as error:
        command.run()
    assert "\n" not in str(error.value)
