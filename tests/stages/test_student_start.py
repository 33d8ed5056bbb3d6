"""Students that begin with the weights of a bundle or of another run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from solo.bundles import SHIPPED, SHIPPED_TEACHER, shipped_bundle, shipped_teacher
from solo.errors import FieldError, SoloError
from solo.export.read import read_reconstructor, read_student
from solo.networks.ame import AmeCfg
from solo.reconstruction.networks import make_reconstructor
from solo.robots.g1 import G1
from solo.runs.folder import find_checkpoint
from solo.runs.run import acting_weights, load_checkpoint
from solo.stages.runner import Runner
from solo.stages.start import load_pretrained
from solo.stages.train import train_student, train_teacher
from solo.stages.train_cfg import PerceptiveCfg, StudentCfg, TeacherCfg
from solo.tasks.agent_cfg import make_io
from solo.tasks.profiles import LAPTOP
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


def small(profile, output, **options):
    return StudentCfg(G1, profile, output, terrain=TERRAIN, num_envs=4, **options)


def test_from_a_bundle_and_then_from_a_run(started, tmp_path):
    bundle, teacher = (
        shipped_bundle(),
        load_checkpoint(find_checkpoint(shipped_teacher())),
    )
    assert bundle is not None
    started["path"] = tmp_path / "model_0.pt"
    # Whatever sizes the profile has by now, a run goes on with those it starts from.
    ame = AmeCfg(dim=16, num_heads=2, window_m=0.1)
    grown = replace(LAPTOP, ame=ame, teacher_head=(8,), critic_near_x_m=(0.0, 0.5))
    teacher_name = Path(SHIPPED_TEACHER)
    train_student(
        small(grown, tmp_path / "first", teacher=teacher_name, start_from=Path(SHIPPED))
    )
    first = load_checkpoint(started["path"])
    student = first["actor_state_dict"]
    for name, value in read_student(bundle).items():
        assert torch.equal(student[name], value), name
    # What the bundle lacks is the teacher's.
    noise = "distribution.std_param"
    assert torch.equal(student[noise], acting_weights(teacher)[noise])
    count = "obs_normalizer.count"
    assert student[count] == acting_weights(teacher)[count] > 1_000_000
    # The shipped teacher's critic sees holes; students get a new one.
    widths = [
        s["critic_state_dict"]["obs_normalizer._mean"].shape[1]
        for s in (first, teacher)
    ]
    assert widths[0] < widths[1]
    groups = [s["optimizer_state_dict"]["param_groups"] for s in (first, teacher)]
    assert groups[0][0]["lr"] == groups[1][0]["lr"] == started["rate"] < 1e-3
    now, past = first["infos"]["env"], teacher["infos"]["env"]
    assert now["common_step_counter"] == past["common_step_counter"] * 512 // 4

    # Another student from that one.
    run = tmp_path / "first"
    student[noise] += 1.0
    torch.save(first, run / "model_0.pt")
    train_student(
        small(
            LAPTOP,
            tmp_path / "second",
            teacher=teacher_name,
            objective="ppo",
            start_from=run,
            action_noise=0.5,
        )
    )
    second = load_checkpoint(started["path"])["actor_state_dict"]
    for name, value in student.items():
        expected = value * 0.5 / value.mean() if name == noise else value
        torch.testing.assert_close(second[name], expected, rtol=1e-6, atol=0.0)


def test_a_critic_that_fits_is_the_teachers(started, tmp_path):
    profile, run = replace(LAPTOP, holes=None), tmp_path / "teacher"
    started["path"] = run / "model_0.pt"
    train_teacher(TeacherCfg(G1, profile, run, terrain=TERRAIN, num_envs=4))
    teacher = load_checkpoint(started["path"])["critic_state_dict"]
    started["path"] = tmp_path / "model_0.pt"
    options = {"teacher": run, "start_from": Path(SHIPPED)}
    train_student(small(profile, tmp_path / "student", **options))
    critic = load_checkpoint(started["path"])["critic_state_dict"]
    assert critic.keys() == teacher.keys()
    for name, value in teacher.items():
        assert torch.equal(critic[name], value), name


@pytest.mark.parametrize("problem", ["stage", "bundle", "truncated", "missing"])
def test_what_does_not_fit_gets_one_line(tmp_path, problem):
    bundle, damaged = shipped_bundle(), tmp_path / "policy.onnx"
    assert bundle is not None
    if problem == "truncated":
        damaged.write_bytes(bundle.read_bytes()[:10_000])
    names: dict[str, dict[str, Path]] = {
        "stage": {"start_from": Path(SHIPPED_TEACHER)},
        "bundle": {"teacher": Path(SHIPPED)},
    }
    runs = {"teacher": Path(SHIPPED_TEACHER)} | names.get(
        problem, {"start_from": damaged}
    )
    expected = {
        "stage": "is a teacher, not a student",
        "bundle": "is a bundle, not a teacher",
        "truncated": "policy.onnx",
        "missing": "no checkpoint",
    }[problem]
    with pytest.raises(SoloError, match=expected) as error:
        train_student(small(LAPTOP, tmp_path / "run", **runs))
    assert "\n" not in str(error.value)


def test_options_that_exclude_each_other(tmp_path):
    with pytest.raises(SoloError, match="start_from is given with resume"):
        StudentCfg(resume=tmp_path, start_from=tmp_path)
    with pytest.raises(SoloError, match="without a policy to start from") as error:
        TeacherCfg(action_noise=0.3)
    assert isinstance(error.value, FieldError)
    assert error.value.as_option.startswith("--action-noise is given")
    with pytest.raises(SoloError, match="must be above 0"):
        TeacherCfg(start_from=tmp_path, action_noise=0.0)
    with pytest.raises(SoloError, match="teacher is missing"):
        StudentCfg()
    with pytest.raises(SoloError, match="student is missing"):
        PerceptiveCfg()


def test_a_reconstructor_comes_out_of_a_bundle(tmp_path):
    bundle = shipped_bundle()
    assert bundle is not None
    sizes = make_io(G1, LAPTOP)
    network = {**LAPTOP.perception.network, "io": sizes}
    name = LAPTOP.perception.reconstructor
    model = make_reconstructor(name, **network)
    load_pretrained(model, name, bundle)
    expected = read_reconstructor(bundle)
    assert model.state_dict().keys() == expected.keys()
    for name, value in model.state_dict().items():
        assert torch.equal(value, expected[name]), name
    other = make_reconstructor("start", io=sizes)
    with pytest.raises(SoloError, match="Cannot take") as error:
        load_pretrained(other, "start", bundle)
    assert "\n" not in str(error.value)
