"""Each row of the paper's randomisation table: its range, and that physics feels it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.events_cfg import PUSH, make_events
from solo.envs.make import make_env
from solo.envs.mdp.events import damping_ratio
from solo.robots.g1 import G1

from .helpers import make_cfg, stand_still, without_randomness


@pytest.fixture(scope="module")
def env() -> ManagerBasedRlEnv:
    env = make_env(make_cfg(num_envs=256))
    env.reset(seed=1)
    return env


def make_pair(name: str, first: dict, second: dict) -> ManagerBasedRlEnv:
    """Two robots, each with its own value of one term of randomisation."""
    cfg = without_randomness(make_cfg(num_envs=2))
    cfg.events[name] = make_events(G1)[name]
    cfg.events[name].params.update(first)
    env = make_env(cfg)
    term = env.event_manager.get_term_cfg(name)
    term.func(env, torch.tensor([1]), **{**term.params, **second})
    env.reset(seed=1)
    return env


def spread(values: torch.Tensor, low: float, high: float) -> None:
    """All values are inside the range and fill most of it."""
    assert values.min() >= low - 1e-5
    assert values.max() <= high + 1e-5
    assert values.max() - values.min() > 0.8 * (high - low)


def model_rows(env: ManagerBasedRlEnv, field: str, names: list[str], kind: str):
    robot = env.scene["robot"]
    local = getattr(robot, "find_geoms" if kind == "geom" else "find_bodies")(names)[0]
    ids = getattr(robot.indexing, f"{kind}_ids")[local]
    return getattr(env.sim.model, field)[:, ids]


def test_contact_material_range(env):
    soles = [g.name for foot in G1.feet for g in foot.geoms()]
    friction = model_rows(env, "geom_friction", soles, "geom")[..., 0]
    # The mean of static 0.6..1.0 and dynamic 0.4..0.8.
    spread(friction[:, 0], 0.5, 0.9)
    assert (friction == friction[:, :1]).all()  # One material per robot.
    ratio = model_rows(env, "geom_solref", soles, "geom")[..., 1]
    rebound = torch.exp(-math.pi * ratio / (1 - ratio.square()).sqrt())
    spread(rebound[:, 0], 0.0, 0.005)


def test_restitution_is_the_rebound_of_a_damped_spring():
    ratio = damping_ratio(torch.tensor([0.0, 0.005, 0.5])).tolist()
    assert ratio[0] == 1.0
    for z, rebound in zip(ratio[1:], (0.005, 0.5), strict=True):
        assert math.exp(-math.pi * z / math.sqrt(1 - z * z)) == pytest.approx(rebound)


def test_waist_mass_and_com_range(env):
    mass = model_rows(env, "body_mass", ["torso_link"], "body")[:, 0]
    nominal = env.sim.mj_model.body("robot/torso_link").mass[0]
    spread(mass - nominal, -3.0, 3.0)
    inertia = model_rows(env, "body_inertia", ["torso_link"], "body")[:, 0]
    nominal_inertia = env.sim.mj_model.body("robot/torso_link").inertia
    np.testing.assert_allclose(
        inertia / mass[:, None],
        np.broadcast_to(nominal_inertia / nominal, (256, 3)),
        rtol=1e-4,
    )
    com = model_rows(env, "body_ipos", ["torso_link"], "body")[:, 0]
    com = com - torch.tensor(env.sim.mj_model.body("robot/torso_link").ipos).float()
    spread(com[:, 0], -0.05, 0.01)
    spread(com[:, 1], -0.03, 0.03)
    spread(com[:, 2], -0.05, 0.05)


def test_actuator_gains_range(env):
    model = env.sim.model
    nominal = torch.tensor(env.sim.mj_model.actuator_gainprm[:, 0]).float()
    stiffness = model.actuator_gainprm[:, :, 0] / nominal
    spread(stiffness, 0.7, 1.3)
    damping = model.actuator_biasprm[:, :, 2] / torch.tensor(
        env.sim.mj_model.actuator_biasprm[:, 2]
    )
    spread(damping.float(), 0.7, 1.3)
    # Log-uniform: the median is the geometric mean of the ends.
    assert stiffness.median().item() == pytest.approx(math.sqrt(0.7 * 1.3), abs=0.02)


def test_start_of_an_episode(env):
    env.reset(seed=2)
    data = env.scene["robot"].data
    offset = data.root_link_pos_w - env.scene.env_origins
    spread(offset[:, 0], -0.5, 0.5)
    spread(offset[:, 1], -0.5, 0.5)
    spread(data.heading_w, -math.pi, math.pi)
    gravity = data.projected_gravity_b
    spread(torch.asin(gravity[:, 0]), -0.25, 0.25)  # Pitch.
    spread(torch.atan2(-gravity[:, 1], -gravity[:, 2]), -0.25, 0.25)  # Roll.
    for axis in range(3):
        spread(data.root_link_lin_vel_w[:, axis], -0.5, 0.5)
        spread(data.root_link_ang_vel_w[:, axis], -0.5, 0.5)
    knee = G1.joint_names.index("left_knee_joint")
    default = G1.joint_values(G1.default_joint_pos)[knee]
    spread(data.joint_pos[:, knee] / default, 0.5, 1.5)
    assert (data.joint_vel == 0).all()


def test_lower_friction_slides_further():
    """Robots at 0.8 m/s on soles of friction 0.15 and 0.8."""
    slippery, rough = (
        {"static_friction": (x, x), "dynamic_friction": (x, x), "restitution": (0, 0)}
        for x in (0.15, 0.8)
    )
    env = make_pair("contact_material", slippery, rough)
    robot = env.scene["robot"]
    stand_still(env, 15)
    velocity = torch.zeros(2, 6)
    velocity[:, 1] = 0.8
    robot.write_root_link_velocity_to_sim(velocity)
    feet = robot.find_bodies([foot.body for foot in G1.feet])[0]
    before = robot.data.body_link_pos_w[:, feet, 1].clone()
    stand_still(env, 15)
    moved = (robot.data.body_link_pos_w[:, feet, 1] - before).mean(dim=1)
    assert moved[0] > moved[1] + 0.01


def test_restitution_bounces():
    env = make_pair(
        "contact_material", {"restitution": (0.0, 0.0)}, {"restitution": (0.7, 0.7)}
    )
    robot = env.scene["robot"]
    pose = robot.data.root_link_pose_w.clone()
    pose[:, 2] += 0.15
    robot.write_root_link_pose_to_sim(pose)
    feet = robot.find_bodies([foot.body for foot in G1.feet])[0]
    heights = []
    for _ in range(30):
        stand_still(env, 1)
        heights.append(robot.data.body_link_pos_w[:, feet, 2].mean(dim=1))
    rebound = []
    for height in torch.stack(heights, dim=1).tolist():
        touch_down = int(np.argmin(height[:15]))
        rebound.append(max(height[touch_down : touch_down + 6]) - height[touch_down])
    assert rebound[1] > rebound[0] + 0.003


def settled_heights(env: ManagerBasedRlEnv) -> list[float]:
    stand_still(env, 15)
    data = env.scene["robot"].data
    return (data.root_link_pos_w - env.scene.env_origins)[:, 2].tolist()


def test_a_heavier_waist_sinks_deeper_into_the_springs():
    light, heavy = settled_heights(
        make_pair("waist_mass", {"offset_kg": (-3.0, -3.0)}, {"offset_kg": (3.0, 3.0)})
    )
    assert heavy < light - 0.0005


def test_softer_springs_sink_deeper():
    softer, stiffer = (
        {"kp_range": (kp, kp), "kd_range": (1.0, 1.0)} for kp in (0.7, 1.3)
    )
    soft, stiff = settled_heights(make_pair("actuator_gains", softer, stiffer))
    assert soft < stiff - 0.001


def test_a_shifted_centre_of_mass_tips_the_robot_that_way():
    env = make_pair(
        "waist_com", {"ranges": {0: (-0.05, -0.05)}}, {"ranges": {0: (0.05, 0.05)}}
    )
    stand_still(env, 25)
    lean = env.scene["robot"].data.projected_gravity_b[:, 0]
    assert lean[1] > lean[0] + 0.01


def test_pushes_come_every_10_to_15_s():
    cfg = without_randomness(make_cfg(num_envs=8))
    times: dict[int, list[float]] = {i: [] for i in range(8)}

    def record(env, env_ids, **kwargs):
        for i in env_ids.tolist():
            times[i].append(env.common_step_counter * env.step_dt)

    push = make_events(G1)[PUSH]
    push.func = record
    cfg.events[PUSH] = push
    env = make_env(cfg)
    env.reset()
    for _ in range(1600):  # Time for the events alone: no episode ends.
        env.common_step_counter += 1
        env.event_manager.apply(mode="interval", dt=env.step_dt)
    for seen in times.values():
        gaps = np.diff([0.0, *seen])
        assert len(seen) >= 2
        assert gaps.min() >= 10.0 - 0.05
        assert gaps.max() <= 15.0 + 0.05


def test_a_push_changes_the_planar_velocity_alone():
    cfg = without_randomness(make_cfg(num_envs=128))
    env = make_env(cfg)
    env.reset()
    push = make_events(G1)[PUSH]
    before = env.scene["robot"].data.root_link_vel_w.clone()
    push.func(env, torch.arange(128), **push.params)
    env.sim.forward()
    change = env.scene["robot"].data.root_link_vel_w - before
    spread(change[:, 0], -1.0, 1.0)
    spread(change[:, 1], -1.0, 1.0)
    assert change[:, 2:].abs().max() < 1e-5
