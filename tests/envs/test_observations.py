"""The observation groups of the three stages."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.make import make_env
from solo.envs.observations_cfg import (
    GROUPS,
    NOISE,
    make_blurred_velocity,
    make_observations,
)
from solo.robots.g1 import G1
from solo.terrains import TerrainSceneCfg

from .helpers import make_cfg, stand_still, without_randomness

TERRAIN = TerrainSceneCfg(("flat", "stairs_up_30"), num_levels=1, border_m=4.0)
SHAPES = {
    "teacher_proprioception": (84,),
    "proprioception": (84,),
    "base_velocity": (3,),
    "height_map": (16, 32),
    "amp": (59,),
    "proprioception_window": (10, 84),
    "depth": (4, 64, 113),
}


@pytest.fixture(scope="module")
def env() -> ManagerBasedRlEnv:
    return make_env(make_cfg(6, terrain=TERRAIN, stage="perceptive"))


@pytest.fixture(scope="module")
def student_env() -> ManagerBasedRlEnv:
    return make_env(make_cfg(64, stage="student"))


DEPLOYABLE_GROUPS = ("proprioception", "proprioception_window", "depth")
"""Groups that a real robot can measure; nothing privileged may be in them."""

PRIVILEGED_TERMS = ("base_lin_vel", "height_map", "feet_contact", "feet_air_time")
"""Terms that a real robot cannot measure."""


@pytest.mark.parametrize("stage", ["teacher", "student", "perceptive"])
def test_no_privileged_term_is_in_a_deployable_group(stage):
    for name, group in make_observations(G1, stage).items():
        if name in DEPLOYABLE_GROUPS:
            assert not set(group.terms) & set(PRIVILEGED_TERMS)


def test_every_group_of_the_reconstructor_is_deployable():
    assert set(GROUPS["reconstructor"]) <= set(DEPLOYABLE_GROUPS)


def test_deployable_groups_are_noisy_and_the_teachers_are_not():
    for stage in ("student", "perceptive"):
        for name, group in make_observations(G1, stage).items():
            noisy = name in ("proprioception", "proprioception_window")
            assert group.enable_corruption == noisy, name


def test_shapes_are_the_contracts(env, student_env):
    for environment in (env, student_env):
        obs, _ = environment.reset()
        for name, value in obs.items():
            assert torch.isfinite(value).all(), name
            if name in SHAPES:
                assert tuple(value.shape[1:]) == SHAPES[name], name


@pytest.mark.parametrize("group", ["teacher_proprioception", "proprioception_window"])
def test_proprioception_is_in_the_contracts_order(env, group):
    terms = env.observation_manager.active_terms[group]
    sizes = env.observation_manager.group_obs_term_dim[group]
    assert [(t, s[-1]) for t, s in zip(terms, sizes, strict=True)] == [
        ("base_ang_vel", 3), ("projected_gravity", 3), ("command", 3),
        ("joint_pos", 25), ("joint_vel", 25), ("last_action", 25),
    ]  # fmt: skip


def test_noise_has_the_papers_width(student_env):
    env = student_env
    env.reset(seed=0)
    errors = []
    for _ in range(4):
        obs, *_ = env.step(torch.zeros(64, 25))
        errors.append(obs["proprioception"] - obs["teacher_proprioception"])
    error = torch.cat(errors)
    at = {"base_ang_vel": (0, 3), "projected_gravity": (3, 6), "joint_pos": (9, 34)}
    at["joint_vel"] = (34, 59)
    for name, (first, last) in at.items():
        largest = error[:, first:last].abs().max().item()
        assert 0.95 * NOISE[name] < largest <= NOISE[name] + 1e-5, name
    assert (error[:, 6:9] == 0).all()  # The command is known.
    assert (error[:, 59:] == 0).all()  # So is the previous action.


def test_windows_are_oldest_first_and_forget_at_reset(env):
    env.reset(seed=0)
    action = torch.zeros(6, 25)
    for step in range(12):
        action[:] = 0.01 * step
        obs, *_ = env.step(action)
    # The previous action, in the last 25 entries, is known without noise.
    actions = obs["proprioception_window"][:, :, -1]
    np.testing.assert_allclose(actions[0], 0.01 * np.arange(2, 12), atol=1e-6)
    env.episode_length_buf[2] = env.max_episode_length
    obs, *_ = env.step(action)
    assert (obs["proprioception_window"][2, :, -1] == 0).all()
    assert obs["proprioception_window"][3, 0, -1] == pytest.approx(0.03)


def depth_term(env: ManagerBasedRlEnv):
    return env.observation_manager.get_term_cfg("depth", "depth").func


def depth_after_step(env: ManagerBasedRlEnv) -> torch.Tensor:
    depth = env.step(torch.zeros(env.num_envs, 25))[0]["depth"]
    assert isinstance(depth, torch.Tensor)
    return depth


def test_depth_window_after_a_reset_holds_the_new_episode_alone():
    """Robots are carried to places of different depth in successive episodes."""
    clean = G1.depth_sensor(clean=True)
    cfg = without_randomness(make_cfg(3, stage="perceptive", depth=clean))
    env = make_env(cfg)
    env.reset(seed=0)
    stand_still(env, 14)
    robot = env.scene["robot"]
    pose = robot.data.root_link_pose_w.clone()
    pose[:, 2] += 0.5  # All images now show the ground farther away.
    robot.write_root_link_pose_to_sim(pose)
    depth = depth_after_step(env)
    centre = depth[:, :, 40, 56] * clean.camera.max_range_m
    assert (centre[:, 3] > centre[:, 2] + 0.3).all()  # Newest last.
    env.episode_length_buf[1] = env.max_episode_length
    depth = depth_after_step(env)
    assert (depth[1] == depth[1, -1]).all()
    assert not (depth[0, 0] == depth[0, 3]).all()


def test_an_explicit_reset_of_some_does_not_advance_the_others(env):
    env.reset(seed=0)
    stand_still(env, 5)
    before = env.obs_buf["depth"].clone()
    obs, _ = env.reset(env_ids=torch.tensor([1]))
    others = [0, 2, 3, 4, 5]
    assert torch.equal(obs["depth"][others], before[others])
    assert (obs["depth"][1] == obs["depth"][1, -1]).all()


def test_camera_pose_error_is_drawn_per_episode_within_the_table(env):
    term = depth_term(env)
    env.reset(seed=0)
    first = term._offset.clone()
    stand_still(env, 2)
    assert torch.equal(term._offset, first)
    draws = []
    for _ in range(60):
        term.reset(None)
        draws.append(term._offset.clone())
    offsets = torch.cat(draws)
    limits = torch.tensor([0.005, 0.010, 0.010, 0.05, 0.05, 0.05])
    assert (offsets.abs() <= limits).all()
    assert (offsets.abs().amax(dim=0) > 0.9 * limits).all()


def test_camera_pose_matches_the_camera_in_the_model():
    clean = G1.depth_sensor(clean=True)
    env = make_env(make_cfg(3, stage="perceptive", depth=clean))
    env.reset(seed=0)
    stand_still(env, 10)
    position, rotation = depth_term(env).camera_pose_w()
    data, model = env.sim.data, env.sim.mj_model
    camera = next(i for i in range(model.ncam) if "depth" in model.camera(i).name)
    np.testing.assert_allclose(position, data.cam_xpos[:, camera], atol=1e-5)
    to_mujoco = np.diag([1.0, -1.0, -1.0])
    np.testing.assert_allclose(
        rotation.numpy() @ to_mujoco,
        data.cam_xmat[:, camera].reshape(-1, 3, 3),
        atol=1e-5,
    )


def test_amp_state_is_the_motion_librarys(env):
    from solo.motions.library import amp_state

    obs, _ = env.reset(seed=0)
    data = env.scene["robot"].data
    expected = amp_state(
        data.joint_pos - data.default_joint_pos,
        data.joint_vel,
        data.root_link_lin_vel_b,
        data.root_link_ang_vel_b,
        data.projected_gravity_b,
    )
    torch.testing.assert_close(obs["amp"], expected)


def test_a_blurred_velocity_has_an_error_that_wanders(student_env):
    obs, _ = student_env.reset(seed=0)
    cfg = make_blurred_velocity(0.15).terms["base_lin_vel"]
    blurred = cfg.func(cfg, student_env)
    seen = [blurred(student_env, **cfg.params) for _ in range(130)]
    error = torch.stack(seen)[30:] - obs["base_velocity"]  # [T, B, 3]
    assert error.std().item() == pytest.approx(0.15, rel=0.1)
    alike = (error[1:] * error[:-1]).mean() / error.square().mean()
    assert alike.item() == pytest.approx(0.9, abs=0.03)
