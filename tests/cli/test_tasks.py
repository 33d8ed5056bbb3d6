"""`solo tasks`: what it says about a task is what the built task has."""

from __future__ import annotations

import json

import pytest
from mjlab.managers.observation_manager import ObservationTermCfg
from mjlab.tasks.registry import load_env_cfg

from solo.cli.tasks import PURPOSES, Tasks, group_shapes
from solo.envs.grid_terrain import GridTerrainCfg
from solo.envs.make import make_env
from solo.mjlab_tasks import TASKS
from solo.terrains import TerrainSceneCfg


def test_every_task_is_listed(capsys: pytest.CaptureFixture[str]):
    result = Tasks().run()
    out = capsys.readouterr().out
    assert [task["task"] for task in result["tasks"]] == list(TASKS)
    for task in result["tasks"]:
        assert task["task"] in out
        assert task["stage"] == TASKS[task["task"]]
        assert task["purpose"] == PURPOSES[task["stage"]]
        assert task["reward_terms"] == 21  # Rows of the paper's table.
    perceptive = result["tasks"][-1]["observation_groups"]
    assert perceptive["depth"] == (4, 64, 113)
    assert perceptive["proprioception_window"] == (10, 84)
    assert "depth 4x64x113" in out
    json.dumps(result)


@pytest.mark.parametrize("task", TASKS)
def test_shapes_are_those_of_the_built_environment(task: str):
    cfg = load_env_cfg(task)
    cfg.scene.num_envs = 2
    cfg.scene.terrain = GridTerrainCfg(
        scene=TerrainSceneCfg(("flat",), num_levels=1, border_m=4.0)
    )
    env = make_env(cfg)
    assert group_shapes(cfg) == env.observation_manager.group_obs_dim
    env.close()


def test_a_term_that_is_not_known_leaves_the_shape_open():
    cfg = load_env_cfg("Solo-Teacher-Unitree-G1")
    cfg.observations["critic"].terms["new"] = ObservationTermCfg(func=len)
    shapes = group_shapes(cfg)
    assert shapes["critic"] is None
    assert shapes["amp"] == (59,)
