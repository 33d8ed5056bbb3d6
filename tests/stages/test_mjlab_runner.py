"""mjlab's own train and play, with our tasks."""

from __future__ import annotations

from dataclasses import asdict

import pytest
import torch
from mjlab.rl import RslRlVecEnvWrapper
from mjlab.scripts.train import TrainConfig, run_train
from mjlab.tasks.registry import load_env_cfg, load_rl_cfg, load_runner_cls

from solo.algorithms.ppo_amp import PpoAmp
from solo.envs.grid_terrain import GridTerrainCfg
from solo.envs.make import make_env
from solo.networks.ame_model import AmeModel
from solo.runs import open_run
from solo.tasks.agent_cfg import AgentCfg
from solo.terrains import TerrainSceneCfg
from tests.evaluation.runs import write_run

TEACHER = "Solo-Teacher-Unitree-G1"
TERRAIN = TerrainSceneCfg(("flat",), num_levels=2, border_m=4.0)


def small(task: str, play: bool = False):
    cfg = load_env_cfg(task, play=play)
    cfg.scene.num_envs = 2
    assert isinstance(cfg.scene.terrain, GridTerrainCfg)
    cfg.scene.terrain.scene = TERRAIN
    return cfg


@pytest.mark.slow
def test_mjlabs_train_trains_the_papers_teacher_and_leaves_a_run(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    agent = load_rl_cfg(TEACHER)
    assert isinstance(agent, AgentCfg)
    assert agent.max_iterations == 50_000
    assert agent.algorithm["amp_cfg"]["hidden_dims"] == [1024, 512]
    agent.max_iterations, agent.algorithm["num_learning_epochs"] = 1, 1
    run_train(TEACHER, TrainConfig(env=small(TEACHER), agent=agent), tmp_path)
    run = open_run(tmp_path)
    assert run.stage == "teacher"
    assert isinstance(run.networks.actor, AmeModel)
    assert run.agent.algorithm["num_learning_epochs"] == 1
    assert "amp_state_dict" in run.state
    assert run.env_cfg().scene.num_envs == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "setting"), [("Student", "teacher_run"), ("Perceptive", "student_run")]
)
def test_a_stage_without_the_one_before_ends_with_one_line(
    stage, setting, tmp_path, monkeypatch
):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    task = f"Solo-{stage}-Unitree-G1"
    cfg = TrainConfig(env=small(task), agent=load_rl_cfg(task))
    with pytest.raises(SystemExit, match=f"{setting} is empty. Give a run folder"):
        run_train(task, cfg, tmp_path)


@pytest.mark.slow
def test_mjlabs_play_opens_a_checkpoint_of_any_size(tmp_path):
    folder = write_run(tmp_path / "run", "teacher")  # Of the smoke profile's size.
    env = RslRlVecEnvWrapper(make_env(small(TEACHER, play=True)))
    make_runner = load_runner_cls(TEACHER)
    assert make_runner is not None
    runner = make_runner(env, asdict(load_rl_cfg(TEACHER)), device="cpu")
    assert isinstance(runner.alg, PpoAmp)
    runner.load(str(folder / "model_3.pt"), load_cfg={"actor": True}, strict=True)
    with torch.inference_mode():
        obs = env.get_observations()
        actions = runner.get_inference_policy(device="cpu")(obs)
        expected = open_run(folder).networks.actor(obs)
    assert actions.shape == (2, 25)
    torch.testing.assert_close(actions, expected)
    student = write_run(tmp_path / "student", "student")
    with pytest.raises(SystemExit, match="is of stage 'student'"):
        runner.load(str(student / "model_3.pt"), load_cfg={"actor": True})
    env.close()
