"""A run is opened from what it saved and nothing else."""

from __future__ import annotations

import json
import shutil
from copy import deepcopy
from dataclasses import asdict

import pytest
import torch
import yaml

from solo.algorithms.ppo_amp import AVERAGED
from solo.bundles import shipped_bundle, shipped_teacher
from solo.errors import SoloError
from solo.robots.g1 import G1
from solo.runs import open_run
from solo.runs.run import Run
from solo.runs.saved import profile_from, restore
from solo.stages.train import plain
from solo.tasks.env_cfg import make_stage_env_cfg
from solo.tasks.profiles import LAPTOP, PROFILES, SMOKE
from tests.evaluation.runs import write_perceptive_run, write_run


@pytest.mark.parametrize("profile", PROFILES.values(), ids=list(PROFILES))
def test_profiles_survive_json(profile):
    assert profile_from(json.loads(json.dumps(asdict(profile)))) == profile


def test_settings_that_are_unknown_are_told(caplog):
    saved = {**asdict(SMOKE), "gravity": 3.7}
    assert profile_from(saved) == SMOKE
    assert "profile has settings that this version does not know: gravity = 3.7" in (
        caplog.text
    )


def test_the_shipped_teachers_profile_has_nothing_unknown(caplog):
    saved = json.loads((shipped_teacher() / "run.json").read_text())["profile"]
    assert profile_from(saved).teacher == LAPTOP.teacher
    assert not caplog.text


def test_a_profile_of_earlier_versions_keeps_its_settings(caplog):
    """What was one setting for all stages, or had another form."""
    saved = json.loads(json.dumps(asdict(LAPTOP)))
    for stage in ("teacher", "student", "perceptive"):
        for name in ("epochs", "mini_batches", "average_over", "max_std"):
            del saved[stage][name]
    del saved["end_beyond_patch_m"], saved["restart_level"]
    saved |= {"epochs": 2, "mini_batches": 4, "end_at_patch": True}
    saved["max_std"] = [[0.0, 0.8], [40e6, 0.2]]
    profile = profile_from(saved)
    assert profile.teacher.max_std == ((0.0, 0.8), (40e6, 0.2))
    assert profile.student.max_std is None
    for stage in (profile.teacher, profile.student, profile.perceptive):
        assert (stage.epochs, stage.mini_batches, stage.average_over) == (2, 4, None)
    assert (profile.end_beyond_patch_m, profile.restart_level) == (0.0, 0)
    assert not caplog.text


def test_a_saved_environment_wins_over_todays(caplog):
    today = make_stage_env_cfg(G1, "teacher", SMOKE)
    saved = plain(asdict(today))
    assert plain(asdict(restore(deepcopy(today), saved))) == saved
    robot = restore(deepcopy(today), saved).scene.entities["robot"]
    assert robot.articulation == today.scene.entities["robot"].articulation
    assert not caplog.text
    saved["rewards"]["fly"]["weight"] = -7.0
    saved["scene"]["terrain"]["scene"]["variants"] = ["flat", "gap", "boxes"]
    del saved["rewards"]["feet_slide"]
    saved["rewards"]["energy"]["params"]["gone"] = 3
    restored = restore(deepcopy(today), saved)
    assert restored.rewards["fly"].weight == -7.0
    assert restored.rewards["fly"].func is today.rewards["fly"].func
    assert restored.scene.terrain.scene.variants == ("flat", "gap", "boxes")
    assert "feet_slide" not in restored.rewards
    assert "env.rewards.energy.params has settings that this" in caplog.text
    saved["rewards"]["mine"] = {"func": "my_package:mine", "weight": 1.0, "params": {}}
    with pytest.raises(SoloError, match=r"env\.rewards has mine"):
        restore(deepcopy(today), saved)


def test_the_shipped_teacher_opens_by_name():
    run = open_run("shipped-teacher")
    assert run.folder == shipped_teacher()
    assert (run.stage, run.iteration, run.robot.name) == ("teacher", 500, "g1")
    assert run.profile.teacher == LAPTOP.teacher
    assert run.agent.actor["ame_cfg"]["map_stride"] == 4
    weights = run.state[AVERAGED]
    for name, value in run.networks.actor.state_dict().items():
        assert torch.equal(value, weights[name]), name
    assert "obs_normalizer._mean" in run.networks.actor.state_dict()
    assert run.networks.student is run.networks.reconstructor is None
    cfg = run.env_cfg()
    saved = yaml.safe_load((run.folder / "params" / "env.yaml").read_text())
    assert list(cfg.rewards) == list(saved["rewards"])
    assert (cfg.decimation, cfg.scene.num_envs) == (2, 512)


def test_the_shipped_policy_opens_by_name():
    run = open_run("shipped")
    assert run.path == shipped_bundle()
    assert run.is_bundle
    assert run.stage == "perceptive"
    assert run.networks.teacher is None
    assert run.networks.student is not None
    assert run.networks.reconstructor is not None
    with pytest.raises(SoloError, match="has no environment"):
        run.env_cfg()


def test_a_bundle_of_another_version_cannot_become_torch_modules():
    run = open_run("shipped")
    run.metadata["architecture"]["reconstructor"]["fields"]["map_stride"] = 2
    with pytest.raises(SoloError, match=r"not those of this version.*map_stride"):
        _ = run.networks


@pytest.mark.parametrize("stage", ["teacher", "student"])
def test_networks_are_those_that_were_saved(stage, tmp_path):
    run = open_run(write_run(tmp_path / "run", stage))
    weights = torch.load(run.path)["actor_state_dict"]
    for name, value in run.networks.actor.state_dict().items():
        assert torch.equal(value, weights[name]), name
    assert (run.networks.student is None) == (stage == "teacher")


def test_averaged_weights_act_where_a_run_has_them(tmp_path):
    run = open_run(write_run(tmp_path / "run", "teacher"))
    state = torch.load(run.path)
    state[AVERAGED] = {k: v + 1 for k, v in state["actor_state_dict"].items()}
    torch.save(state, run.path)
    networks = open_run(run.path).networks
    for name, value in networks.actor.state_dict().items():
        assert torch.equal(value, state[AVERAGED][name]), name


def test_a_perceptive_run_has_a_reconstructor_and_its_camera(tmp_path):
    run = open_run(write_perceptive_run(tmp_path / "run"))
    reconstructor = run.networks.reconstructor
    assert reconstructor is not None
    camera = run.robot.depth_camera
    shape = (camera.output_height, camera.output_width)
    assert shape == reconstructor.io.depth_shape


@pytest.mark.parametrize("problem", ["missing", "unknown", "foreign", "other size"])
def test_networks_that_cannot_be_built_get_one_line(tmp_path, problem):
    folder = write_run(tmp_path / "run", "teacher")
    file = folder / "params" / "agent.yaml"
    agent = yaml.safe_load(file.read_text())
    if problem == "unknown":
        agent["actor"]["dropout"] = 0.1
    if problem == "foreign":
        agent["actor"]["class_name"] = "antigravity:Model"
    if problem == "other size":
        agent["actor"]["hidden_dims"] = [3]
    file.write_text(yaml.safe_dump(agent))
    if problem == "missing":
        shutil.rmtree(folder / "params")
    expected = {
        "missing": "Cannot read",
        "unknown": "dropout",
        "foreign": "not one of ours",
        "other size": "size mismatch",
    }[problem]
    with pytest.raises(SoloError, match=expected) as error:
        Run.open(folder / "model_3.pt").networks  # noqa: B018 - Builds them.
    assert "\n" not in str(error.value)
