"""The rollout loop against scripts with known ends."""

from __future__ import annotations

import numpy as np
import pytest

from solo.evaluation.metrics import summarise_rollouts
from solo.evaluation.protocols import LimitsCfg
from solo.evaluation.rollout import (
    Outcome,
    StepReport,
    classify,
    run_rollouts,
    summarise_landings,
)
from solo.results import Landing
from tests.evaluation.fake import FakeEnv, FakePolicy, Script, make_start

LIMITS = LimitsCfg(pass_m=5.0, time_s=1.0)  # 10 steps of the fake environment.

SCRIPTS = [
    Script(((1.0, 0.0), (3.0, 0.0), (5.1, 0.0))),  # Passes in step 3.
    Script(((1.0, 0.0),), falls_at=2),
    Script(((4.9, 0.0),)),  # Never passes.
    Script(((2.0, 0.0), (2.0, 4.1))),  # Walks off to the left in step 2.
    Script(((5.0, 0.0), (5.0001, 0.0))),  # 5.0 m is not beyond 5.0 m.
    Script(((6.0, 0.0),), falls_at=1),  # Falls over the line.
    Script(((1.0, 0.0),) * 9 + ((5.5, 0.0),)),  # Passes in the last step.
    Script(((-4.1, 0.0),)),  # Walks off backwards.
    Script(((6.0, -4.5),)),  # Passes beside the terrain.
    Script(((6.0, 0.0),), diverges_at=1),
]

EXPECTED = [
    (Outcome.SUCCESS, 3),
    (Outcome.FALL, 2),
    (Outcome.TIME_OUT, 10),
    (Outcome.LEFT_PATCH, 2),
    (Outcome.SUCCESS, 2),
    (Outcome.FALL, 1),
    (Outcome.SUCCESS, 10),
    (Outcome.LEFT_PATCH, 1),
    (Outcome.LEFT_PATCH, 1),
    (Outcome.DIVERGED, 1),
]


def run(num_slots: int, lanes: int = 1):
    env = FakeEnv(SCRIPTS, num_slots, lanes)
    starts = [make_start(i) for i in range(len(SCRIPTS))]
    return env, run_rollouts(env, FakePolicy(num_slots), starts, LIMITS)


@pytest.mark.parametrize("num_slots", [1, 2, 3, 7, 10, 16])
def test_scripted_ends_are_counted_exactly(num_slots):
    _, rollouts = run(num_slots)
    assert [(r.outcome, r.steps) for r in rollouts] == EXPECTED
    assert [r.index for r in rollouts] == list(range(10))
    assert [r.patch for r in rollouts] == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]


@pytest.mark.parametrize("num_slots", [1, 3, 16])
def test_measures_cover_the_terminal_step_and_nothing_after_it(num_slots):
    _, rollouts = run(num_slots)
    for rollout in rollouts:
        # Mean of 1..T, and of 0..T-1 for the states that were acted in.
        assert rollout.measures["step"] == (rollout.steps + 1) / 2
        assert rollout.measures["seen"] == (rollout.steps - 1) / 2


@pytest.mark.parametrize("num_slots", [1, 3, 16])
def test_a_policy_is_told_who_walks(num_slots):
    env, policy = FakeEnv(SCRIPTS, num_slots, 1), FakePolicy(num_slots)
    starts = [make_start(i) for i in range(len(SCRIPTS))]
    run_rollouts(env, policy, starts, LIMITS)
    # Never for a slot that waits: 3 + 2 + 10 + 2 + 2 + 1 + 10 + 1 + 1 + 1 steps.
    assert policy.asked == 33
    assert not policy.busy


def test_the_number_of_slots_changes_nothing():
    first = run(1)[1]
    for num_slots in (2, 5, 10, 32):
        assert run(num_slots)[1] == first


def test_each_rollout_runs_once_in_its_lane():
    env, rollouts = run(8, lanes=4)
    assert sorted(index for _, index in env.begun) == list(range(10))
    assert all(slot % 4 == index % 4 for slot, index in env.begun)
    assert [(r.outcome, r.steps) for r in rollouts] == EXPECTED


def test_the_end_of_each_rollout_is_told_once():
    env = FakeEnv(SCRIPTS, 3)
    told = []
    starts = [make_start(i) for i in range(10)]
    run_rollouts(env, FakePolicy(3), starts, LIMITS, told.append)
    assert sorted(r.index for r in told) == list(range(10))


def test_a_job_has_the_expected_numbers():
    summary = summarise_rollouts(run(4)[1])
    assert summary["outcomes"] == {
        "success": 3,
        "fall": 2,
        "time_out": 1,
        "left_patch": 3,
        "diverged": 1,
    }
    assert summary["success"].rate == 0.3
    assert summary["steps"] == 33
    # Each rollout counts alike: (2 + 1.5 + 5.5 + 1.5 + 1.5 + 1 + 5.5 + 1 + 1 + 1) / 10;
    # over steps it would be (6 + 3 + 55 + 3 + 3 + 1 + 55 + 1 + 1 + 1) / 33 = 3.9.
    assert summary["measures"]["step"].mean == pytest.approx(2.15)


def test_falling_beats_passing_beats_the_clock():
    report = StepReport(
        position_m=np.array([[6.0, 0.0], [6.0, 0.0], [0.0, 0.0], [0.0, 0.0]]),
        has_fallen=np.array([True, False, False, False]),
        has_diverged=np.zeros(4, dtype=bool),
        measures={},
    )
    steps = np.array([10, 10, 10, 9])
    assert classify(report, steps, 10, 5.0, 4.0) == [
        Outcome.FALL,
        Outcome.SUCCESS,
        Outcome.TIME_OUT,
        None,
    ]
    assert classify(report, steps, 10, 5.0, 4.0, survive=True) == [
        Outcome.FALL,
        Outcome.SUCCESS,
        Outcome.SUCCESS,
        None,
    ]


def test_measures_of_touch_downs_are_per_touch_down():
    landings = [Landing(1.0, 0.0, 0.0, over, 0.4) for over in (0.0, 0.0, 0.6)]
    assert summarise_landings(landings) == pytest.approx(
        {"landings_beside_holes": 3, "landing_over_holes": 0.2, "landing_shifted": 0.4}
    )
    assert summarise_landings([]) == {"landings_beside_holes": 0}
