"""The movable box: one body that physics, depth camera and height map agree on."""

from __future__ import annotations

import io
import math
from typing import cast

import pytest
import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.locomotion_env_cfg import make_simulation_cfg
from solo.envs.make import make_env
from solo.envs.names import FEET_CONTACT
from solo.envs.obstacle import (
    OBSTACLE,
    ObstacleCfg,
    add_obstacle,
    half_extents,
    obstacle_boxes,
    obstacle_pose,
    place_obstacle,
)
from solo.errors import SoloError
from solo.sim.fields import NativeData
from solo.stages.env_snapshot import EnvSnapshots
from tests.envs.helpers import make_cfg, make_still_env, stand_still, without_randomness

GRAVITY = 9.81


def make_box_env(num_envs=1, obstacle=None, **kwargs):
    """Still robots on flat ground, each with a box."""
    cfg = without_randomness(make_cfg(num_envs, **kwargs))
    cfg.terminations, cfg.rewards = {}, {}  # Robots may fall.
    add_obstacle(cfg, obstacle or ObstacleCfg())
    env = make_env(cfg)
    env.reset()
    return env


def place(env, ahead_m: float, yaw: float = 0.0, up_m: float = 0.0) -> None:
    """Put every box some way ahead of its robot."""
    position_w = env.scene.env_origins.clone()
    position_w[:, 0] += ahead_m
    position_w[:, 2] += up_m
    place_obstacle(env, None, position_w, torch.full((env.num_envs,), yaw))
    env.sim.forward()


def step_physics(env, seconds: float) -> None:
    for _ in range(round(seconds / env.cfg.sim.mujoco.timestep)):
        env.sim.step()
    env.sim.forward()


def height_map(env) -> torch.Tensor:
    return env.observation_manager.get_term_cfg("height_map", "height_map").func(
        env, None
    )


def everything(env) -> list[torch.Tensor]:
    """The last observations and the state."""
    values = [*env.obs_buf.values(), env.sim.data.qpos, env.sim.data.qvel]
    return [value.clone() for value in values]


def test_it_is_parked_out_of_the_way_until_it_is_placed():
    env = make_box_env(2)
    pos_w, quat_w = obstacle_pose(env)
    assert (pos_w[:, :2] - env.scene.env_origins[:, :2]).norm(dim=1).min() > 5.0
    assert pos_w[:, 2] == pytest.approx(0.1, abs=1e-6)
    step_physics(env, 1.0)
    assert obstacle_pose(env)[0] == pytest.approx(pos_w, abs=1e-3)
    place_obstacle(
        env, torch.tensor([1]), torch.tensor([[0.7, 0.2, 0.0]]), torch.tensor([0.6])
    )
    env.sim.forward()
    moved_w, turned_w = obstacle_pose(env)
    assert moved_w[0] == pytest.approx(pos_w[0], abs=1e-3)
    assert moved_w[1].tolist() == pytest.approx([0.7, 0.2, 0.1], abs=1e-6)
    quat = [math.cos(0.3), 0.0, 0.0, math.sin(0.3)]
    assert turned_w[1].tolist() == pytest.approx(quat, abs=1e-6)
    assert half_extents(env).tolist() == pytest.approx([0.2, 0.3, 0.1])
    env.reset(env_ids=torch.tensor([1]))
    assert obstacle_pose(env)[0][1] == pytest.approx(pos_w[1], abs=1e-6)
    assert quat_w[1].tolist() == pytest.approx([1.0, 0.0, 0.0, 0.0])
    env.close()


@pytest.mark.parametrize("yaw", [0.0, 0.5])
def test_at_rest_it_stays_at_rest_for_five_seconds(yaw):
    env = make_box_env(1)
    place(env, 3.03, yaw)  # Robots that nobody steers fall.
    before, quat = (x.clone() for x in obstacle_pose(env))
    step_physics(env, 5.0)
    after, quat_after = obstacle_pose(env)
    assert (after - before).norm() < 1e-3
    assert (before - after)[0, 2] < 2e-3
    assert quat_after == pytest.approx(quat, abs=1e-3)
    env.close()


def test_a_force_below_friction_does_not_move_it_and_one_above_does():
    """4 kg, coefficient 0.5: it holds 19.6 N. With 25 N it goes at 5.4 N / 4 kg."""
    env = make_box_env(3)
    place(env, 1.5)
    limit_n = 0.5 * 4.0 * GRAVITY
    body = env.scene[OBSTACLE].indexing.body_ids[0]
    force = torch.tensor([0.8 * limit_n, 25.0, 40.0])
    env.sim.data.xfrc_applied[:, body, 0] = force
    start = obstacle_pose(env)[0][:, 0].clone()
    seconds = 0.5
    step_physics(env, seconds)
    way = obstacle_pose(env)[0][:, 0] - start
    assert way[0] < 1e-3
    expected = 0.5 * (force[1:] - limit_n) / 4.0 * seconds**2
    torch.testing.assert_close(way[1:], expected, rtol=0.05, atol=0.0)
    env.close()


def test_a_foot_that_runs_into_it_pushes_it_ahead():
    """Its front is a centimetre before the toes of a robot that glides at 1 m/s."""
    env = make_box_env(2)
    place(env, 0.35)
    start = obstacle_pose(env)[0].clone()
    velocity = torch.zeros(2, 6)
    velocity[1, 0] = 1.0
    env.scene["robot"].write_root_link_velocity_to_sim(velocity)
    stand_still(env, 6)
    way = (obstacle_pose(env)[0] - start)[:, 0]
    assert abs(float(way[0])) < 1e-3  # This robot stands.
    assert 0.015 < way[1] < 0.2
    env.close()


def test_a_robot_can_stand_on_it_and_its_feet_know():
    """A platform of 1 m under a robot put 0.2 m higher; the soles find it there."""
    on_ground, on_box = make_still_env(1), make_box_env(
        1, ObstacleCfg(size_m=(1.0, 1.0, 0.2), mass_kg=40.0, friction=1.0)
    )  # fmt: skip
    place(on_box, 0.0)
    robot = on_box.scene["robot"]
    pose = torch.cat([robot.data.root_link_pos_w, robot.data.root_link_quat_w], dim=1)
    pose[:, 2] += 0.2
    robot.write_root_link_pose_to_sim(pose)
    on_box.sim.forward()
    for env in (on_ground, on_box):
        stand_still(env, 10)
    found = [env.scene[FEET_CONTACT].data for env in (on_ground, on_box)]
    assert (found[1].found > 0).all()
    assert (found[1].current_contact_time > 0.1).all()
    torch.testing.assert_close(found[1].force, found[0].force, rtol=0.05, atol=5.0)
    below = [height_map(env)[0, 8, 4].item() for env in (on_ground, on_box)]
    assert below[1] == pytest.approx(below[0], abs=0.005)
    on_ground.close()
    on_box.close()


def test_depth_and_map_show_the_box_where_physics_has_it():
    env = make_box_env(1, stage="perceptive")
    place(env, 0.9, yaw=0.4)
    term = env.observation_manager.get_term_cfg("depth", "depth").func
    seen = term.clean_image()
    boxes = obstacle_boxes(env)
    assert boxes is not None
    expected = term.camera.render(
        *term.camera_pose_w(), term.links_w(), term._radii, boxes=boxes
    )
    assert torch.equal(seen, expected)
    without = term.camera.render(*term.camera_pose_w(), term.links_w(), term._radii)
    assert (seen < without - 1e-3).sum() > 200
    assert (seen <= without).all()

    body = env.scene[OBSTACLE].indexing.body_ids[0]
    env.sim.data.xfrc_applied[:, body, 1] = 60.0
    step_physics(env, 0.2)
    env.sim.data.xfrc_applied[:] = 0.0
    moved = term.clean_image()
    assert (moved - seen).abs().max() > 0.05
    pos_w, _ = obstacle_pose(env)
    heights = height_map(env)[0]
    robot = env.scene["robot"].data.root_link_pos_w[0]
    column = int((pos_w[0, 0] - robot[0] + 0.3) / 0.05)
    row = int((pos_w[0, 1] - robot[1] + 0.4) / 0.05)
    top = float(pos_w[0, 2] + 0.1 - robot[2])
    assert float(heights[row, column]) == pytest.approx(top, abs=1e-3)
    env.close()


def test_out_of_sight_it_changes_no_bit_of_depth_and_map():
    """The same robot in the same place, with a box at the corner and without."""
    plain, other = make_still_env(2, stage="perceptive"), make_box_env(
        2, stage="perceptive"
    )  # fmt: skip
    assert obstacle_boxes(plain) is None
    images = []
    for env in (plain, other):
        term = env.observation_manager.get_term_cfg("depth", "depth").func
        term._offset[:] = 0.0
        images.append(term.clean_image())
    assert torch.equal(images[0], images[1])
    assert torch.equal(height_map(plain), height_map(other))
    assert (images[0] < 3.0).sum() > 1000
    plain.close()
    other.close()


def test_threads_change_nothing():
    states = []
    for num_threads in (1, 3):
        cfg = make_simulation_cfg(num_threads=num_threads)
        env = make_box_env(4, sim=cfg)
        for n in range(4):
            where = torch.tensor([[0.35 + 0.1 * n, 0.02 * n, 0.0]])
            place_obstacle(env, torch.tensor([n]), where, torch.tensor([0.3 * n]))
        velocity = torch.zeros(4, 6)
        velocity[:, 0] = 1.5
        env.scene["robot"].write_root_link_velocity_to_sim(velocity)
        stand_still(env, 25)
        data = env.sim.data
        assert isinstance(data, NativeData)
        states.append(data.state["qpos"].exact.copy())
        env.close()
    assert (states[0] == states[1]).all()


def test_a_snapshot_holds_the_box():
    env = make_box_env(2, stage="perceptive")
    snapshots = EnvSnapshots(env)
    place(env, 0.5, 0.3)
    velocity = torch.zeros(2, 6)
    velocity[:, 0] = 1.5
    env.scene["robot"].write_root_link_velocity_to_sim(velocity)
    stand_still(env, 8)
    file = io.BytesIO()
    torch.save({"env": snapshots.take(), "rng": torch.get_rng_state()}, file)
    stand_still(env, 10)
    first = everything(env)

    other = make_box_env(2, stage="perceptive", seed=9)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    EnvSnapshots(other).restore(saved["env"])
    torch.set_rng_state(saved["rng"])
    stand_still(other, 10)
    assert all(map(torch.equal, first, everything(other)))
    assert obstacle_pose(other)[0][0, 0] > 0.5  # It has been pushed.
    env.close()
    other.close()


def test_mistakes_are_refused():
    with pytest.raises(SoloError, match="mass is 0"):
        ObstacleCfg(mass_kg=0.0)
    with pytest.raises(SoloError, match="x is -1"):
        ObstacleCfg(size_m=(-1.0, 0.2, 0.2))
    with pytest.raises(SoloError, match="friction"):
        ObstacleCfg(friction=-0.1)
    cfg = make_cfg(1)
    add_obstacle(cfg, ObstacleCfg())
    with pytest.raises(SoloError, match="already"):
        add_obstacle(cfg, ObstacleCfg())
    env = make_still_env(1)
    with pytest.raises(SoloError, match="no obstacle"):
        obstacle_pose(env)
    env.close()


def test_physics_that_would_throw_it_into_the_air_is_refused():
    class Env:  # Warp takes minutes to compile; the check is all that is asked.
        scene = type("Scene", (), {"entities": {OBSTACLE: object()}})()
        sim = object()

    with pytest.raises(SoloError, match="backend native"):
        place_obstacle(cast(ManagerBasedRlEnv, Env()), None, torch.zeros(1, 3),
                       torch.zeros(1))  # fmt: skip
