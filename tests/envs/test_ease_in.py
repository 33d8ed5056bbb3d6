"""The gentle start of a training, and episodes that begin in a reference motion."""

from __future__ import annotations

import pytest
import torch

from solo.envs.make import make_env
from solo.envs.names import COMMAND
from solo.motions.catalogue import make_clips
from solo.motions.library import MotionLibrary
from solo.robots.g1 import G1
from solo.tasks.env_cfg import make_stage_env_cfg
from solo.tasks.profiles import SMOKE

from .helpers import FLAT


@pytest.fixture(scope="module")
def motions() -> MotionLibrary:
    return MotionLibrary(make_clips(G1, extras=False), G1)


@pytest.fixture(scope="module")
def env(motions):
    env = make_env(
        make_stage_env_cfg(G1, "teacher", SMOKE, motions, num_envs=64, terrain=FLAT)
    )
    env.reset()
    return env


def ease(env, samples: float) -> None:
    env.common_step_counter = round(samples / env.num_envs)
    env.curriculum_manager.compute(env_ids=torch.arange(env.num_envs))


def test_values_move_from_the_start_to_the_papers(env):
    assert SMOKE.ease_in is not None
    total = SMOKE.ease_in.env_steps
    command = env.command_manager.get_term(COMMAND).cfg
    push = env.event_manager.get_term_cfg("push_robot").params
    ease(env, 0.0)
    assert command.ranges.lin_vel_x == SMOKE.ease_in.lin_vel_x
    assert command.rel_heading_envs == 1.0
    assert push["velocity_range"] == {"x": (0.0, 0.0), "y": (0.0, 0.0)}
    lift = env.reward_manager.get_term_cfg("swing_lift")
    assert lift.weight == SMOKE.ease_in.swing_weight
    stride = env.reward_manager.get_term_cfg("stride")
    assert stride.weight == 0.0
    foothold = env.reward_manager.get_term_cfg("foothold_grad_penalty")
    assert foothold.weight == SMOKE.ease_in.foothold_weight == 0.0
    ease(env, total / 4)
    assert lift.weight == pytest.approx(SMOKE.ease_in.swing_weight / 2, abs=0.3)
    ease(env, total / 2)
    assert lift.weight == 0.0
    assert stride.weight == SMOKE.ease_in.stride_weight > 0.0
    low, high = SMOKE.ease_in.lin_vel_x
    assert command.ranges.lin_vel_x == pytest.approx(
        ((low - 0.5) / 2, (high + 1.0) / 2), abs=0.03
    )
    ease(env, 10 * total)
    assert command.ranges.lin_vel_x == (-0.5, 1.0)
    assert command.ranges.ang_vel_z == (-1.0, 1.0)
    assert command.rel_heading_envs == 1.0
    assert push["velocity_range"] == {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}
    assert lift.weight == 0.0
    assert foothold.weight == -5.0


def test_episodes_begin_in_the_clips(env, motions):
    """Every started state is a state of some clip, seen from the robot itself."""
    term = env.event_manager.get_term_cfg("reset_to_reference")
    term.func(env, torch.arange(64), motions, probability=1.0)
    env.sim.forward()
    state = env.observation_manager.compute(update_history=True)["amp"]
    clips = motions.amp_states
    distance = torch.cdist(state, clips).amin(dim=1)
    assert distance.max() < 1e-2
    feet = env.scene["robot"].find_bodies([foot.body for foot in G1.feet])[0]
    lowest = env.scene["robot"].data.body_link_pos_w[:, feet, 2].amin(dim=1)
    assert lowest.min() > 0.035 - 0.01  # The ankle is 3.5 cm above the sole.
    assert lowest.max() < 0.12


def test_probability_zero_leaves_robots_alone(env, motions):
    before = env.sim.data.qpos.clone()
    term = env.event_manager.get_term_cfg("reset_to_reference")
    term.func(env, torch.arange(64), motions, probability=0.0)
    assert torch.equal(env.sim.data.qpos, before)
