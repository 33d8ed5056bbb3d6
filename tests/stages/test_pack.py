"""A packed run is small, complete for what comes after it, and never half written."""

from __future__ import annotations

import shutil

import pytest
import torch

from solo.cli.train import TrainPack
from solo.errors import SoloError
from solo.evaluation.policies import open_policy
from solo.robots.g1 import G1
from solo.runs.folder import CONFIG
from solo.runs.run import load_checkpoint
from solo.stages.train import train_student, train_teacher
from solo.stages.train_cfg import StudentCfg, TeacherCfg
from solo.tasks.profiles import SMOKE
from solo.terrains import TerrainSceneCfg

pytestmark = pytest.mark.slow

TERRAIN = TerrainSceneCfg(("flat", "stairs_up_30"), num_levels=2, border_m=4.0)


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """A teacher's configuration, its packed folder, and what packing reported."""
    folder = tmp_path_factory.mktemp("runs")
    cfg = TeacherCfg(G1, SMOKE, folder / "teacher", terrain=TERRAIN)
    train_teacher(cfg)
    packed = folder / "packed"
    return cfg, packed, TrainPack(folder / "teacher", packed).run()


def test_networks_and_curriculum_stay_and_the_rest_goes(packed):
    cfg, folder, report = packed
    whole = load_checkpoint(cfg.output / "model_1.pt")
    light = load_checkpoint(folder / "model_1.pt")
    for part in ("actor_state_dict", "critic_state_dict"):
        for name, value in whole[part].items():
            assert torch.equal(value, light[part][name]), name
    assert light["infos"]["env"].keys() == whole["infos"]["env"].keys()
    assert light["infos"]["env_snapshot"] is None
    assert len(light["amp_state_dict"]["replay"]["rows"]) == 0
    assert len(whole["amp_state_dict"]["replay"]["rows"]) > 0
    assert report["bytes"] < 0.5 * report["bytes_before"]
    assert report["bytes"] == (folder / "model_1.pt").stat().st_size
    assert (folder / CONFIG).read_text() == (cfg.output / CONFIG).read_text()


def test_the_next_stage_begins_as_from_the_whole_run(packed, tmp_path):
    cfg, folder, _ = packed
    students = []
    for start in (cfg.output, folder):
        output = tmp_path / start.name
        run = StudentCfg(
            G1,
            SMOKE,
            output,
            terrain=TERRAIN,
            iterations=1,
            teacher=start,
        )
        train_student(run)
        students.append(load_checkpoint(output / "model_0.pt"))
    for part in ("actor_state_dict", "teacher_state_dict"):
        for name, value in students[0][part].items():
            assert torch.equal(value, students[1][part][name]), name


def test_it_can_be_trained_on(packed, tmp_path):
    _, folder, _ = packed
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    summary = train_teacher(TeacherCfg(resume=copy, iterations=3))
    assert summary["iteration"] == 2
    assert summary["env_steps"] == 3 * 24 * 8


def test_what_is_no_run_or_in_the_way_gets_one_line(packed, tmp_path):
    cfg, folder, _ = packed
    with pytest.raises(SoloError, match="--output is missing"):
        TrainPack(cfg.output).run()
    with pytest.raises(SoloError, match="not empty"):
        TrainPack(cfg.output, folder).run()
    with pytest.raises(SoloError, match="holds no checkpoint"):
        TrainPack(tmp_path, tmp_path / "new").run()
    lone = tmp_path / "lone" / "model_1.pt"
    lone.parent.mkdir()
    shutil.copyfile(cfg.output / "model_1.pt", lone)
    with pytest.raises(SoloError, match=r"no run\.json"):
        TrainPack(lone, tmp_path / "new").run()
    assert not (tmp_path / "new").exists()


def test_a_packed_policy_can_be_evaluated(packed):
    _, folder, _ = packed
    source = open_policy(str(folder))
    assert source.stage == "teacher"
    assert source.robot.name == "g1"
