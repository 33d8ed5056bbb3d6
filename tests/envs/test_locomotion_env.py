"""The environment on the native backend, with all managers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.tasks.registry import list_tasks, load_env_cfg

from solo.envs.locomotion_env_cfg import make_locomotion_env_cfg, make_simulation_cfg
from solo.envs.make import make_env
from solo.mjlab_tasks import TASKS
from solo.robots.g1 import G1
from solo.sim import NativeSimulation
from solo.terrains import TerrainSceneCfg

TERRAIN = TerrainSceneCfg(("flat", "stairs_up_30", "gap"), num_levels=3, border_m=2.0)


def make(num_envs: int = 12, num_threads: int | None = None, **kwargs):
    cfg = make_locomotion_env_cfg(
        G1,
        num_envs=num_envs,
        terrain=TERRAIN,
        sim=make_simulation_cfg(num_threads=num_threads),
        seed=3,
        **kwargs,
    )
    return make_env(cfg)


def roll_out(env: ManagerBasedRlEnv, steps: int) -> tuple[torch.Tensor, ...]:
    """Observations, rewards and ends of a rollout with random actions."""
    env.reset(seed=5)
    seen = []
    for _ in range(steps):
        actions = 0.5 * torch.randn(env.num_envs, 25)
        obs, reward, terminated, _, _ = env.step(actions)
        groups = [torch.as_tensor(value).flatten(1) for value in obs.values()]
        seen.append(torch.cat([*groups, reward[:, None], terminated[:, None]], dim=1))
    return torch.stack(seen), env.sim.data.qpos.clone()


@pytest.fixture(scope="module")
def env() -> ManagerBasedRlEnv:
    return make()


def test_our_tasks_are_known_to_mjlab():
    """mjlab only prints a warning when an entry point fails to load."""
    assert set(TASKS) <= set(list_tasks())


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    "play",
    [False, pytest.param(True, marks=pytest.mark.slow)],  # True has all meshes.
)
def test_registered_tasks_run_natively_on_cpu(task, play):
    cfg = load_env_cfg(task, play=play)
    cfg.scene.num_envs = 2
    cfg.scene.terrain.scene = TERRAIN  # type: ignore[union-attr]
    env = make_env(cfg)
    assert isinstance(env.sim, NativeSimulation)
    env.reset()
    _, reward, *_ = env.step(torch.zeros(2, 25))
    assert torch.isfinite(reward).all()


def test_action_moves_the_joint_of_the_same_index(env):
    env.reset(seed=0)
    action = torch.zeros(12, 25)
    index = G1.joint_names.index("left_elbow_joint")
    action[:, index] = 1.0
    env.step(action)
    data = env.scene["robot"].data
    offset = data.joint_pos_target - data.default_joint_pos
    expected = G1.joint_values(G1.action_scale)[index]
    np.testing.assert_allclose(offset[:, index], expected, rtol=1e-5)
    assert offset.abs().sum(dim=0).nonzero().flatten().tolist() == [index]


def test_robots_start_on_their_platforms(env):
    env.reset(seed=0)
    offset = env.scene["robot"].data.root_link_pos_w - env.scene.env_origins
    assert offset[:, :2].abs().max() < 0.6
    height = offset[:, 2] - G1.base_height_m
    assert (height > 0).all()
    assert (height < 0.06).all()


@pytest.mark.parametrize(
    ("num_threads", "steps"), [(16, 30), pytest.param(2, 60, marks=pytest.mark.slow)]
)
def test_same_seed_same_bits_whatever_the_threads(num_threads, steps):
    one, other = (roll_out(make(num_threads=n), steps) for n in (1, num_threads))
    assert torch.equal(one[0], other[0])
    assert torch.equal(one[1], other[1])


def test_a_broken_env_ends_its_episode_and_is_logged(env):
    env.reset(seed=0)
    env.step(torch.zeros(12, 25))
    before = env.sim.divergence_count
    env.sim.data.qvel[4, 0] = float("nan")
    obs, reward, terminated, _, extras = env.step(torch.zeros(12, 25))
    assert terminated.nonzero().flatten().tolist() == [4]
    assert env.sim.divergence_count == before + 1
    assert extras["log"]["Episode_Termination/physics_diverged"] == 1
    assert all(torch.isfinite(value).all() for value in obs.values())
    assert torch.isfinite(reward).all()
    assert not env.sim.diverged.any()
    offset = env.scene["robot"].data.root_link_pos_w - env.scene.env_origins
    assert offset[4, :2].abs().max() < 0.6


def test_pushes_and_external_forces_move_the_robot(env):
    env.reset(seed=0)
    robot = env.scene["robot"]
    robot.write_root_link_velocity_to_sim(torch.zeros(12, 6))
    torso = robot.find_bodies("torso_link")[0]
    force = torch.tensor([0.0, 400.0, 0.0]).expand(2, 1, 3)
    robot.write_external_wrench_to_sim(
        force, torch.zeros_like(force), body_ids=torso, env_ids=torch.tensor([0, 1])
    )
    for _ in range(5):
        env.step(torch.zeros(12, 25))
    speed = robot.data.root_link_lin_vel_w[:, 1]
    assert (speed[:2] > 0.4).all()
    assert speed[2:].abs().max() < 0.4


def test_contact_sensor_tracks_air_time(env):
    env.reset(seed=0)
    robot = env.scene["robot"]
    pose = robot.data.root_link_pose_w.clone()
    pose[0, 2] += 1.0
    robot.write_root_link_pose_to_sim(pose)
    for _ in range(10):
        env.step(torch.zeros(12, 25))
    sensor = env.scene["feet_contact"].data
    assert (sensor.current_air_time[0] > 0.15).all()
    assert (sensor.current_contact_time[1:].amax(dim=1) > 0.05).all()


def test_play_has_no_noise_and_no_pushes():
    cfg = make_locomotion_env_cfg(G1, stage="perceptive", play=True)
    assert "push_robot" not in cfg.events
    assert not any(group.enable_corruption for group in cfg.observations.values())
    assert cfg.observations["depth"].terms["depth"].params["cfg"].corruption is None
