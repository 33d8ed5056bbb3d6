"""Last states of episodes: what was observed there, without touching anything."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from solo.algorithms.ta_mse import TERMINAL_OBSERVATIONS
from solo.envs.make import make_env
from solo.envs.observations_cfg import NOISE
from solo.robots.g1 import G1
from solo.stages.runner import VecEnv
from solo.tasks.env_cfg import make_motions, make_stage_env_cfg
from solo.tasks.profiles import SMOKE
from solo.terrains import TerrainSceneCfg

TERRAIN = TerrainSceneCfg(("flat", "stairs_up_30"), num_levels=2, border_m=4.0)
ENVS, END = 4, 5
DONE = [0, 2]


def roll_out(keep: bool, auto_reset: bool = True):
    """Observations and extras of each step; two robots run out of time in step END."""
    cfg = make_stage_env_cfg(
        G1,
        "perceptive",
        replace(SMOKE, velocity_error=0.15),
        make_motions(G1, "cpu"),
        num_envs=ENVS,
        terrain=TERRAIN,
    )
    cfg.auto_reset = auto_reset
    env = VecEnv(make_env(cfg))
    if keep:
        env.keep_terminal_observations(without={"critic", "amp"})
    env.episode_length_buf[DONE] = env.max_episode_length - END
    generator = torch.Generator().manual_seed(1)
    steps = []
    for _ in range(END + 1 if auto_reset else END):
        obs, _, dones, extras = env.step(
            0.3 * torch.randn(ENVS, env.num_actions, generator=generator)
        )
        steps.append((obs.clone(), dones.clone(), extras))
    env.close()
    return steps


@pytest.fixture(scope="module")
def kept():
    return roll_out(keep=True)


@pytest.mark.slow
def test_only_steps_that_end_an_episode_have_them(kept):
    for step, (_, dones, extras) in enumerate(kept, 1):
        assert dones.nonzero().flatten().tolist() == (DONE if step == END else [])
        assert (TERMINAL_OBSERVATIONS in extras) == (step == END)
    ends = kept[END - 1][2][TERMINAL_OBSERVATIONS]
    assert ends.batch_size == (2,)
    assert "critic" not in set(ends.keys())


@pytest.mark.slow
def test_they_change_nothing(kept):
    """Noise, commands, starts and images of all robots stay the same to the bit."""
    for (obs, *_), (other, *_) in zip(kept, roll_out(keep=False), strict=True):
        for group in sorted(obs.keys()):
            assert torch.equal(obs[group], other[group]), group


@pytest.mark.slow
def test_they_are_what_a_robot_sees_that_is_not_reset(kept):
    ends = kept[END - 1][2][TERMINAL_OBSERVATIONS]
    steps = roll_out(keep=False, auto_reset=False)
    last, before = steps[END - 1][0][DONE], steps[END - 2][0][DONE]
    for group in ("teacher_proprioception", "base_velocity", "height_map"):
        # Bodies are one physics step late, of the four of a control step.
        late = (ends[group] - last[group]).abs().mean()
        a_step = (before[group] - last[group]).abs().mean()
        assert late < 0.5 * a_step, group
    # Joints and actions are exact.
    torch.testing.assert_close(
        ends["teacher_proprioception"][:, 9:], last["teacher_proprioception"][:, 9:]
    )
    assert not torch.equal(
        ends["teacher_proprioception"][:, 9:], before["teacher_proprioception"][:, 9:]
    )
    window, clean = ends["proprioception_window"], last["teacher_proprioception"]
    assert torch.equal(window[:, :-1], last["proprioception_window"][:, :-1])
    noise = (window[:, -1] - clean).abs()
    assert (noise[:, 9:34] <= NOISE["joint_pos"] + 1e-6).all()
    assert (noise[:, 34:59] <= NOISE["joint_vel"] + 1e-5).all()
    assert (noise[:, 34:59] > 0.0).all()
    assert (noise[:, 59:] == 0.0).all()
    assert torch.equal(ends["depth"], before["depth"])
    error = (ends["blurred_velocity"] - ends["base_velocity"]).abs()
    assert (error > 0.0).all()
