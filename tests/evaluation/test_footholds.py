"""Footholds: what a touch-down says, the picture, and the same in simulation."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from solo.cli.eval import EvalFootholds
from solo.errors import SoloError
from solo.evaluation import evaluate as module
from solo.evaluation.evaluate import describe_job, run_cell
from solo.evaluation.policies import open_policy
from solo.evaluation.protocols import FOOTHOLDS, FootholdProtocol, LimitsCfg
from solo.evaluation.rollout import run_rollouts
from solo.pictures.footholds import describe_landings, landings_of
from solo.results import Landing, Outcome, Rollout
from tests.evaluation.fake import FakeEnv, FakePolicy, Script, make_start

CELL = FOOTHOLDS.cells[0]


def landed(index: int, x_m: float, over: float, shifted: float) -> Rollout:
    landing = Landing(x_m, 0.1, 0.0, over, shifted)
    return Rollout(index, Outcome.SUCCESS, 9, 5.1, landings=(landing,))


def test_each_rollout_has_the_touch_downs_of_its_own_steps():
    class Steps(FakeEnv):
        """A foot comes down with each step, at x = the steps taken so far."""

        def step(self, actions):
            report = super().step(actions)
            feet = [(slot, Landing(n, 0.0, 0.0, 0.5, 0.5))
                    for slot, n in enumerate(self.taken)]  # fmt: skip
            return replace(report, landings=feet)

    scripts = [Script(((0.0, 0.0),), falls_at=n) for n in (2, 1, 3)]
    env, starts = Steps(scripts, 2), [make_start(i) for i in range(3)]
    rollouts = run_rollouts(env, FakePolicy(2), starts, LimitsCfg(time_s=6.0))
    assert [[f.x_m for f in r.landings] for r in rollouts] == [[1, 2], [1], [1, 2, 3]]
    counted = [r.measures["landings_beside_holes"] for r in rollouts]
    assert counted == [2, 1, 3]


def test_a_job_tells_its_share_beside_that_of_shifted_feet():
    rollouts = [landed(0, 1.0, 0.0, 0.30), landed(1, 2.0, 0.2, 0.5)]
    job = describe_job(CELL, rollouts, 64, 0.5)
    words = describe_landings(job)
    assert "2 touch-downs beside holes: 10 % of the sole over holes, 40 %" in words
    assert "2 of 2 cross" in words
    none = describe_job(CELL, [replace(r, landings=()) for r in rollouts], 64, 0.5)
    assert describe_landings(none).startswith("no touch-down beside holes")


@pytest.fixture
def scripted(monkeypatch, tmp_path):
    """Two robots put a foot beside the gap, one well and one badly."""

    def run_cell(protocol, source, cell, *_):
        rollouts = [landed(0, 1.5, 0.0, 0.3), landed(1, 1.3, 0.5, 0.3)]
        return describe_job(cell, rollouts[: protocol.rollouts], 64, 0.5)

    monkeypatch.setattr(module, "run_cell", run_cell)
    monkeypatch.chdir(tmp_path)


def test_the_picture_shows_holes_and_soles(scripted, capsys, tmp_path):
    options = {"policy": "stand", "rollouts": 2, "terrains": ("gap",)}
    result = EvalFootholds(**options).run()
    folder = tmp_path / "eval" / "footholds" / "stand"
    assert json.loads((folder / "result.json").read_text()) == result
    assert "gap: 2 touch-downs beside holes: 25 %" in capsys.readouterr().out
    pixels = np.asarray(Image.open(folder / "footholds.png").convert("RGB")).astype(int)
    grey = (pixels == pixels[..., :1]).all(axis=-1)
    assert 0.01 < (grey & (abs(pixels[..., 0] - 115) < 5)).mean() < 0.3  # The gap.
    red, green = pixels[..., 0] - pixels[..., 1], pixels[..., 1] - pixels[..., 0]
    soles = ~grey
    assert (soles & (red > 80)).any()
    assert (soles & (green > 80)).any()
    other = tmp_path / "other.png"
    EvalFootholds(**options, picture=other).run()  # From what is on disk.
    assert other.stat().st_size > 1000


def test_terrain_without_holes_is_refused(scripted):
    with pytest.raises(SoloError, match="'flat' has no holes") as error:
        EvalFootholds(policy="stand", terrains=("flat",)).run()
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_touch_downs_in_simulation_are_those_that_are_measured(monkeypatch):
    """Robots that stand beside a gap, on its edge and over it."""
    protocol = replace(
        FOOTHOLDS,
        terrains=("gap",),
        difficulties=(1.0,),
        rollouts=32,
        start=replace(FOOTHOLDS.start, offset_m=1.4),
        limits=LimitsCfg(time_s=1.0),
    )
    job = run_cell(protocol, open_policy("stand"), protocol.cells[0])
    found = landings_of(job)
    assert len(found) > 5
    for rollout in job.rollouts:
        assert len(rollout.landings) == rollout.measures["landings_beside_holes"]
    for landing in found:
        # The gap of 0.5 m begins 1.25 m from the origin; a shift reaches 25 cm.
        away = max(abs(landing.x_m), abs(landing.y_m))
        assert away > 0.7
    # Robots face +x, but for those that tumble into the gap.
    assert np.median([abs(landing.yaw_rad) for landing in found]) < 0.2
    # Other protocols measure the same, and keep no list.
    monkeypatch.setattr(FootholdProtocol, "records_landings", False)
    other = run_cell(protocol, open_policy("stand"), protocol.cells[0])
    assert other.measures == job.measures
    assert landings_of(other) == []
