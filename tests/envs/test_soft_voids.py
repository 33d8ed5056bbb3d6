"""Soft voids: only physics is softened, and the gate cannot be fooled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.managers.reward_manager import RewardTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg

from solo.envs.grid_terrain import grid_terrain
from solo.envs.make import make_env
from solo.envs.mdp import (
    RowCommandCfg,
    SoftVoidsCfg,
    find_soft_voids,
    foot_in_hole,
    landing_cost,
    start_on_row,
)
from solo.envs.mdp.soft_voids import FootVoids, yaw_of
from solo.envs.names import COMMAND
from solo.envs.rewards_cfg import footprint
from solo.evaluation.sim_env import Footsteps
from solo.robots.g1 import G1
from solo.stages.runner import env_state, set_env_state
from solo.tasks.env_cfg import add_rows, add_soft_voids
from solo.tasks.profiles import HolesCfg
from solo.terrains import TerrainSceneCfg
from solo.terrains.scene import void_mask

from .helpers import make_cfg, without_randomness

TERRAIN = TerrainSceneCfg(("flat", "gap", "stones_aligned"), num_levels=3, border_m=4.0)
GATE = SoftVoidsCfg(max_misses=0.25, fill_below=0.4, episodes=4)


def make_soft_env(num_envs: int = 12, soft: bool = True) -> ManagerBasedRlEnv:
    cfg = without_randomness(make_cfg(num_envs=num_envs, terrain=TERRAIN))
    if soft:
        add_soft_voids(cfg, HolesCfg(soft=GATE), G1)
    env = make_env(cfg)
    env.reset()
    return env


@pytest.fixture(scope="module")
def env() -> ManagerBasedRlEnv:
    return make_soft_env()


@pytest.fixture
def voids(env):
    voids = find_soft_voids(env)
    assert voids is not None
    voids.filled[:, voids.columns] = True
    voids.counts[:] = 0.0
    voids.write()
    return voids


def heights(env: ManagerBasedRlEnv) -> np.ndarray:
    return np.array(env.sim.mj_model.hfield_data)


def metres(env: ManagerBasedRlEnv) -> np.ndarray:
    model = env.sim.mj_model
    return heights(env) * model.hfield_size[0, 2] + model.geom("terrain").pos[2]


def test_filled_holes_are_level_ground(env, voids):
    assert np.abs(metres(env)).max() < 1e-6


def test_open_holes_are_the_hard_scene_to_the_bit(env, voids):
    hard = make_soft_env(soft=False)
    assert not np.array_equal(heights(env), heights(hard))
    voids.filled[:, voids.columns] = False
    voids.write()
    assert np.array_equal(heights(env), heights(hard))
    hard.close()


def test_nothing_perceived_changes_when_holes_open(env, voids):
    def perceived() -> dict[str, torch.Tensor]:
        obs: Any = env.observation_manager.compute()
        return {name: group.clone() for name, group in obs.items()}

    before = perceived()
    voids.filled[:, voids.columns] = False
    voids.write()
    after = perceived()
    for name, group in before.items():
        assert torch.equal(group, after[name]), name
    assert before["height_map"].min() < -0.757 - 0.05  # Holes are seen.


def end_episodes(env: ManagerBasedRlEnv, crossed: bool, misses: float) -> None:
    """Four episodes on each patch with holes, with 10 touch-downs each."""
    voids = find_soft_voids(env)
    assert voids is not None
    for column in voids.columns:
        where = torch.zeros(4, dtype=torch.long)
        voids.count(
            where,
            where + column,
            torch.full((4,), crossed),
            torch.full((4,), 10.0 if crossed or misses else 0.0),
            torch.full((4,), 10.0 * misses),
        )


@pytest.mark.parametrize(
    ("filled", "crossed", "misses", "then"),
    [
        (True, True, 0.2, False),  # They cross and place their feet.
        (True, False, 0.0, True),  # They stand on the platform.
        (True, True, 0.3, True),  # They step anywhere.
        (False, True, 0.9, False),  # Once holes are open, crossings decide.
        (False, False, 0.0, True),
    ],
)
def test_crossings_and_misses_open_and_fill_holes(
    env, voids, filled, crossed, misses, then
):
    voids.filled[0, voids.columns] = filled
    end_episodes(env, crossed, misses)
    assert voids.filled[0].tolist() == [False, then, then]
    assert voids.filled[1].tolist() == [False, True, True]


def test_open_holes_stay_open_while_half_the_robots_cross(voids):
    """Neither enough to open them nor too few to keep them open."""
    where = torch.zeros(4, dtype=torch.long)
    crossed = torch.tensor([True, True, False, False])
    for column, filled in zip(voids.columns, (True, False), strict=True):
        voids.filled[0, column] = filled
        voids.count(where, where + column, crossed, torch.ones(4), torch.zeros(4))
        assert voids.filled[0, column] == filled


def test_robots_move_up_only_from_open_holes(env, voids, monkeypatch):
    """All robots of level 0 have crossed their patch."""
    terrain = grid_terrain(env)
    voids.filled[0, 2] = False
    terrain.terrain_levels[:] = 0
    everyone = torch.arange(env.num_envs)
    all_of_them = torch.ones(env.num_envs, dtype=torch.bool)
    monkeypatch.setattr(
        "solo.envs.mdp.voids.crossed_and_lagging",
        lambda *_: (all_of_them, ~all_of_them),
    )
    term = env.curriculum_manager.get_term_cfg("terrain_levels")
    env.episode_length_buf[:] = 0  # Nothing is judged.
    term.func(env, everyone, **term.params)
    assert (terrain.terrain_levels == (terrain.terrain_types != 1).long()).all()
    terrain.terrain_levels[:] = 0


def test_filled_holes_are_saved_and_put_back(env, voids):
    voids.filled[1, voids.columns] = (True, False)
    voids.counts[0, 0, 1] = 3.0
    saved = env_state(env)
    expected = heights(env)
    voids.write()
    written = heights(env)
    assert not np.array_equal(expected, written)
    other = make_soft_env()
    set_env_state(other, saved)
    assert np.array_equal(heights(other), written)
    back = find_soft_voids(other)
    assert back is not None
    assert back.counts[0, 0, 1] == 3.0
    other.close()


def test_a_foot_down_a_hole_ends_the_episode(env, voids):
    """Only on terrain with holes: stairs lead below the ground too."""
    terrain = grid_terrain(env)
    feet = SceneEntityCfg("robot", body_names=tuple(f.body for f in G1.feet))
    feet.resolve(env.scene)
    env.reset()
    assert not foot_in_hole(env, feet).any()
    down = torch.zeros(env.num_envs, 3)
    down[:, 2] = -0.3
    pose = env.sim.data.qpos[:, :7].clone()
    pose[:, :3] += down
    env.scene["robot"].write_root_link_pose_to_sim(pose)
    env.sim.forward()
    assert torch.equal(foot_in_hole(env, feet), terrain.terrain_types > 0)
    assert not foot_in_hole(env, feet, depth_m=0.5).any()
    env.reset()


def test_robots_of_a_restored_run_start_on_their_patch(env, voids):
    """They had been placed on other ones; none is promoted for the way between."""
    saved = env_state(env)
    saved["terrain_levels"] = torch.full_like(saved["terrain_levels"], 1)
    env.episode_length_buf[:] = 5
    set_env_state(env, saved)
    terrain = grid_terrain(env)
    assert (terrain.terrain_levels == 1).all()
    home = terrain.terrain_scene.origins_m[1][terrain.terrain_types.numpy()]
    away = env.sim.data.qpos[:, :2] - torch.from_numpy(home[:, :2])
    assert away.abs().max() < 0.6
    saved["terrain_levels"][:] = 0
    set_env_state(env, saved)


def test_soles_over_holes():
    """On the first stone, half over its edge, and in the middle of the first gap."""
    scene = TerrainSceneCfg(("stones_aligned",), num_levels=1, border_m=4.0).build()
    feet = FootVoids(scene, footprint(G1.feet[0]), "cpu")
    level = torch.tensor([[1.0, 0.0, 0.0, 0.0]])

    def share(x: float) -> float:
        return float(feet.share(torch.tensor([[x, 0.0, 0.0]]), level))

    # The platform ends at 1.25; gap of 0.20, stone of 0.40. The sole's lattice has
    # five columns of 5 cm around 0.038 ahead of the ankle.
    assert share(0.5) == 0.0
    assert share(1.25 + 0.20 + 0.20 - 0.038) == 0.0
    assert share(1.25 - 0.038) == pytest.approx(0.5, abs=0.11)
    assert share(1.35 - 0.038) == pytest.approx(0.8, abs=0.21)
    ahead = feet.share(torch.tensor([[1.25 - 0.25, 0.0, 0.0]]), level, 0.25)
    assert float(ahead) == share(1.25)


def test_holes_are_those_of_gaps_and_stones():
    scene = TERRAIN.build()
    mask = void_mask(scene)
    assert not mask[scene.patch_cells(2, 0)].any()
    # A ring of 0.3 m around a platform of 2.5 m at the middle level.
    expected = (3.1**2 - 2.5**2) / 0.05**2
    assert mask[scene.patch_cells(1, 1)].sum() == pytest.approx(expected)


def test_commands_lead_along_the_rows():
    cfg = make_cfg(num_envs=30, terrain=TERRAIN)
    add_rows(cfg, 1.0)
    assert isinstance(cfg.commands[COMMAND], RowCommandCfg)
    env = make_env(cfg)
    env.reset()
    term: Any = env.command_manager.get_term(COMMAND)
    has_holes = grid_terrain(env).terrain_types > 0
    assert (
        term.heading_target[grid_terrain(env).terrain_types == 2].sin().abs() < 1e-5
    ).all()
    quarters = term.heading_target / (math.pi / 2.0)
    assert torch.allclose(quarters[has_holes], quarters[has_holes].round(), atol=1e-5)
    assert not torch.allclose(quarters[~has_holes], quarters[~has_holes].round())
    forward = term.vel_command_b[has_holes]
    assert (forward[:, 0] >= 0.4).all()
    assert (forward[:, 1] == 0.0).all()
    env.close()


def test_landings_are_counted_where_holes_are(env, voids, monkeypatch):
    """Robots on the platform of stones: one foot over its edge, the other inside."""
    footsteps = Footsteps(env)
    x, y, _ = grid_terrain(env).terrain_scene.origins_m[0, 2]
    pos_w = torch.zeros(env.num_envs, 2, 3)
    pos_w[:, :, 1] = y
    pos_w[:, 0, 0], pos_w[:, 1, 0] = x, x + 1.25 - 0.038
    quat_w = torch.zeros(env.num_envs, 2, 4)
    quat_w[..., 0] = 1.0
    place = "solo.evaluation.sim_env.foot_poses"
    monkeypatch.setattr(place, lambda *_: (pos_w, quat_w))
    sensor = env.scene["feet_contact"]
    landed = torch.ones(env.num_envs, 2, dtype=torch.bool)
    monkeypatch.setattr(sensor, "compute_first_contact", lambda dt: landed)
    ((_, landing),) = (found for found in footsteps.landings() if found[0] == 0)
    assert 0.3 < landing.over < 0.7
    assert 0.2 < landing.shifted < 0.8


def test_steps_anywhere_cost_nothing_on_average(env, monkeypatch):
    """Feet on each 5 cm of a period of stones, 40 cm and gaps of 20 cm, both ways."""
    sole = footprint(G1.feet[0])
    cfg = RewardTermCfg(func=landing_cost, weight=1.0, params={"footprint": sole})
    term = landing_cost(cfg, env)
    x, y, _ = grid_terrain(env).terrain_scene.origins_m[0, 2]
    pos_w = torch.zeros(env.num_envs, 2, 3)
    pos_w[:, 0, 0] = x + 1.25 + 0.6 + 0.05 * torch.arange(12) + 0.037
    quat_w = torch.zeros(env.num_envs, 2, 4)
    quat_w[..., 0] = 1.0
    monkeypatch.setattr("solo.envs.mdp.voids.foot_poses", lambda *_: (pos_w, quat_w))
    landed = torch.zeros(env.num_envs, 2, dtype=torch.bool)
    landed[:, 0] = True
    sensor = env.scene["feet_contact"]
    monkeypatch.setattr(sensor, "compute_first_contact", lambda dt: landed)

    def cost() -> torch.Tensor:
        return term(env, "feet_contact", SceneEntityCfg("robot"), sole)

    assert (cost() == 0.0).all()  # The first touch-down of an episode is no step.
    whole = []
    for beside in range(12):  # From the middle of a row to that of the next one.
        pos_w[:, 0, 0] += 0.6 * (-1) ** beside
        pos_w[:, 0, 1] = y + 0.05 * beside + 0.001
        whole.append(cost())
    assert float(torch.stack(whole).mean()) == pytest.approx(0.0, abs=1e-6)
    assert float(whole[0].min()) < -0.2  # In the middle of a stone.
    assert float(whole[6].mean()) > 0.1  # Between two rows.
    assert (cost() == 0.0).all()  # Tapping on the spot.
    pos_w[:, 0, 0] += 0.15  # Half a full step.
    half = cost()
    assert torch.allclose(half, 0.5 * whole[-1].roll(-3), atol=1e-6)


def test_starts_lead_along_the_row(env, voids):
    """Anywhere on the row while holes are filled, else on the platform."""
    terrain, data = grid_terrain(env), env.sim.data
    on_stones = (terrain.terrain_types == 2).nonzero().flatten()

    def starts() -> tuple[torch.Tensor, torch.Tensor]:
        env.reset()
        data.qvel[on_stones, :2] = data.qpos[on_stones, :2] * 0.0 + torch.tensor(
            [0.5, 0.0]
        )
        heading = yaw_of(data.qpos[on_stones, 3:7])
        start_on_row(env, on_stones, share=1.0)
        turned = yaw_of(data.qpos[on_stones, 3:7]) - heading
        expected = 0.5 * torch.stack((turned.cos(), turned.sin()), dim=1)
        assert torch.allclose(data.qvel[on_stones, :2], expected, atol=1e-5)
        place = data.qpos[on_stones, :2] - env.scene.env_origins[on_stones, :2]
        assert (place[:, 1].abs() < 0.11).all()
        return place[:, 0], yaw_of(data.qpos[on_stones, 3:7])

    x, yaw = starts()
    assert (yaw.sin().abs() < 0.06).all()
    assert x.abs().max() > 1.3  # Of twelve draws within 3 m.
    beyond = x.abs() > 1.8
    assert (yaw.cos()[beyond] * x[beyond] < 0.0).all()  # Towards the middle.
    voids.filled[:, voids.columns] = False
    x, yaw = starts()
    assert (x.abs() < 0.51).all()
    assert (yaw.sin().abs() < 0.06).all()


def test_an_edge_under_the_sole_does_not_carry_it():
    """On stairs: in the middle of a tread, and half over its edge."""
    scene = TerrainSceneCfg(
        ("stairs_up_35",), num_levels=1, border_m=4.0, difficulty=0.5
    ).build()
    feet = FootVoids(scene, footprint(G1.feet[0]), "cpu")
    level = torch.tensor([[1.0, 0.0, 0.0, 0.0]])

    def unsupported(x: float) -> float:
        return float(feet.unsupported(torch.tensor([[x, 0.0, 0.0]]), level))

    # The platform ends at 1.25, a step of 35 cm follows. The sole is 25 cm of lattice.
    assert unsupported(1.25 + 0.175 - 0.038) == 0.0
    assert unsupported(1.25 - 0.038) == pytest.approx(0.5, abs=0.11)
    assert float(feet.share(torch.tensor([[1.25, 0.0, 0.0]]), level)) == 0.0
