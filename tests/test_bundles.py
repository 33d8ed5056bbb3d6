"""The teacher that comes with the package can be read, and is found by its name."""

from __future__ import annotations

from pathlib import Path

from solo.bundles import SHIPPED, shipped_teacher
from solo.cli.train import TrainStudent, TrainTeacher
from solo.evaluation.policies import open_policy


def test_the_shipped_teacher_is_a_teacher_of_the_g1():
    source = open_policy(str(shipped_teacher()))
    assert (source.stage, source.robot.name) == ("teacher", "g1")
    card = shipped_teacher().parent / "g1_teacher.md"
    assert "## Limits" in card.read_text()


def test_its_name_on_the_command_line(monkeypatch, tmp_path):
    started = []

    def note(cfg, start=None, *others):
        started.append(start)
        return {"checkpoint": None, "output": str(cfg.output)}

    monkeypatch.setattr("solo.stages.teacher.train_teacher", note)
    monkeypatch.setattr("solo.stages.student.train_student", note)
    output, other = tmp_path / "run", Path("runs/mine")
    TrainTeacher(output=output, start_from=Path(SHIPPED)).run()
    TrainStudent(output=output, teacher=Path(SHIPPED)).run()
    TrainStudent(output=output, teacher=other).run()
    assert started == [shipped_teacher(), shipped_teacher(), other]
