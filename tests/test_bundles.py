"""The models that come with the package can be read, are found, and have true cards."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import pytest
from huggingface_hub import ModelCard, ModelCardData

from solo.bundles import SHIPPED, SHIPPED_TEACHER, shipped_bundle, shipped_teacher
from solo.cli.train import TrainStudent, TrainTeacher
from solo.evaluation.policies import open_policy
from solo.runs.folder import find_checkpoint


def test_the_shipped_teacher_is_a_teacher_of_the_g1():
    source = open_policy(str(shipped_teacher()))
    assert (source.stage, source.robot.name) == ("teacher", "g1")


@pytest.mark.parametrize("name", ["g1", "g1_teacher"])
def test_the_results_of_a_cards_front_matter_are_in_its_text(name):
    card = ModelCard.load(shipped_teacher().parent / f"{name}.md")
    data = card.data.to_dict()
    assert (data["license"], data["pipeline_tag"]) == ("apache-2.0", "robotics")
    assert data["library_name"] == "solo-locomotion"
    assert "## Limits" in card.text
    results = cast(ModelCardData, card.data).eval_results
    assert results
    for result in results:
        (trials,) = re.findall(r"successes in (\d+) trials", result.metric_name or "")
        assert re.search(rf"\b{result.metric_value} of {trials}\b", card.text)


def test_its_name_on_the_command_line(monkeypatch, tmp_path):
    started = []

    def note(cfg):
        started.append(cfg)
        return {"checkpoint": None, "output": str(cfg.output)}

    monkeypatch.setattr("solo.stages.train.train_teacher", note)
    monkeypatch.setattr("solo.stages.train.train_student", note)
    name = Path(SHIPPED_TEACHER)
    TrainTeacher(output=tmp_path, start_from=name).run()
    TrainStudent(output=tmp_path, teacher=name, start_from=Path(SHIPPED)).run()
    assert [cfg.start_from for cfg in started] == [name, Path(SHIPPED)]
    assert find_checkpoint(name).parent == shipped_teacher()
    assert find_checkpoint(SHIPPED) == shipped_bundle()
