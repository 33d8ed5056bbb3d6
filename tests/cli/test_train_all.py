"""Everything from nothing to a report in one command, and nothing twice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from solo.cli.train_all import STATE, TrainAll
from solo.errors import SoloError

STEPS = [
    "teacher",
    "student",
    "data",
    "reconstructor",
    "perceptive",
    "export",
    "evaluation",
    "report",
]


@pytest.mark.slow
def test_all_stages_run_once_and_are_skipped_afterwards(tmp_path: Path, capsys):
    cfg = TrainAll(
        output=tmp_path / "all",
        profile="smoke",
        device="cpu",
        rollouts=1,
        terrains=("stairs_up_30",),
    )
    results = cfg.run()
    assert list(results) == STEPS
    assert results["report"]["sections"]
    assert (cfg.output / "policy.onnx").is_file()
    assert json.loads((cfg.output / STATE).read_text())["done"] == results
    before = {path: path.stat().st_mtime_ns for path in cfg.output.rglob("*.*")}
    capsys.readouterr()
    assert cfg.run() == results
    printed = capsys.readouterr().out
    assert printed.count("done, skipped") == len(STEPS)
    after = {path: path.stat().st_mtime_ns for path in cfg.output.rglob("*.*")}
    assert {p for p in before if before[p] != after[p]} <= {cfg.output / ".lock"}
    with pytest.raises(SoloError, match="seed is 0 there and 1 here"):
        replace(cfg, seed=1).run()


def test_a_stopped_step_is_resumed_and_done_ones_are_not_repeated(
    tmp_path: Path, monkeypatch
):
    calls: list[str] = []
    stops = {"student": True}

    def steps(self):
        def make(name):
            def run():
                calls.append(name)
                (tmp_path / name).touch()
                stopped = stops.pop(name, False)
                return {"output": str(tmp_path / name), "stopped": stopped}

            return run

        return {name: make(name) for name in ("teacher", "student", "report")}

    monkeypatch.setattr(TrainAll, "_steps", steps)
    cfg = TrainAll(output=tmp_path / "all", profile="smoke")
    with pytest.raises(SoloError, match="Stopped in the step 'student'"):
        cfg.run()
    cfg.run()
    assert calls == ["teacher", "student", "student", "report"]
    (tmp_path / "teacher").unlink()  # What is gone is made again.
    cfg.run()
    assert calls[4:] == ["teacher"]


def test_other_options_are_refused_before_the_first_step_is_done(tmp_path, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(TrainAll, "_steps", lambda self: {"teacher": interrupted})
    cfg = TrainAll(output=tmp_path / "all", profile="smoke")
    with pytest.raises(KeyboardInterrupt):
        cfg.run()
    with pytest.raises(SoloError, match="seed is 0 there and 1 here"):
        replace(cfg, seed=1).run()


def test_a_stage_that_was_killed_after_its_last_checkpoint_is_done(tmp_path):
    """There is nothing to resume in it, and the next stage can begin."""
    run = tmp_path / "teacher"
    run.mkdir()
    (run / "run.json").write_text('{"stage": "teacher", "iterations": 2}')
    (run / "model_1.pt").touch()
    done = TrainAll(output=tmp_path, profile="smoke")._steps()["teacher"]()
    assert done == {"output": str(run), "checkpoint": str(run / "model_1.pt")}
