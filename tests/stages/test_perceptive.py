"""Stage 3 end to end at the smallest size: real camera, real checkpoints, resume."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from solo.errors import SoloError
from solo.reconstruction.networks import make_reconstructor
from solo.reconstruction.networks.interface import ReconstructionIoCfg
from solo.robots.g1 import G1
from solo.runs.folder import CONFIG, find_checkpoint
from solo.runs.run import load_checkpoint
from solo.stages.start import load_pretrained
from solo.stages.train import train_perceptive, train_student, train_teacher
from solo.stages.train_cfg import PerceptiveCfg, StudentCfg, TeacherCfg
from solo.tasks.agent_cfg import make_agent_cfg, make_io, with_camera
from solo.tasks.env_cfg import make_motions, make_stage_env_cfg
from solo.tasks.profiles import LAPTOP, PROFILES, SMOKE, Profile
from solo.terrains import TerrainSceneCfg
from tests.reconstruction.networks.helpers import SIZES

TERRAIN = TerrainSceneCfg(("flat", "stairs_up_30"), num_levels=2, border_m=4.0)
IO = ReconstructionIoCfg(depth_shape=(16, 25), query_block=4)


def tiny(name: str) -> Profile:
    """The smoke profile with small images and a small network."""
    network = {"io": IO, **SIZES[name]}
    return replace(SMOKE, perception=replace(SMOKE.perception, network=network))


@pytest.fixture(scope="module")
def student(tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    options = {"terrain": TERRAIN, "iterations": 1}
    train_teacher(TeacherCfg(G1, SMOKE, runs / "teacher", **options))
    cfg = StudentCfg(G1, SMOKE, runs / "student", teacher=runs / "teacher", **options)
    train_student(cfg)
    return runs / "teacher", runs / "student"


@pytest.fixture(scope="module")
def perceptive(student, tmp_path_factory):
    output = tmp_path_factory.mktemp("runs") / "perceptive"
    cfg = PerceptiveCfg(G1, tiny("qr"), output, terrain=TERRAIN, student=student[1])
    return cfg, train_perceptive(cfg)


@pytest.mark.parametrize(
    ("profile", "velocity"),
    [(LAPTOP, "blurred_velocity"), (PROFILES["paper"], "base_velocity")],
)
def test_students_of_the_laptop_alone_see_a_blurred_velocity(profile, velocity):
    motions = make_motions(G1, "cpu")
    groups = make_agent_cfg(G1, "student", profile).obs_groups
    assert groups["actor"] == ("proprioception", velocity, "height_map")
    assert "base_velocity" in groups["teacher"]
    assert "base_velocity" in groups["critic"]
    for stage in ("student", "perceptive"):
        cfg = make_stage_env_cfg(G1, stage, profile, motions, num_envs=2)
        assert velocity in cfg.observations
    cfg = make_stage_env_cfg(G1, "teacher", profile, motions, num_envs=2)
    assert "blurred_velocity" not in cfg.observations


def test_reconstructors_beside_symmetric_students_learn_from_mirror_images():
    mirrors = {}
    for profile in (LAPTOP, replace(LAPTOP, symmetric=False), PROFILES["paper"]):
        cfg = make_agent_cfg(G1, "perceptive", profile)
        assert ("mirror" in cfg.actor) == profile.symmetric
        assert cfg.reconstruction is not None
        mirrors[profile.name, profile.symmetric] = cfg.reconstruction["mirror"]
    frame = mirrors.pop(("laptop", True))
    assert len(frame["source"]) == 84
    assert frame["signs"][:6] == [-1.0, 1.0, -1.0, 1.0, -1.0, 1.0]  # Turning, gravity.
    assert list(mirrors.values()) == [None, None]


def test_an_unknown_reconstructor_is_refused_by_name():
    with pytest.raises(SoloError, match="Unknown reconstructor 'lidar'"):
        make_agent_cfg(G1, "perceptive", SMOKE, reconstructor="lidar")


def test_camera_and_map_have_the_sizes_of_the_profile():
    sizes = make_io(G1, LAPTOP)
    assert sizes.depth_shape == (32, 57)
    assert sizes.base_height_m == G1.base_height_m
    camera = with_camera(G1, sizes).depth_camera
    assert (camera.output_height, camera.output_width) == (32, 57)
    assert camera.fov_deg == G1.depth_camera.fov_deg


@pytest.mark.parametrize("problem", ["other method", "other size", "truncated"])
def test_a_reconstructor_that_does_not_fit_gets_one_line(tmp_path, problem):
    model = make_reconstructor("qr", io=IO, **SIZES["qr"])
    other_io = replace(IO, depth_shape=(32, 57))
    other = make_reconstructor("qr", io=other_io, **SIZES["qr"])
    method = "start" if problem == "other method" else "qr"
    state = (other if problem == "other size" else model).state_dict()
    path = tmp_path / "checkpoint.pt"
    torch.save({"cfg": {"method": method}, "model": state}, path)
    if problem == "truncated":
        path.write_bytes(path.read_bytes()[:1000])
    expected = "is 'start', not 'qr'" if method == "start" else "Cannot take"
    with pytest.raises(SoloError, match=expected) as error:
        load_pretrained(model, "qr", tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_a_reconstructor_comes_out_of_another_run_of_the_stage(perceptive):
    folder = perceptive[0].output
    model = make_reconstructor("qr", io=IO, **SIZES["qr"])
    load_pretrained(model, "qr", folder)
    saved = load_checkpoint(find_checkpoint(folder))["reconstructor"]["model"]
    for name, value in model.state_dict().items():
        assert torch.equal(value, saved[name]), name
    other = make_reconstructor("start", io=IO)
    with pytest.raises(SoloError, match="is 'qr', not 'start'"):
        load_pretrained(other, "start", folder)


@pytest.mark.slow
def test_a_run_has_a_student_a_reconstructor_and_its_diagnostics(student, perceptive):
    cfg, summary = perceptive
    assert summary["iteration"] == 1
    config = json.loads((cfg.output / CONFIG).read_text())
    assert config["stage"] == "perceptive"
    assert config["reconstructor"]["name"] == "qr"
    saved = load_checkpoint(cfg.output / "model_1.pt")
    before = load_checkpoint(find_checkpoint(student[1]))
    for name, value in before["teacher_state_dict"].items():
        assert torch.equal(saved["teacher_state_dict"][name], value), name
    old, new = before["actor_state_dict"], saved["actor_state_dict"]
    assert {k: v.shape for k, v in old.items()} == {k: v.shape for k, v in new.items()}
    assert any(not torch.equal(old[k], new[k]) for k in old)
    # Samples go on counting: 8 environments before, 4 now.
    steps = before["infos"]["env"]["common_step_counter"]
    assert saved["infos"]["env"]["common_step_counter"] == 2 * steps + 2 * 24

    # The optimiser goes on, with what it has learned of step sizes.
    done, more = (
        float(c["optimizer_state_dict"]["state"][0]["step"]) for c in (before, saved)
    )
    assert more == 3 * done  # One iteration of stage 2, two of stage 3.

    state = saved["reconstructor"]
    assert state["iteration"] == 2
    assert state["optimizer"]["state"][0]["step"] == 2 * 2
    # Its statistics of proprioception are the student's of stage 2.
    mean = old["obs_normalizer._mean"][0, :84]
    torch.testing.assert_close(state["model"]["normalizer.mean"], mean)

    events = EventAccumulator(str(cfg.output))
    events.Reload()
    tags = set(events.Tags()["scalars"])
    assert {
        "Loss/recon_height_cm",
        "Loss/recon_velocity",
        "Loss/recon_height_cm_on/stairs_up_30",
        "Loss/teacher_gap_on/flat",
        "Loss/depth_zeroed_gap",
        "Loss/depth_shuffled_map_cm",
    } <= tags


@pytest.mark.slow
def test_resume_needs_no_student_and_goes_on(perceptive):
    cfg, _ = perceptive
    before = load_checkpoint(cfg.output / "model_1.pt")["reconstructor"]
    with pytest.raises(SoloError, match="of stage 'perceptive', not 'teacher'"):
        train_teacher(TeacherCfg(resume=cfg.output))
    summary = train_perceptive(PerceptiveCfg(resume=cfg.output, iterations=3))
    assert summary["iteration"] == 2
    after = load_checkpoint(cfg.output / "model_2.pt")["reconstructor"]
    assert (before["iteration"], after["iteration"]) == (2, 3)
    old, new = before["optimizer"]["state"][0], after["optimizer"]["state"][0]
    assert new["step"] == old["step"] + 2


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_bits(perceptive, tmp_path):
    cfg, _ = perceptive
    killed = tmp_path / "killed"
    killed.mkdir()
    for name in (CONFIG, "model_0.pt"):
        shutil.copy(cfg.output / name, killed)
    shutil.copytree(cfg.output / "params", killed / "params")
    train_perceptive(PerceptiveCfg(resume=killed, iterations=2))
    straight = load_checkpoint(cfg.output / "model_1.pt")
    resumed = load_checkpoint(killed / "model_1.pt")
    for part in ("actor_state_dict", "critic_state_dict"):
        for name, value in straight[part].items():
            assert torch.equal(value, resumed[part][name]), f"{part} {name}"
    for name, value in straight["reconstructor"]["model"].items():
        assert torch.equal(value, resumed["reconstructor"]["model"][name]), name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["start", "dpl"])
def test_the_other_reconstructors_train_from_a_pretrained_one(student, tmp_path, name):
    sizes = make_io(G1, tiny(name))
    model = make_reconstructor(name, io=sizes, **SIZES[name])
    model.set_statistics(torch.full((84,), 0.25), torch.full((84,), 2.0))
    torch.save(
        {"cfg": {"method": name}, "model": model.state_dict()},
        tmp_path / "checkpoint.pt",
    )
    cfg = PerceptiveCfg(
        G1,
        tiny(name),
        tmp_path / name,
        terrain=TERRAIN,
        iterations=1,
        student=student[1],
        reconstructor=name,
        objective="mse-ppo",
        reconstructor_checkpoint=tmp_path,
    )
    train_perceptive(cfg)
    state = load_checkpoint(tmp_path / name / "model_0.pt")["reconstructor"]
    assert (state["model"]["normalizer.mean"] == 0.25).all()  # Its own statistics.


@pytest.mark.slow
def test_a_student_that_is_none_gets_one_line(student, tmp_path):
    cfg = PerceptiveCfg(G1, tiny("qr"), tmp_path / "run", student=student[0])
    with pytest.raises(SoloError, match="is a teacher, not a student"):
        train_perceptive(cfg)
