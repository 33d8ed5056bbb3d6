"""The folder of a run: one run, one process, whole files."""

from __future__ import annotations

import json

import pytest
import torch

from solo.bundles import shipped_teacher
from solo.errors import SoloError
from solo.runs.folder import CONFIG, checkpoints, find_checkpoint, own_run
from solo.runs.run import load_checkpoint
from solo.stages.train import train_student
from solo.stages.train_cfg import StudentCfg

TEACHER = {"stage": "teacher"}


def test_a_second_run_does_not_overwrite_the_first(tmp_path):
    with own_run(tmp_path, TEACHER, resume=False):
        (tmp_path / "model_0.pt").write_bytes(b"x")
    with (
        pytest.raises(SoloError, match="already holds a run"),
        own_run(tmp_path, TEACHER, resume=False),
    ):
        pass


def test_resuming_needs_a_run_of_the_same_stage(tmp_path):
    with pytest.raises(SoloError, match="no checkpoint to resume"):
        train_student(StudentCfg(resume=tmp_path))
    with pytest.raises(SoloError, match="stage 'teacher', not 'student'"):
        train_student(StudentCfg(resume=shipped_teacher()))


def test_resumes_are_recorded(tmp_path):
    with own_run(tmp_path, {**TEACHER, "seed": 1}, resume=False):
        (tmp_path / "model_0.pt").write_bytes(b"x")
    with own_run(tmp_path, {**TEACHER, "seed": 2}, resume=True):
        pass
    config = json.loads((tmp_path / CONFIG).read_text())
    assert config["seed"] == 1
    assert [entry["seed"] for entry in config["resumed"]] == [2]


def test_two_processes_do_not_share_a_folder(tmp_path):
    with (
        own_run(tmp_path, TEACHER, resume=False),
        pytest.raises(SoloError, match="Another process"),
        own_run(tmp_path, TEACHER, resume=False),
    ):
        pass


def test_the_last_checkpoint_is_the_highest_number(tmp_path):
    for name in ("model_9.pt", "model_100.pt", "model_20.pt", ".model_200.7.pt"):
        (tmp_path / name).write_bytes(b"x")
    assert [path.name for path in checkpoints(tmp_path)] == [
        "model_9.pt", "model_20.pt", "model_100.pt",
    ]  # fmt: skip
    assert find_checkpoint(tmp_path).name == "model_100.pt"
    with pytest.raises(SoloError, match="no checkpoint"):
        find_checkpoint(tmp_path / "missing.pt")


class Evil:
    """Runs a command when it is unpickled by an unsafe loader."""

    def __reduce__(self):
        return (open, ("/nonexistent/evil", "w"))


def test_checkpoints_are_read_without_executing_them(tmp_path):
    path = tmp_path / "model_0.pt"
    torch.save({"actor_state_dict": Evil(), "iter": 0, "infos": {}}, path)
    with pytest.raises(SoloError, match="Cannot read the checkpoint"):
        load_checkpoint(path)


def test_truncated_and_foreign_files_get_one_line(tmp_path):
    path = tmp_path / "model_0.pt"
    torch.save({"actor_state_dict": torch.zeros(1000), "iter": 0, "infos": {}}, path)
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(SoloError, match="truncated"):
        load_checkpoint(path)
    torch.save({"weights": torch.zeros(3)}, path)
    with pytest.raises(SoloError, match="lacks actor_state_dict"):
        load_checkpoint(path)


def test_resuming_with_other_threads_is_told(tmp_path, capsys):
    for threads, resume, is_told in (
        (1, False, False),
        (1, True, False),
        (2, True, True),
    ):
        with own_run(tmp_path, {"stage": "teacher", "threads": threads}, resume):
            (tmp_path / "model_0.pt").touch()
        assert ("not to the bit" in capsys.readouterr().out) == is_told


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "7", '{"stage": "teacher", "resumed": 5}']
)
def test_a_damaged_description_is_one_clear_line(tmp_path, content):
    (tmp_path / "model_0.pt").touch()
    (tmp_path / CONFIG).write_text(content)
    with (
        pytest.raises(SoloError, match=CONFIG),
        own_run(tmp_path, {"stage": "teacher"}, True),
    ):
        pass
