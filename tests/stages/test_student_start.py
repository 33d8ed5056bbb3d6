"""Students that begin with the weights of a bundle or of another run."""

from __future__ import annotations

import pytest
import torch

from solo.bundles import shipped_bundle, shipped_teacher
from solo.cli.train import TrainStudent, TrainTeacher
from solo.errors import SoloError
from solo.export.read import read_reconstructor, read_student
from solo.networks.reconstruction import make_reconstructor
from solo.robots.g1 import G1
from solo.stages.perceptive import load_pretrained
from solo.stages.perceptive_cfg import PERCEPTION, make_io
from solo.stages.profiles import LAPTOP, SMOKE
from solo.stages.run_folder import find_checkpoint
from solo.stages.runner import Runner, load_checkpoint
from solo.stages.student import train_student
from solo.stages.teacher import train_teacher
from solo.stages.train import TrainCfg
from solo.terrains import TerrainSceneCfg

pytestmark = pytest.mark.slow

TERRAIN = TerrainSceneCfg(("flat", "stairs_up_30"), num_levels=2, border_m=4.0)


@pytest.fixture
def started(monkeypatch):
    """Stops a run where learning would begin; gives its runner's checkpoint."""
    seen = {}

    def stop(runner: Runner, iterations: int) -> None:
        seen["rate"] = runner.alg.learning_rate
        runner.save(str(seen["path"]))

    monkeypatch.setattr(Runner, "learn", stop)
    return seen


def small(profile, output):
    return TrainCfg(G1, profile, output, terrain=TERRAIN, num_envs=4)


def test_from_a_bundle_and_then_from_a_run(started, tmp_path):
    bundle, teacher = (
        shipped_bundle(),
        load_checkpoint(find_checkpoint(shipped_teacher())),
    )
    assert bundle is not None
    started["path"] = tmp_path / "model_0.pt"
    cfg = small(LAPTOP, tmp_path / "first")
    train_student(cfg, shipped_teacher(), start_from=bundle)
    first = load_checkpoint(started["path"])
    student = first["actor_state_dict"]
    for name, value in read_student(bundle).items():
        assert torch.equal(student[name], value), name
    # What the bundle lacks is the teacher's.
    noise = "distribution.std_param"
    assert torch.equal(student[noise], teacher["actor_state_dict"][noise])
    count = "obs_normalizer.count"
    assert student[count] == teacher["actor_state_dict"][count] > 1_000_000
    for name, value in teacher["critic_state_dict"].items():
        assert torch.equal(first["critic_state_dict"][name], value), name
    groups = [s["optimizer_state_dict"]["param_groups"] for s in (first, teacher)]
    assert groups[0][0]["lr"] == groups[1][0]["lr"] == started["rate"] < 1e-3
    now, past = first["infos"]["env"], teacher["infos"]["env"]
    assert now["common_step_counter"] == past["common_step_counter"] * 256 // 4

    # Another student from that one.
    run = tmp_path / "run"
    run.mkdir()
    student[noise] += 1.0
    torch.save(first, run / "model_0.pt")
    cfg = small(LAPTOP, tmp_path / "second")
    train_student(cfg, shipped_teacher(), "ppo", start_from=run, action_noise=0.5)
    second = load_checkpoint(started["path"])["actor_state_dict"]
    for name, value in student.items():
        expected = value * 0.5 / value.mean() if name == noise else value
        torch.testing.assert_close(second[name], expected, rtol=1e-6, atol=0.0)


@pytest.mark.parametrize("problem", ["size", "stage", "truncated", "missing"])
def test_what_does_not_fit_gets_one_line(started, tmp_path, problem):
    bundle = shipped_bundle()
    assert bundle is not None
    start = {"size": bundle, "stage": shipped_teacher()}.get(problem)
    profile = SMOKE if problem == "size" else LAPTOP
    if start is None:
        start = tmp_path / "policy.onnx"
        if problem == "truncated":
            start.write_bytes(bundle.read_bytes()[:10_000])
    teacher = shipped_teacher()
    if problem == "size":  # A teacher of that size, to get as far as the student.
        started["path"] = tmp_path / "model_0.pt"
        train_teacher(small(SMOKE, tmp_path / "teacher"))
        teacher = started["path"]
    expected = "does not fit" if problem in ("size", "stage") else "Cannot read"
    with pytest.raises(SoloError, match=expected) as error:
        train_student(small(profile, tmp_path / "run"), teacher, start_from=start)
    assert "\n" not in str(error.value)


def test_options_that_exclude_each_other(tmp_path):
    with pytest.raises(SoloError, match="both given"):
        TrainStudent(resume=tmp_path, start_from=tmp_path).run()
    with pytest.raises(SoloError, match="without --start-from"):
        TrainTeacher(action_noise=0.3).run()


def test_no_noise_is_no_exploration(started, tmp_path):
    cfg = small(LAPTOP, tmp_path / "run")
    with pytest.raises(SoloError, match="must be above 0"):
        train_teacher(cfg, shipped_teacher(), action_noise=0.0)


def test_a_reconstructor_comes_out_of_a_bundle(tmp_path):
    bundle = shipped_bundle()
    assert bundle is not None
    sizes = make_io(G1, LAPTOP, PERCEPTION["laptop"])
    network = {**PERCEPTION["laptop"].network, "io": sizes}
    model = make_reconstructor("qr", **network)
    load_pretrained(model, "qr", bundle)
    expected = read_reconstructor(bundle)
    assert model.state_dict().keys() == expected.keys()
    for name, value in model.state_dict().items():
        assert torch.equal(value, expected[name]), name
    other = make_reconstructor("start", io=sizes)
    with pytest.raises(SoloError, match="Cannot take") as error:
        load_pretrained(other, "start", bundle)
    assert "\n" not in str(error.value)
