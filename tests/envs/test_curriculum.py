"""The terrain curriculum, walked up and down by a scripted robot."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.grid_terrain import grid_terrain
from solo.envs.make import make_env
from solo.envs.mdp import left_patch, level_histogram
from solo.envs.names import COMMAND, FALL
from solo.terrains import TerrainSceneCfg

from .helpers import make_cfg, without_randomness

LEVELS = 4


@pytest.fixture(scope="module")
def env() -> ManagerBasedRlEnv:
    terrain = TerrainSceneCfg(("flat", "stairs_up_30"), num_levels=LEVELS, border_m=4.0)
    env = make_env(without_randomness(make_cfg(num_envs=64, terrain=terrain)))
    env.reset()
    return env


def velocity_command(env: ManagerBasedRlEnv) -> torch.Tensor:
    term: Any = env.command_manager.get_term(COMMAND)
    return term.vel_command_b


def end_episode(env: ManagerBasedRlEnv, distance_m: float) -> dict:
    """Carry all robots some way along +x and let their time run out."""
    robot = env.scene["robot"]
    pose = robot.data.root_link_pose_w.clone()
    pose[:, :3] = env.scene.env_origins
    pose[:, 0] += distance_m
    pose[:, 2] += 2.0  # In the air: nothing touches anything.
    robot.write_root_link_pose_to_sim(pose)
    env.sim.forward()
    velocity_command(env)[:, 0] = 0.8
    env.episode_length_buf[:] = env.max_episode_length
    _, _, _, truncated, extras = env.step(torch.zeros(64, 25))
    assert truncated.all()
    return extras["log"]


def set_levels(env: ManagerBasedRlEnv, level: int) -> torch.Tensor:
    terrain = grid_terrain(env)
    terrain.terrain_levels[:] = level
    assert terrain.terrain_origins is not None
    terrain.env_origins[:] = terrain.terrain_origins[
        terrain.terrain_levels, terrain.terrain_types
    ]
    return terrain.terrain_levels


def test_half_a_patch_promotes(env):
    levels = set_levels(env, 1)
    end_episode(env, 4.2)
    assert (levels == 2).all()


def test_the_hardest_level_is_solved_in_the_upper_half_again(env, monkeypatch):
    """Of 64 restarts anywhere, none below level 2 would be chance of one in 2^64."""
    terrain = grid_terrain(env)
    monkeypatch.setattr(terrain.cfg, "restart_level", 2)
    levels = set_levels(env, LEVELS - 1)
    end_episode(env, 4.2)
    assert set(levels.tolist()) == {2, 3}
    assert terrain.terrain_origins is not None
    expected = terrain.terrain_origins[levels, terrain.terrain_types]
    assert torch.equal(terrain.env_origins, expected)
    set_levels(env, 1)
    end_episode(env, 4.2)
    assert (terrain.terrain_levels == 2).all()


def test_a_fall_beyond_the_patch_neither_promotes_nor_demotes(env, monkeypatch):
    """Unless falls may count, as they do in the paper's curriculum."""
    params = env.curriculum_manager.get_term_cfg("terrain_levels").params
    fall = env.termination_manager.get_term_cfg(FALL)
    monkeypatch.setattr(fall, "func", lambda env, **_: torch.ones(64, dtype=torch.bool))
    for promote_fallen, expected in ((False, 1), (True, 2)):
        monkeypatch.setitem(params, "promote_fallen", promote_fallen)
        levels = set_levels(env, 1)
        end_episode(env, 4.2)
        assert (levels == expected).all()


@pytest.mark.parametrize(
    ("away_m", "beyond_m", "is_over"),
    [
        ((4.1, 0.0), 0.0, True),
        ((0.0, -4.1), 0.0, True),
        ((3.9, 3.9), 0.0, False),
        ((5.2, 0.0), 1.25, False),
        ((0.0, 5.3), 1.25, True),
    ],
)
def test_an_episode_ends_so_far_beyond_half_a_patch(env, away_m, beyond_m, is_over):
    robot = env.scene["robot"]
    pose = robot.data.root_link_pose_w.clone()
    pose[:, :2] = env.scene.env_origins[:, :2] + torch.tensor(away_m)
    robot.write_root_link_pose_to_sim(pose)
    env.sim.forward()
    assert (left_patch(env, beyond_m) == is_over).all()


def test_less_than_half_of_the_asked_distance_demotes(env):
    levels = set_levels(env, 2)
    end_episode(env, 1.0)
    assert (levels == 1).all()


def test_in_between_stays(env):
    # 0.1 m/s for 20 s is 2 m; 1.5 m are more than half of it and less than 4 m.
    levels = set_levels(env, 2)
    robot = env.scene["robot"]
    pose = robot.data.root_link_pose_w.clone()
    pose[:, :3] = env.scene.env_origins
    pose[:, 0] += 1.5
    pose[:, 2] += 2.0
    robot.write_root_link_pose_to_sim(pose)
    env.sim.forward()
    velocity_command(env)[:] = 0.0
    velocity_command(env)[:, 0] = 0.1
    env.episode_length_buf[:] = env.max_episode_length
    env.step(torch.zeros(64, 25))
    assert (levels == 2).all()


def test_the_bottom_holds(env):
    levels = set_levels(env, 0)
    end_episode(env, 0.0)
    assert (levels == 0).all()


def test_solving_the_top_leads_to_a_random_level(env):
    levels = set_levels(env, LEVELS - 1)
    end_episode(env, 4.2)
    assert set(levels.tolist()) == set(range(LEVELS))


def test_a_robot_climbs_from_the_bottom_to_the_top(env):
    levels = set_levels(env, 0)
    for expected in range(1, LEVELS):
        end_episode(env, 4.5)
        assert (levels == expected).all()


def test_levels_are_logged_for_every_terrain(env):
    set_levels(env, 1)
    log = end_episode(env, 4.2)
    for name in ("mean", "flat", "stairs_up_30"):
        assert float(log[f"Curriculum/terrain_levels/{name}"]) == 2.0
    histogram = level_histogram(env)
    assert histogram.shape == (2, LEVELS)
    assert histogram[:, 2].tolist() == [32, 32]
    assert histogram.sum() == 64
