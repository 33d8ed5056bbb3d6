"""Velocity commands: ranges, headings and resampling."""

from __future__ import annotations

from typing import Any

import torch
from mjlab.tasks.velocity.mdp import UniformVelocityCommandCfg

from solo.envs.locomotion_env_cfg import stress_command, training_command
from solo.envs.make import make_env
from solo.envs.names import COMMAND

from .helpers import make_cfg, without_randomness


def make(command: UniformVelocityCommandCfg, num_envs: int = 64):
    cfg = without_randomness(make_cfg(num_envs))
    cfg.commands[COMMAND] = command
    env = make_env(cfg)
    env.reset(seed=0)
    term: Any = env.command_manager.get_term(COMMAND)
    return env, term


def let_pass(env, steps: int) -> None:
    """Time for the commands alone; robots do not move."""
    for _ in range(steps):
        env.command_manager.compute(dt=env.step_dt)


def test_training_commands_fill_their_ranges_and_are_resampled():
    env, term = make(training_command())
    first = term.vel_command_b.clone()
    moving = first[~term.is_standing_env]
    assert moving[:, 0].min() >= -0.5
    assert moving[:, 0].max() <= 1.0
    assert moving[:, 0].max() - moving[:, 0].min() > 1.2
    assert moving[:, 1].abs().max() <= 0.5
    let_pass(env, 499)
    assert torch.equal(term.vel_command_b[:, :2], first[:, :2])
    let_pass(env, 2)  # 10 s are over.
    assert not torch.equal(term.vel_command_b[:, :2], first[:, :2])


def test_the_heading_is_turned_to():
    _, term = make(training_command())
    moving = ~term.is_standing_env & term.is_heading_env
    expected = (0.5 * term.heading_error).clamp(-1.0, 1.0)
    torch.testing.assert_close(term.vel_command_b[moving, 2], expected[moving])


def test_the_stress_test_asks_for_straight_ahead_along_x():
    env, term = make(stress_command())
    command = term.vel_command_b
    assert command[:, 0].min() >= 0.4
    assert command[:, 0].max() <= 1.0
    assert (command[:, 1] == 0).all()
    assert (term.heading_target == 0).all()
    assert not term.is_standing_env.any()
    first = command[:, 0].clone()
    let_pass(env, 600)
    assert torch.equal(command[:, 0], first)  # Constant over the rollout.
