"""Mirror maps: involutions, and true of the real robot's kinematics."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import mjlab  # noqa: F401 - Must be first, see solo.envs.
import mujoco
import numpy as np
import pytest
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.rl.vecenv_wrapper import RslRlVecEnvWrapper
from rsl_rl.algorithms import PPO
from rsl_rl.extensions import Symmetry
from rsl_rl.utils import resolve_callable
from tensordict import TensorDict

from solo.algorithms import mirror
from solo.algorithms.mirror import (
    AXIAL,
    POLAR,
    LeanSymmetry,
    MirrorMaps,
    joint_mirror,
    swap_sides,
)
from solo.envs.locomotion_env_cfg import make_locomotion_env_cfg
from solo.errors import SoloError
from solo.names import ROBOTS
from solo.robots import get_robot
from solo.robots.g1 import G1
from solo.robots.view import standing_pose
from solo.terrains.scene import TerrainSceneCfg

PROPRIOCEPTION = [
    "base_ang_vel",
    "projected_gravity",
    "command",
    "joint_pos",
    "joint_vel",
    "last_action",
]
GROUPS = {
    "teacher_proprioception": PROPRIOCEPTION,
    "proprioception_window": PROPRIOCEPTION,
    "base_velocity": ["base_lin_vel"],
    "height_map": ["height_map"],
    "critic": ["feet_contact", "feet_air_time"],
    "amp": [
        "joint_pos",
        "joint_vel",
        "base_lin_vel",
        "base_ang_vel",
        "projected_gravity",
    ],
    "depth": ["depth"],
}


@pytest.fixture(scope="module")
def g1():
    model, _ = standing_pose(G1)
    return model


@pytest.fixture(scope="module")
def maps(g1):
    return MirrorMaps.of_terms(GROUPS, joint_mirror(g1, G1.joint_names))


def make_obs(batch: int) -> TensorDict:
    torch.manual_seed(0)
    return TensorDict(
        {
            "teacher_proprioception": torch.randn(batch, 84),
            "proprioception_window": torch.randn(batch, 10, 84),
            "base_velocity": torch.randn(batch, 3),
            "height_map": torch.randn(batch, 16, 32),
            "critic": torch.randn(batch, 8),
            "amp": torch.randn(batch, 59),
            "depth": torch.rand(batch, 4, 6, 9),
        },
        batch_size=[batch],
    )


def flat_env_cfg():
    terrain = TerrainSceneCfg(("flat",), num_levels=1, border_m=4.0)
    return make_locomotion_env_cfg(G1, num_envs=2, terrain=terrain, seed=0)


def mirrored_name(name: str) -> str:
    swap = {"left": "right", "right": "left"}
    return "_".join(swap.get(part, part) for part in name.split("_"))


def mirrored_state(state: np.ndarray, joints: mirror.SignedMap) -> np.ndarray:
    """Mirror image of base pose or velocity followed by the joints."""
    axial, polar = np.array(AXIAL.signs), np.array(POLAR.signs)
    quat_or_spin = state[3:-25]
    if len(quat_or_spin) == 4:
        axial = np.concatenate([[1.0], axial])  # The real part stays.
    return np.concatenate(
        [
            state[:3] * polar,
            quat_or_spin * axial,
            state[-25:][list(joints.source)] * np.array(joints.signs),
        ]
    )


@pytest.mark.parametrize("robot", map(get_robot, ROBOTS), ids=list(ROBOTS))
def test_robots_are_symmetric_in_pose_scale_and_limits(robot):
    model, _ = standing_pose(robot)
    joints = joint_mirror(model, robot.joint_names)
    default = torch.tensor(robot.joint_values(robot.default_joint_pos))
    torch.testing.assert_close(joints(default), default)
    scale = torch.tensor(robot.joint_values(robot.action_scale))
    torch.testing.assert_close(joints(scale).abs(), scale)
    low, high = torch.from_numpy(
        np.array([model.joint(name).range for name in robot.joint_names])
    ).T
    source, signs = list(joints.source), torch.tensor(joints.signs)
    low_mirrored = torch.where(signs > 0, low[source], -high[source])
    torch.testing.assert_close(low_mirrored, low, atol=1e-3, rtol=0)


def test_partners_of_the_g1_are_named_so_and_roll_and_yaw_change_sign(g1):
    joints = joint_mirror(g1, G1.joint_names)
    for i, name in enumerate(G1.joint_names):
        assert G1.joint_names[joints.source[i]] == mirrored_name(name)
        assert joints.signs[i] == (-1.0 if "roll" in name or "yaw" in name else 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_mirrored_state_gives_mirrored_bodies(g1, seed):
    rng = np.random.default_rng(seed)
    joints = joint_mirror(g1, G1.joint_names)
    low, high = np.array([g1.joint(name).range for name in G1.joint_names]).T
    quat = rng.normal(size=4)
    qpos = np.concatenate(
        [rng.normal(size=3), quat / np.linalg.norm(quat), rng.uniform(low, high)]
    )
    qvel = rng.normal(size=g1.nv)
    found, image = mujoco.MjData(g1), mujoco.MjData(g1)
    found.qpos[:], found.qvel[:] = qpos, qvel
    image.qpos[:] = mirrored_state(qpos, joints)
    image.qvel[:] = mirrored_state(qvel, joints)
    for data in (found, image):
        mujoco.mj_forward(g1, data)
    for body in range(1, g1.nbody):
        partner = g1.body(mirrored_name(g1.body(body).name)).id
        expected = found.xpos[body] * [1, -1, 1]
        np.testing.assert_allclose(image.xpos[partner], expected, atol=1e-4)
        speeds = [np.zeros(6), np.zeros(6)]
        for data, index, out in zip(
            (found, image), (body, partner), speeds, strict=True
        ):
            mujoco.mj_objectVelocity(g1, data, mujoco.mjtObj.mjOBJ_XBODY, index, out, 0)
        sign = np.array([*AXIAL.signs, *POLAR.signs])
        np.testing.assert_allclose(speeds[1], speeds[0] * sign, atol=2e-3)


def test_gravity_in_the_base_is_mirrored_like_a_polar_vector():
    rng = np.random.default_rng(0)
    quat = rng.normal(size=4)
    quat /= np.linalg.norm(quat)
    seen = []
    for q in (quat, quat * [1.0, *AXIAL.signs]):
        matrix = np.zeros(9)
        mujoco.mju_quat2Mat(matrix, q)
        seen.append(matrix.reshape(3, 3).T @ [0.0, 0.0, -1.0])
    np.testing.assert_allclose(seen[1], seen[0] * POLAR.signs, atol=1e-12)


def test_mirroring_twice_gives_everything_back(maps):
    obs, actions = make_obs(3), torch.randn(3, 25)
    once = maps.observations(obs)
    twice = maps.observations(once)
    for name in GROUPS:
        assert torch.equal(twice[name], obs[name]), name
        assert not torch.equal(once[name], obs[name]), name
    assert torch.equal(maps.actions(maps.actions(actions)), actions)


def test_parts_of_the_groups_are_where_the_contract_says(maps):
    obs, actions = make_obs(2), torch.randn(2, 25)
    obs["teacher_proprioception"][:, 59:] = actions
    obs["amp"][:, :25] = obs["teacher_proprioception"][:, 9:34]
    image = maps.observations(obs)
    body, seen = image["teacher_proprioception"], obs["teacher_proprioception"]
    torch.testing.assert_close(body[:, :3], seen[:, :3] * torch.tensor([-1, 1, -1]))
    torch.testing.assert_close(body[:, 6:9], seen[:, 6:9] * torch.tensor([1, -1, -1]))
    torch.testing.assert_close(body[:, 59:], maps.actions(actions))
    torch.testing.assert_close(image["amp"][:, :25], body[:, 9:34])
    # y index 0 is the right edge; ahead stays ahead.
    assert torch.equal(image["height_map"][:, 0, 7], obs["height_map"][:, 15, 7])
    # Force on the left foot becomes one on the right foot, from the other side.
    left, right = obs["critic"][0, :3], image["critic"][0, 3:6]
    torch.testing.assert_close(right, left * torch.tensor([1.0, -1.0, 1.0]))


def test_augment_appends_the_image_to_the_batch(maps, monkeypatch):
    monkeypatch.setattr(mirror, "mirror_of_env", lambda _: maps)
    monkeypatch.setattr(mirror, "_MIRRORS", {})
    env = type("Env", (), {})()
    obs, actions = make_obs(3), torch.randn(3, 25)
    both, both_actions = mirror.augment(env, obs, actions)
    assert both is not None
    assert both_actions is not None
    assert both.batch_size == torch.Size([6])
    assert torch.equal(both["amp"][:3], obs["amp"])
    assert torch.equal(both["amp"][3:], maps.observations(obs)["amp"])
    assert torch.equal(both_actions[3:], maps.actions(actions))
    assert mirror.augment(env, None, None) == (None, None)


def learn_from_images(env: RslRlVecEnvWrapper, class_name: str) -> PPO:
    """One update of PPO or of ours; the same random numbers for both."""
    torch.manual_seed(0)
    ame = {"dim": 12, "num_heads": 3, "hidden_channels": 2, "kernel_size": 3}
    shared = {"hidden_dims": [8], "ame_cfg": ame}
    model = {"class_name": "solo.networks.ame_model:AmeModel", **shared}
    noise = {"class_name": "GaussianDistribution", "init_std": 0.1}
    vectors = ["teacher_proprioception", "base_velocity", "height_map"]
    cfg = {
        "num_steps_per_env": 3,
        "multi_gpu": None,
        "obs_groups": {"actor": vectors, "critic": [*vectors, "critic"]},
        "algorithm": {
            "class_name": class_name,
            "num_mini_batches": 1,
            "symmetry_cfg": {
                "data_augmentation_func": "solo.algorithms.mirror:augment",
                "use_data_augmentation": True,
            },
        },
        "actor": {**model, "distribution_cfg": noise},
        "critic": dict(model),
    }
    env.unwrapped.reset(seed=0)
    obs = env.get_observations()
    cls = resolve_callable(class_name)
    ppo = cls.construct_algorithm(obs, env, cfg, "cpu")
    with torch.inference_mode():
        for _ in range(3):
            obs, rewards, dones, extras = env.step(ppo.act(obs))
            ppo.process_env_step(obs, rewards, dones, extras)
        ppo.compute_returns(obs)
    losses = ppo.update()
    assert all(np.isfinite(value) for value in losses.values())
    assert losses["symmetry"] > 0.0
    return ppo


@pytest.mark.slow
def test_ppo_learns_from_the_images_in_a_real_environment():
    env = RslRlVecEnvWrapper(ManagerBasedRlEnv(flat_env_cfg(), device="cpu"))
    learn_from_images(env, "PPO")
    ppo = learn_from_images(env, "solo.algorithms.ppo_amp:PpoAmp")
    obs = env.get_observations()
    both, _ = mirror.augment(env, obs, None)
    assert both is not None
    # Ours mirrors every second sample, and logs rsl_rl's measure for these.
    assert isinstance(ppo.symmetry, LeanSymmetry)
    log_prob = torch.arange(2.0).unsqueeze(1)
    names = ("old_actions_log_prob", "values", "advantages", "returns")
    batch: Any = SimpleNamespace(**dict.fromkeys(names, log_prob))
    batch.observations, batch.actions = obs, torch.arange(50.0).reshape(2, 25)
    actions = batch.actions
    ppo.symmetry.augment_batch(batch, 2)
    _, images = mirror.augment(env, None, actions)
    assert images is not None
    assert torch.equal(batch.actions, torch.cat((actions, images[2:3])))
    assert torch.equal(batch.observations["height_map"], both["height_map"][:3])
    assert batch.returns.flatten().tolist() == [0.0, 1.0, 0.0]
    ppo.actor(batch.observations, stochastic_output=True)
    found = ppo.symmetry.compute_loss(ppo.actor, batch, 2)
    first: Any = SimpleNamespace(observations=both[::2])
    expected = Symmetry.compute_loss(ppo.symmetry, ppo.actor, first, 1)
    torch.testing.assert_close(found, expected)
    assert found > 0.0
    again, _ = mirror.augment(env, both[2:], None)
    assert again is not None
    for name in env.unwrapped.observation_manager.active_terms:
        assert torch.equal(again[name][2:], obs[name]), name
    env.close()


def test_unknown_term_and_asymmetric_robot_are_refused(maps):
    with pytest.raises(SoloError, match=r"'lidar'.*mirror\.TERMS"):
        MirrorMaps.of_terms({"critic": ["lidar"]}, maps.actions)
    with pytest.raises(SoloError, match="own"):
        MirrorMaps.of_terms({"x": ["height_map", "command"]}, maps.actions)
    one_armed = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><body name="base"><freejoint/><geom size="0.1"/>
        <body pos="0 0.2 0"><joint name="arm" axis="0 1 0"/><geom size="0.1"/></body>
        </body></worldbody></mujoco>"""
    )
    with pytest.raises(SoloError, match="'arm' has 0 mirror partners"):
        joint_mirror(one_armed, ["arm"])


def test_pairs_are_swapped():
    pair = swap_sides(POLAR)(torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    assert pair.tolist() == [4.0, -5.0, 6.0, 1.0, -2.0, 3.0]
