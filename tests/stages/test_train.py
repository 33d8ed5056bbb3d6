"""Training end to end at the smallest size, with everything real."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
import yaml
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from solo.errors import SoloError
from solo.robots.g1 import G1
from solo.stages.curves import read_curves
from solo.stages.learning_cfg import make_student_cfg, make_teacher_cfg
from solo.stages.profiles import LAPTOP, PROFILES, SMOKE, Profile
from solo.stages.run_folder import CONFIG, find_checkpoint
from solo.stages.runner import load_checkpoint
from solo.stages.student import OBJECTIVES, train_student
from solo.stages.teacher import train_teacher
from solo.stages.train import TrainCfg
from solo.terrains import TerrainSceneCfg

pytestmark = pytest.mark.slow

TERRAIN = TerrainSceneCfg(("flat", "stairs_up_30"), num_levels=2, border_m=4.0)


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    output = tmp_path_factory.mktemp("runs") / "teacher"
    cfg = TrainCfg(G1, SMOKE, output, terrain=TERRAIN)
    return cfg, train_teacher(cfg)


def test_the_papers_profile_is_the_papers():
    assert PROFILES["paper"].differences() == {}
    assert Profile().num_envs == (4096, 4096, 2048)
    assert Profile().iterations == (50_000, 20_000, 5_000)


def test_a_profile_says_what_it_changes():
    changed = LAPTOP.differences()
    assert changed["epochs"] == (5, LAPTOP.epochs)
    assert "teacher_head" not in changed


def test_a_run_leaves_everything_in_its_folder(teacher):
    cfg, summary = teacher
    assert summary["iteration"] == 1
    assert summary["env_steps"] == 2 * 24 * 8
    config = json.loads((cfg.output / CONFIG).read_text())
    assert config["stage"] == "teacher"
    assert config["differences_from_the_paper"]["epochs"] == {"paper": 5, "here": 1}
    saved = load_checkpoint(cfg.output / "model_1.pt")
    for key in ("actor_state_dict", "critic_state_dict", "optimizer_state_dict"):
        assert key in saved
    assert {"discriminator", "replay", "optimizer"} <= set(saved["amp_state_dict"])
    assert {"env", "rng", "solo_version"} <= set(saved["infos"])
    assert list(cfg.output.glob("events.out.tfevents*"))
    params = yaml.safe_load((cfg.output / "params" / "env.yaml").read_text())
    assert params["rewards"]["feet_stumble"]["weight"] == -5.0
    assert (cfg.output / "params" / "agent.yaml").is_file()


def test_resume_goes_on_where_it_was(teacher):
    cfg, _ = teacher
    before = load_checkpoint(cfg.output / "model_1.pt")
    summary = train_teacher(replace(cfg, resume=True, iterations=3))
    assert summary["iteration"] == 2
    assert summary["env_steps"] == 3 * 24 * 8
    after = load_checkpoint(cfg.output / "model_2.pt")
    assert after["infos"]["env"]["common_step_counter"] == 3 * 24
    old = before["optimizer_state_dict"]["state"][0]["step"]
    new = after["optimizer_state_dict"]["state"][0]["step"]
    assert new == old + 2  # Two mini-batches of one epoch.
    with pytest.raises(SoloError, match="of 3 iterations already"):
        train_teacher(replace(cfg, resume=True, iterations=3))


def test_a_teacher_starts_from_another_one_and_is_symmetric(teacher, tmp_path):
    profile = replace(SMOKE, symmetric_teacher=True)
    cfg = TrainCfg(G1, profile, tmp_path / "next", terrain=TERRAIN, iterations=1)
    start = teacher[0].output / "model_1.pt"
    train_teacher(cfg, start)
    before = load_checkpoint(start)
    after = load_checkpoint(cfg.output / "model_0.pt")
    steps = before["infos"]["env"]["common_step_counter"]
    assert after["infos"]["env"]["common_step_counter"] == steps + 24
    old, new = (s["optimizer_state_dict"]["state"][0]["step"] for s in (before, after))
    assert new == old + 2  # Two mini-batches of one epoch.
    assert before["actor_state_dict"].keys() == after["actor_state_dict"].keys()
    params = yaml.safe_load((cfg.output / "params" / "agent.yaml").read_text())
    assert len(params["actor"]["mirror"]["actions"]["source"]) == 25
    assert json.loads((cfg.output / CONFIG).read_text())["start_from"] == str(start)
    small = replace(cfg, output=tmp_path / "small")
    wider = replace(small, profile=replace(profile, teacher_head=(7,)))
    with pytest.raises(SoloError, match="teacher to start from does not fit"):
        train_teacher(wider, start)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_student_and_its_baselines_train(teacher, tmp_path, objective):
    cfg = TrainCfg(G1, SMOKE, tmp_path / "student", terrain=TERRAIN)
    teacher_run = teacher[0].output
    summary = train_student(cfg, teacher_run, objective)
    assert summary["iteration"] == 1
    student = load_checkpoint(cfg.output / "model_1.pt")
    expert = load_checkpoint(find_checkpoint(teacher_run))
    past, now = expert["infos"]["env"], student["infos"]["env"]
    # It goes on easing in where the teacher was, and nobody holds it.
    assert now["common_step_counter"] == past["common_step_counter"] + 2 * 24
    assert "assist" in past
    assert "assist" not in now
    saved, expected = student["teacher_state_dict"], expert["actor_state_dict"]
    assert saved.keys() == expected.keys()
    for name, value in saved.items():
        assert torch.equal(value, expected[name]), name  # Frozen to the bit.
    events = EventAccumulator(str(cfg.output))
    events.Reload()
    gaps = [events.Scalars(f"Loss/teacher_gap_on/{t}") for t in TERRAIN.variants]
    assert all(gap[-1].value > 0.0 for gap in gaps)


def test_how_much_a_teacher_counts_is_the_profiles():
    def settings(objective, **stage):
        cfg = make_student_cfg(G1, LAPTOP, None, *OBJECTIVES[objective], **stage)
        algorithm = cfg["algorithm"]
        return (
            algorithm["mse_weight"],
            algorithm["penalty_weight"],
            algorithm["desired_kl"],
            cfg["actor"]["distribution_cfg"]["init_std"],
        )

    assert settings("ta-mse") == (5.0, 1.0, 0.1, 0.3)
    assert settings("ta-mse", is_perceptive=True) == (0.2, 0.04, 0.02, 0.3)
    assert settings("mse-ppo", is_perceptive=True) == (0.2, 0.0, 0.02, 0.3)
    assert settings("ppo") == (0.0, 0.0, 0.01, 0.8)
    assert make_teacher_cfg(G1, LAPTOP, None)["algorithm"]["desired_kl"] == 0.01


def test_more_robots_where_they_are_wanted(tmp_path):
    weights = {"stairs_up_30": 2.0}
    cfg = TrainCfg(G1, SMOKE, tmp_path, terrain=TERRAIN, terrain_weights=weights)
    train_teacher(replace(cfg, iterations=1))
    types = load_checkpoint(tmp_path / "model_0.pt")["infos"]["env"]["terrain_types"]
    assert types.bincount().tolist() == [1 + 2, 1 + 4]
    assert json.loads((tmp_path / CONFIG).read_text())["terrain_weights"] == weights


def test_a_missing_teacher_gets_one_line(tmp_path):
    cfg = TrainCfg(G1, SMOKE, tmp_path / "student", terrain=TERRAIN)
    with pytest.raises(SoloError, match="no checkpoint"):
        train_student(cfg, tmp_path / "nothing")


def test_curves_are_drawn_and_kept_small(teacher, tmp_path):
    from solo.cli.train_curves import TrainCurves

    folder = teacher[0].output
    picture, log = tmp_path / "curves.png", tmp_path / "log"
    result = TrainCurves(folder, output=picture, log=log).run()
    assert result["Policy/mean_std"] == pytest.approx(0.5, abs=0.05)
    assert picture.stat().st_size > 10_000
    whole, kept = read_curves(folder), read_curves(log)
    assert whole.keys() == kept.keys()
    tag = "Loss/learning_rate"
    # Fewer than 10 iterations: one mean, at the last of them.
    assert kept[tag].values == pytest.approx([whole[tag].values.mean()])
    assert kept[tag].iterations.tolist() == [whole[tag].iterations[-1]]
    with pytest.raises(SoloError, match="not empty"):
        TrainCurves(folder, output=picture, log=log).run()
    with pytest.raises(SoloError, match="no curves"):
        TrainCurves(tmp_path, output=picture).run()
