"""Ablations: every arm from the same start, nothing done twice, paired by seed."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image

from solo import ablations
from solo.ablation_cfg import AblationCfg
from solo.ablations import (
    ABLATIONS,
    LEVEL,
    differences,
    make_markdown,
    run_ablation,
)
from solo.errors import SoloError
from solo.evaluation.protocols import LEVELS
from solo.pictures.training import draw_ablation
from solo.reconstruction.networks import RECONSTRUCTORS
from solo.reconstruction.networks.interface import ReconstructionIoCfg
from solo.result_files import parse_result
from solo.results import Levels
from solo.robots.g1 import G1
from solo.runs.folder import CONFIG
from solo.stages.train import train_teacher
from solo.stages.train_cfg import TeacherCfg
from solo.tasks.agent_cfg import OBJECTIVES
from solo.tasks.profiles import LAPTOP, SMOKE
from solo.terrains import TerrainSceneCfg
from tests.reconstruction.networks.helpers import SIZES

TABLE = {
    "a": {"all": [50.0, 60.0, 70.0], "top/gap": [10.0, 10.0, 10.0], LEVEL: [3, 4, 5]},
    "b": {"all": [40.0, 51.0, 59.0], "top/gap": [0.0, 30.0, 0.0], LEVEL: [3, 4, 5]},
}
"""Two arms, three seeds. a - b: 10, 9, 11; 10, -20, 10; nothing."""


def test_differences_are_taken_seed_by_seed():
    found = differences(TABLE, "a", "b")
    assert (found["all"].mean, found["all"].std) == pytest.approx((10.0, 1.0))
    # Student's t of two degrees of freedom: 4.303 / sqrt(3) = 2.484.
    assert found["all"].interval == pytest.approx((7.516, 12.484), abs=1e-3)
    assert found["top/gap"].mean == pytest.approx(0.0)


def test_the_table_marks_what_is_supported():
    text = make_markdown(TABLE, (101, 202, 303))
    rows = {line.split("|")[1].strip(): line for line in text.splitlines()[2:]}
    assert (
        "| 60.00 ± 10.00 | 50.00 ± 9.54 | **+10.00 [+7.52, +12.48]** |" in rows["all"]
    )
    assert "**" not in rows["level 9, gap"]
    assert "**" not in rows[LEVEL]
    assert "101, 202, 303" in text
    single = {arm: {"all": row["all"][:1]} for arm, row in TABLE.items()}
    assert "| 50.00 | 40.00 | +10.00 |" in make_markdown(single, (101,))


@pytest.mark.parametrize("num_seeds", [1, 3])
def test_the_figure_is_drawn(tmp_path, num_seeds):
    table = {
        arm: {column: values[:num_seeds] for column, values in row.items()}
        for arm, row in TABLE.items()
    }
    draw_ablation(table, tmp_path / "figure.png")
    with Image.open(tmp_path / "figure.png") as image:
        assert image.convert("L").getextrema() == (0, 255)


def test_arms_have_names_that_exist_and_differ_in_what_they_say():
    for arms in ABLATIONS.values():
        assert len({arm.name for arm in arms}) == len(arms)
        for arm in arms:
            assert arm.objective in OBJECTIVES
            assert arm.reconstructor in RECONSTRUCTORS
            arm.change(LAPTOP)
    readings = [arm.profile["teacher_distance"] for arm in ABLATIONS["reading"]]
    assert readings == ["radians", "raw", "mean", "radians", "radians"]
    # Nobody's weights are made smaller behind the scenes.
    pulls = {arm.change(LAPTOP).perceptive.teacher_pull for arm in ABLATIONS["reading"]}
    assert pulls == {1.0}


def test_impossible_ablations_are_refused(tmp_path):
    good: dict[str, Any] = {
        "ablation": "objectives",
        "output": tmp_path,
        "seeds": (1, 2),
        "teacher": tmp_path,
    }
    assert AblationCfg(**good).evaluation().cells == LEVELS.cells
    for changes, reason in (
        ({"seeds": (1, 1)}, "seeds is 1 1. Give each once"),
        ({"seeds": ()}, "seeds is missing"),
        ({"students": (tmp_path,) * 3}, "3 students for 2 seeds"),
        ({"stage": "student", "students": (tmp_path,)}, "Stage 2 starts from"),
        ({"ablation": "reconstructors", "stage": "student"}, "has no reconstructor"),
        ({"iterations": 0}, "iterations is 0"),
    ):
        with pytest.raises(SoloError, match=reason):
            AblationCfg(**{**good, **changes})
    with pytest.raises(SoloError, match="levels is"):
        AblationCfg(**good, levels=(10,)).evaluation()


@pytest.mark.slow
def test_an_ablation_runs_is_found_and_goes_on(tmp_path, monkeypatch):
    terrain = TerrainSceneCfg(("flat",), num_levels=2, border_m=4.0)
    teacher = TeacherCfg(G1, SMOKE, tmp_path / "teacher", terrain=terrain, iterations=1)
    train_teacher(teacher)
    arms = (ABLATIONS["objectives"][0], ABLATIONS["objectives"][2])
    monkeypatch.setitem(ABLATIONS, "objectives", arms)
    io = ReconstructionIoCfg(depth_shape=(16, 25), query_block=4)
    perception = replace(SMOKE.perception, network={"io": io, **SIZES["qr"]})
    folder = tmp_path / "ablation"
    cfg = AblationCfg(
        ablation="objectives",
        output=folder,
        seeds=(101,),
        profile=replace(SMOKE, perception=perception),
        teacher=tmp_path / "teacher",
        levels=(0, 9),
        terrains=("flat",),
        rollouts=1,
        device="cpu",
        robot=G1,
        terrain=terrain,
        protocol=replace(LEVELS, limits=replace(LEVELS.limits, time_s=0.2)),
    )
    result = run_ablation(cfg, num_failures=0)
    assert set(result["arms"]) == {"ta-mse", "ppo"}
    assert {"all", "easy", "hard", "top/flat"} <= set(result["arms"]["ppo"])
    assert json.loads((folder / "result.json").read_text()) == json.loads(
        json.dumps(result)
    )
    runs = [json.loads((folder / f"{a.name}-101" / CONFIG).read_text()) for a in arms]
    assert {run["student"] for run in runs} == {str(folder / "start-101/model_1.pt")}
    assert [run["objective"] for run in runs] == ["ta-mse", "ppo"]
    assert {run["seed"] for run in runs} == {101}
    pair = folder / "ppo-and-ta-mse.json"
    assert isinstance(parse_result(pair, json.loads(pair.read_text())), Levels)

    # Again: nothing is trained.
    with monkeypatch.context() as patch:
        for name in ("train_student", "train_perceptive"):
            patch.setattr(ablations, name, None)
        assert run_ablation(cfg, num_failures=0) == result

    # Stopped in the second arm: it goes on from its last checkpoint.
    (folder / "ppo-101" / "model_1.pt").unlink()
    shutil.rmtree(folder / "eval" / "ppo-101")
    assert run_ablation(cfg, num_failures=0)["arms"] == result["arms"]
    resumed = json.loads((folder / "ppo-101" / CONFIG).read_text())["resumed"]
    assert len(resumed) == 1

    with pytest.raises(SoloError, match="iterations is 2 there and 9 here"):
        run_ablation(replace(cfg, iterations=9))
