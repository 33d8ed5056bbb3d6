"""The torque that holds beginners upright, and how it fades."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.utils.lab_api.math import quat_from_euler_xyz

from solo.envs.make import make_env
from solo.envs.mdp import collapsed
from solo.envs.mdp.curriculums import ASSIST, fade_assist, upright_assist
from solo.robots.g1 import G1
from solo.tasks.env_cfg import add_assist

from .helpers import make_cfg, make_still_env, without_randomness


def test_the_torque_points_towards_upright():
    env = make_still_env(3)
    robot = env.scene["robot"]
    pose = robot.data.root_link_pose_w.clone()
    pose[:, 2] += 1.0
    tilt = torch.tensor([[0.0, 0.2, 0.0], [0.1, 0.0, 0.0], [0.0, 0.0, 0.7]])
    pose[:, 3:] = quat_from_euler_xyz(*tilt.unbind(dim=1))
    robot.write_root_link_pose_to_sim(pose)
    robot.write_root_link_velocity_to_sim(torch.zeros(3, 6))
    env.sim.forward()
    base = SceneEntityCfg("robot", body_names=("pelvis",))
    base.resolve(env.scene)
    upright_assist(env, None, 0.5, base, stiffness=100.0, damping=1.0)
    torque = env.sim.data.xfrc_applied[:, env.sim.mj_model.body("robot/pelvis").id, 3:]
    expected = [
        [0.0, -50.0 * math.sin(0.2), 0.0],  # Pitched forward: turn back.
        [-50.0 * math.sin(0.1), 0.0, 0.0],  # Rolled right: turn left.
        [0.0, 0.0, 0.0],  # A heading is no tilt.
    ]
    torch.testing.assert_close(torque, torch.tensor(expected), atol=1e-3, rtol=0.0)


@pytest.fixture(scope="module")
def helped():
    cfg = without_randomness(make_cfg(32))
    add_assist(cfg, G1)
    # Falls alone are counted here; a robot that moves at random also goes on its knees.
    cfg.terminations.pop("collapsed")
    cfg.rewards["termination_penalty"].params["term_names"] = ("fall",)
    env = make_env(cfg)
    env.reset(seed=0)
    return env


def count_falls(env, strength: float) -> int:
    env.reset(seed=0)
    params = env.event_manager.get_term_cfg(ASSIST).params
    falls = 0
    for _ in range(75):
        params["strength"] = strength  # Whatever the curriculum says.
        _, _, terminated, _, _ = env.step(0.4 * torch.randn(32, 25))
        falls += int(terminated.sum())
    return falls


@pytest.mark.slow
def test_it_holds_a_robot_that_moves_at_random(helped):
    assert count_falls(helped, 1.0) < 0.2 * count_falls(helped, 0.0)


def test_it_fades_while_falls_are_rare_and_comes_back(helped):
    env = helped
    params = env.event_manager.get_term_cfg(ASSIST).params
    params["strength"] = 0.5
    fade = fade_assist(None, env)  # type: ignore[arg-type] - Reads nothing of it.
    nobody = torch.zeros(32, dtype=torch.bool)
    ids = torch.arange(32)

    def window(fallen: torch.Tensor) -> float:
        env.termination_manager._terminated_buf = fallen
        env.common_step_counter += 50
        return float(fade(env, ids, change=0.01))

    # It begins as if everybody fell, so the strength rises before it fades.
    first = [window(nobody) for _ in range(40)]
    assert all(a > b for a, b in pairwise(first[20:]))
    again = [window(~nobody) for _ in range(20)]
    assert again[-1] > first[-1]


def test_only_a_robot_that_is_held_can_be_on_its_knees():
    """The same low base, with the torque and without."""
    cfg = without_randomness(make_cfg(2))
    add_assist(cfg, G1)
    env = make_env(cfg)
    env.reset(seed=0)
    term = env.termination_manager.get_term_cfg("collapsed")
    pose = env.scene["robot"].data.root_link_pose_w.clone()
    params = {**term.params, "min_height_m": 0.9}  # Standing is low, too.
    assert float(pose[0, 2]) < 0.9
    for strength, expected in ((1.0, True), (0.1, True), (0.0, False)):
        env.event_manager.get_term_cfg(ASSIST).params["strength"] = strength
        assert (collapsed(env, **params) == expected).all()
    env.close()
