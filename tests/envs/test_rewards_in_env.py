"""The reward terms read what they should from a simulated robot."""

from __future__ import annotations

import math

import pytest
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.utils.lab_api.math import quat_from_euler_xyz

from solo.envs.grid_terrain import grid_terrain
from solo.envs.mdp.rewards import orientation_l2, track_lin_vel_xy_exp
from solo.envs.names import COMMAND, FEET_CONTACT
from solo.robots.g1 import G1
from solo.terrains import TerrainSceneCfg

from .helpers import make_still_env, stand_still


@pytest.fixture(scope="module")
def env() -> ManagerBasedRlEnv:
    return make_still_env(4)


def term(env: ManagerBasedRlEnv, name: str) -> torch.Tensor:
    """Value of a term now, without weight and step time."""
    cfg = env.reward_manager.get_term_cfg(name)
    return cfg.func(env, **cfg.params)


def test_a_standing_robot_is_not_punished_and_carries_its_weight(env):
    env.reset()
    stand_still(env, 8)
    for name in ("fly", "undesired_contacts", "termination_penalty", "feet_stumble"):
        assert (term(env, name) == 0).all(), name
    assert (term(env, "foothold_grad_penalty") == 0).all()
    force = env.scene[FEET_CONTACT].data.force
    weight = env.sim.mj_model.body("robot/pelvis").subtreemass[0] * 9.81
    carried = force[:, :, 2].abs().sum(dim=1)
    assert carried.tolist() == pytest.approx([weight] * 4, rel=0.3)
    assert (term(env, "energy") > 0).all()
    assert (term(env, "dof_pos_limits") == 0).all()


def test_lifted_robot_flies(env):
    env.reset()
    robot = env.scene["robot"]
    pose = robot.data.root_link_pose_w.clone()
    pose[:2, 2] += 1.0
    robot.write_root_link_pose_to_sim(pose)
    stand_still(env, 4)
    assert term(env, "fly").tolist() == [1.0, 1.0, 0.0, 0.0]


def test_tracking_is_in_the_heading_frame(env):
    """A robot that faces +y, leans, and moves along +y tracks a forward command."""
    env.reset()
    robot = env.scene["robot"]
    state = torch.zeros(4, 13)
    state[:, :3] = env.scene.env_origins + torch.tensor([0.0, 0.0, 1.5])
    yaw = torch.full((4,), math.pi / 2)
    state[:, 3:7] = quat_from_euler_xyz(torch.zeros(4), torch.full((4,), 0.3), yaw)
    state[:, 8] = 0.6  # y
    robot.write_root_state_to_sim(state)
    env.sim.forward()
    command = env.command_manager.get_term(COMMAND).vel_command_b
    command[:] = torch.tensor([0.6, 0.0, 0.0])
    assert track_lin_vel_xy_exp(env, COMMAND).tolist() == pytest.approx([1.0] * 4)
    # Gravity in a base pitched by 0.3 rad has the horizontal part sin 0.3.
    expected = math.sin(0.3) ** 2
    assert orientation_l2(env).tolist() == pytest.approx([expected] * 4, rel=1e-4)
    assert term(env, "body_orientation_l2").tolist() == pytest.approx(
        [expected] * 4, rel=1e-3
    )


def test_the_waist_on_the_ground_ends_the_episode_and_costs_200(env):
    env.reset()
    robot = env.scene["robot"]
    pose = robot.data.root_link_pose_w.clone()
    pose[0, 2] = 0.08  # On its face.
    pose[0, 3:] = quat_from_euler_xyz(*torch.tensor([[0.0], [math.pi / 2], [0.0]]))[0]
    robot.write_root_link_pose_to_sim(pose)
    _, reward, terminated, _, _ = env.step(torch.zeros(4, 25))
    assert terminated.tolist() == [True, False, False, False]
    # -200 per second for a step of 0.02 s.
    index = env.reward_manager.active_terms.index("termination_penalty")
    assert env.reward_manager._step_reward[:, index].tolist() == [-200.0, 0.0, 0.0, 0.0]
    assert reward[0] < -3.5


def test_joint_deviation_is_measured_from_the_default_pose(env):
    env.reset()
    robot = env.scene["robot"]
    position = robot.data.default_joint_pos.clone()
    position[:, G1.joint_names.index("left_hip_yaw_joint")] += 0.3
    position[:, G1.joint_names.index("left_knee_joint")] -= 0.1
    robot.write_joint_state_to_sim(position, torch.zeros_like(position))
    env.sim.forward()
    assert term(env, "joint_deviation_hip").tolist() == pytest.approx([0.3] * 4)
    assert term(env, "joint_deviation_legs").tolist() == pytest.approx([0.1] * 4)
    assert term(env, "joint_deviation_arms").tolist() == pytest.approx([0.0] * 4)


def test_foot_across_a_step_is_penalised():
    """Robots on the platform of a descending staircase, moved to its edge."""
    terrain = TerrainSceneCfg(
        ("stairs_down_30",), num_levels=1, difficulty=0.6, border_m=4.0
    )
    env = make_still_env(3, terrain=terrain)
    robot = env.scene["robot"]
    cfg = env.reward_manager.get_term_cfg("foothold_grad_penalty")
    grid = grid_terrain(env).grid
    origin = env.scene.env_origins[0]
    # Search the edge of the platform along +x.
    xs = torch.arange(0.0, 2.0, 0.01) + origin[0]
    heights = grid.height_at(xs.numpy(), float(origin[1]))
    edge = float(xs[int((heights < heights[0] - 0.05).argmax())])
    foot_x = robot.data.body_link_pos_w[:, robot.find_bodies(G1.feet[0].body)[0], 0]
    pose = robot.data.root_link_pose_w.clone()
    toe = foot_x[:, 0] + 0.10 - edge  # Distance of the front half from the edge.
    pose[0, 0] -= toe[0] + 0.3  # Well behind the edge.
    pose[1, 0] -= toe[1]  # The edge is below the front half of both feet.
    pose[2, 0] -= toe[2] - 0.13  # The edge is below the rear half.
    pose[:, 2] -= 0.01  # So that the soles touch.
    robot.write_root_link_pose_to_sim(pose)
    velocity = torch.zeros(3, 6)
    velocity[:, 0] = 0.2
    robot.write_root_link_velocity_to_sim(velocity)
    stand_still(env, 1)
    value = cfg.func(env, **cfg.params)
    assert value.tolist() == pytest.approx([0.0, 1.4, 1.4])


def test_velocities_in_the_base_frame(env):
    env.reset()
    robot = env.scene["robot"]
    velocity = torch.zeros(4, 6)
    velocity[:, 2] = 0.5  # Upwards.
    velocity[:, 3:5] = torch.tensor([0.3, -0.4])  # Roll and pitch rates.
    robot.write_root_link_velocity_to_sim(velocity)
    env.sim.forward()
    assert term(env, "lin_vel_z_l2").tolist() == pytest.approx([0.25] * 4, rel=1e-3)
    # The robots face along x, so the rates are those of the base.
    assert term(env, "ang_vel_xy_l2").tolist() == pytest.approx([0.25] * 4, rel=1e-3)


def test_action_rate_and_joint_acceleration(env):
    env.reset()
    env.step(torch.full((4, 25), 0.1))
    env.step(torch.full((4, 25), 0.3))
    # 25 joints, each changed by 0.2.
    assert term(env, "action_rate_l2").tolist() == pytest.approx([1.0] * 4, rel=1e-4)
    acceleration = env.scene["robot"].data.joint_acc
    by_hand = [sum(float(a) ** 2 for a in row) for row in acceleration]
    assert term(env, "dof_acc_l2").tolist() == pytest.approx(by_hand, rel=1e-4)
    assert min(by_hand) > 0.0
