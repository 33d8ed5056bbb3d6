"""`solo tasks`: every task with what the built one has."""

from __future__ import annotations

import json

import pytest

from solo.cli.tasks import PURPOSES, Tasks
from solo.mjlab_tasks import TASKS


def test_every_task_is_listed(capsys: pytest.CaptureFixture[str]):
    result = Tasks().run()
    out = capsys.readouterr().out
    assert [task["task"] for task in result["tasks"]] == list(TASKS)
    for task in result["tasks"]:
        assert task["task"] in out
        assert task["stage"] == TASKS[task["task"]]
        assert task["purpose"] == PURPOSES[task["stage"]]
        assert task["reward_terms"] == 21  # Rows of the paper's table.
    teacher, *_, perceptive = (t["observation_groups"] for t in result["tasks"])
    assert teacher["height_map"] == (16, 32)
    assert teacher["amp"] == (59,)
    assert perceptive["depth"] == (4, 64, 113)
    assert perceptive["proprioception_window"] == (10, 84)
    assert "depth 4x64x113" in out
    json.dumps(result)
