"""Training end to end at the smallest size, with everything real."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import yaml
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from solo.envs.observations_cfg import Stage
from solo.errors import SoloError
from solo.motions.catalogue import make_clip
from solo.motions.files import save_clip
from solo.robots.g1 import G1
from solo.runs import open_run
from solo.runs.folder import CONFIG, find_checkpoint
from solo.runs.run import acting_weights, load_checkpoint
from solo.stages.curves import read_curves
from solo.stages.train import train_student, train_teacher
from solo.stages.train_cfg import StudentCfg, TeacherCfg
from solo.tasks import env_cfg
from solo.tasks.agent_cfg import OBJECTIVES, make_agent_cfg
from solo.tasks.profiles import LAPTOP, PROFILES, SMOKE, Profile
from solo.terrains import TerrainSceneCfg

pytestmark = pytest.mark.slow

TERRAIN = TerrainSceneCfg(("flat", "stairs_up_30"), num_levels=2, border_m=4.0)


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    output = tmp_path_factory.mktemp("runs") / "teacher"
    cfg = TeacherCfg(G1, SMOKE, output, terrain=TERRAIN)
    return cfg, train_teacher(cfg)


def test_the_papers_profile_is_the_papers():
    assert PROFILES["paper"].differences() == {}
    stages = [Profile().teacher, Profile().student, Profile().perceptive]
    assert [stage.num_envs for stage in stages] == [4096, 4096, 2048]
    assert [stage.iterations for stage in stages] == [50_000, 20_000, 5_000]


def test_a_profile_says_what_it_changes():
    changed = LAPTOP.differences()
    assert changed["teacher.epochs"] == (5, LAPTOP.teacher.epochs)
    assert changed["teacher.num_envs"] == (4096, LAPTOP.teacher.num_envs)
    assert "perception.warm_up_iterations" in changed
    assert "teacher_head" not in changed


def test_a_run_leaves_everything_in_its_folder(teacher):
    cfg, summary = teacher
    assert summary["iteration"] == 1
    assert summary["env_steps"] == 2 * 24 * 8
    config = json.loads((cfg.output / CONFIG).read_text())
    assert config["stage"] == "teacher"
    differences = config["differences_from_the_paper"]
    assert differences["teacher.epochs"] == {"paper": 5, "here": 1}
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
    summary = train_teacher(TeacherCfg(resume=cfg.output, iterations=3))
    assert summary["iteration"] == 2
    assert summary["env_steps"] == 3 * 24 * 8
    after = load_checkpoint(cfg.output / "model_2.pt")
    assert after["infos"]["env"]["common_step_counter"] == 3 * 24
    old = before["optimizer_state_dict"]["state"][0]["step"]
    new = after["optimizer_state_dict"]["state"][0]["step"]
    assert new == old + 2  # Two mini-batches of one epoch.
    with pytest.raises(SoloError, match="of 3 iterations already"):
        train_teacher(TeacherCfg(resume=cfg.output, iterations=3))


def test_a_teacher_starts_from_another_one_and_is_symmetric(teacher, tmp_path):
    profile = replace(SMOKE, symmetric_teacher=True)
    start, output = teacher[0].output / "model_1.pt", tmp_path / "next"
    cfg = TeacherCfg(
        G1,
        profile,
        output,
        terrain=TERRAIN,
        iterations=1,
        start_from=start,
    )
    train_teacher(cfg)
    before = load_checkpoint(start)
    after = load_checkpoint(output / "model_0.pt")
    steps = before["infos"]["env"]["common_step_counter"]
    assert after["infos"]["env"]["common_step_counter"] == steps + 24
    old, new = (s["optimizer_state_dict"]["state"][0]["step"] for s in (before, after))
    assert new == old + 2  # Two mini-batches of one epoch.
    assert before["actor_state_dict"].keys() == after["actor_state_dict"].keys()
    params = yaml.safe_load((output / "params" / "agent.yaml").read_text())
    assert len(params["actor"]["mirror"]["actions"]["source"]) == 25
    assert json.loads((output / CONFIG).read_text())["start_from"] == str(start)
    lone = tmp_path / start.name  # Nothing beside it says what sizes it has.
    lone.write_bytes(start.read_bytes())
    with pytest.raises(SoloError, match=r"run\.json"):
        train_teacher(replace(cfg, output=tmp_path / "small", start_from=lone))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_student_and_its_baselines_train(teacher, tmp_path, objective):
    teacher_run, output = teacher[0].output, tmp_path / "student"
    cfg = StudentCfg(
        G1,
        SMOKE,
        output,
        terrain=TERRAIN,
        teacher=teacher_run,
        objective=objective,
    )
    summary = train_student(cfg)
    assert summary["iteration"] == 1
    student = load_checkpoint(output / "model_1.pt")
    expert = load_checkpoint(find_checkpoint(teacher_run))
    past, now = expert["infos"]["env"], student["infos"]["env"]
    # It goes on easing in where the teacher was, and nobody holds it.
    assert now["common_step_counter"] == past["common_step_counter"] + 2 * 24
    assert "assist" in past
    assert "assist" not in now
    saved, expected = student["teacher_state_dict"], acting_weights(expert)
    assert saved.keys() == expected.keys()
    for name, value in saved.items():
        assert torch.equal(value, expected[name]), name  # Frozen to the bit.
    events = EventAccumulator(str(output))
    events.Reload()
    gaps = [events.Scalars(f"Loss/teacher_gap_on/{t}") for t in TERRAIN.variants]
    assert all(gap[-1].value > 0.0 for gap in gaps)


def test_how_much_a_teacher_counts_is_the_profiles():
    def settings(objective, stage: Stage = "student"):
        cfg = make_agent_cfg(G1, stage, LAPTOP, objective=objective)
        algorithm = cfg.algorithm
        return (
            algorithm["mse_weight"],
            algorithm["penalty_weight"],
            algorithm["desired_kl"],
            cfg.actor["distribution_cfg"]["init_std"],
        )

    # The same action std and KL target for all objectives.

    assert settings("ta-mse") == (5.0, 1.0, 0.1, 0.3)
    assert settings("ta-mse", "perceptive") == (0.2, 0.04, 0.02, 0.3)
    assert settings("mse-ppo", "perceptive") == (0.2, 0.0, 0.02, 0.3)
    assert settings("ppo") == (0.0, 0.0, 0.1, 0.3)
    assert make_agent_cfg(G1, "teacher", LAPTOP).algorithm["desired_kl"] == 0.02


def test_a_distance_in_radians_has_the_scales_of_the_actions():
    paper, laptop = (
        make_agent_cfg(G1, "student", profile).algorithm
        for profile in (PROFILES["paper"], LAPTOP)
    )
    assert (paper["distance"], laptop["distance"]) == ("radians", "raw")
    scales = dict(zip(G1.joint_names, paper["action_scale"], strict=True))
    knee = next(
        actuator
        for actuator in G1.actuators
        if any("knee" in pattern for pattern in actuator.target_names_expr)
    )
    assert knee.effort_limit is not None
    expected = 0.25 * knee.effort_limit / knee.stiffness
    assert scales["left_knee_joint"] == pytest.approx(expected)


def test_more_robots_where_they_are_wanted(tmp_path):
    weights = {"stairs_up_30": 2.0}
    cfg = TeacherCfg(G1, SMOKE, tmp_path, terrain=TERRAIN, terrain_weights=weights)
    train_teacher(replace(cfg, iterations=1))
    types = load_checkpoint(tmp_path / "model_0.pt")["infos"]["env"]["terrain_types"]
    assert types.bincount().tolist() == [1 + 2, 1 + 4]
    assert json.loads((tmp_path / CONFIG).read_text())["terrain_weights"] == weights


def test_a_run_keeps_its_own_clips(tmp_path, monkeypatch):
    file, output = tmp_path / "walk.npz", tmp_path / "run"
    save_clip(make_clip(G1, "walk_forward_0.50"), file)
    monkeypatch.setattr(env_cfg, "make_clips", lambda *_, **__: pytest.fail("made"))
    monkeypatch.chdir(tmp_path)
    clips = (Path("walk.npz"),)
    cfg = TeacherCfg(G1, SMOKE, output, terrain=TERRAIN, iterations=1, motions=clips)
    train_teacher(cfg)
    assert json.loads((output / CONFIG).read_text())["motions"] == [str(file)]
    monkeypatch.chdir(output)  # Where there is no walk.npz.
    robot = open_run(output).robot
    assert env_cfg.make_motions(robot, "cpu").names == ("walk_forward_0.50",)
    assert train_teacher(TeacherCfg(resume=output, iterations=2))["iteration"] == 1
    file.unlink()
    with pytest.raises(SoloError, match=r"There is no motion file .*walk\.npz"):
        train_teacher(TeacherCfg(resume=output, iterations=3))


def test_legs_without_a_gait_train_without_amp(tmp_path):
    robot, output = "tests.robots.test_robot_own:BIPED", tmp_path / "run"
    cfg = TeacherCfg(robot, SMOKE, output, terrain=TERRAIN, iterations=1)
    with pytest.raises(SoloError, match=r"3 joints lead.*motions of .*without AMP"):
        train_teacher(cfg)
    train_teacher(replace(cfg, amp=False))
    assert train_teacher(TeacherCfg(resume=output, iterations=2))["iteration"] == 1
    events = yaml.safe_load((output / "params" / "env.yaml").read_text())["events"]
    assert "reset_to_reference" not in events
    assert "amp_state_dict" not in load_checkpoint(output / "model_1.pt")


def test_legs_that_do_not_reach_have_no_motions():
    floating = replace(G1, base_height_m=G1.base_height_m + 0.3)
    assert env_cfg.find_motions(floating, "cpu") is None


def test_a_missing_teacher_gets_one_line(tmp_path):
    cfg = StudentCfg(G1, SMOKE, tmp_path / "student", teacher=tmp_path / "nothing")
    with pytest.raises(SoloError, match="no checkpoint"):
        train_student(cfg)


def test_curves_are_drawn_and_kept_small(teacher, tmp_path):
    from solo.cli.curves import TrainCurves

    folder = teacher[0].output
    picture, log = tmp_path / "curves.png", tmp_path / "log"
    result = TrainCurves((folder,), output=picture, log=log).run()
    means = result["means"][folder.name]
    assert means["Policy/mean_std"] == pytest.approx(0.5, abs=0.05)
    assert picture.stat().st_size > 10_000
    whole, kept = read_curves(folder), read_curves(log)
    assert whole.keys() == kept.keys()
    tag = "Loss/learning_rate"
    # Fewer than 10 iterations: one mean, at the last of them.
    assert kept[tag].values == pytest.approx([whole[tag].values.mean()])
    assert kept[tag].iterations.tolist() == [whole[tag].iterations[-1]]
    with pytest.raises(SoloError, match="not empty"):
        TrainCurves((folder,), output=picture, log=log).run()
    with pytest.raises(SoloError, match="no curves"):
        TrainCurves((tmp_path,), output=picture).run()
