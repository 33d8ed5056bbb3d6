"""The agents that need no training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.locomotion_env_cfg import make_locomotion_env_cfg
from solo.envs.make import make_env
from solo.errors import SoloError
from solo.evaluation.agents import AGENTS, StandCfg, StandPolicy
from solo.evaluation.policies import open_policy
from solo.evaluation.rollout import Policy
from solo.robots.build import make_entity_cfg
from solo.robots.g1 import G1
from solo.sim.threads import stepping_threads
from solo.terrains.scene import TerrainSceneCfg
from tests.evaluation.fake import make_start

NUM_ROBOTS = 16
SECONDS = 4.0


@pytest.fixture(scope="module")
def env() -> Iterator[ManagerBasedRlEnv]:
    """Robots of nominal parameters on flat ground."""
    cfg = make_locomotion_env_cfg(
        replace(G1, name="test"),
        num_envs=NUM_ROBOTS,
        terrain=TerrainSceneCfg(variants=("flat",), num_levels=1, border_m=4.0),
        play=True,
        seed=0,
    )
    cfg.scene.entities["robot"] = make_entity_cfg(G1, visual=False)  # Nobody looks.
    cfg.events = {k: event for k, event in cfg.events.items() if event.mode == "reset"}
    with stepping_threads():
        env = make_env(cfg)
        yield env
        env.close()


def run(env: ManagerBasedRlEnv, agent: Policy) -> tuple[torch.Tensor, torch.Tensor]:
    """Lowest base height [B] and number of falls [B]."""
    env.reset(seed=0)
    lowest = torch.full((NUM_ROBOTS,), torch.inf)
    falls = torch.zeros(NUM_ROBOTS, dtype=torch.long)
    for _ in range(round(SECONDS / env.step_dt)):
        _, _, terminated, _, _ = env.step(agent.act(None)[0])
        falls += terminated
        height = env.scene["robot"].data.root_link_pos_w[:, 2]
        lowest = torch.minimum(lowest, height)
    return lowest, falls


@pytest.mark.slow
def test_standing_agent_stands_at_any_heading(env: ManagerBasedRlEnv):
    lowest, falls = run(env, AGENTS["stand"](env, G1))
    headings = env.scene["robot"].data.heading_w
    assert headings.max() - headings.min() > 4.0
    assert falls.sum() == 0
    assert lowest.min() > 0.7


@pytest.mark.slow
def test_zero_agent_falls(env: ManagerBasedRlEnv):
    _, falls = run(env, AGENTS["zero"](env, G1))
    assert (falls > 0).all()


def test_random_agent_has_its_standard_deviation(env: ManagerBasedRlEnv):
    agent = AGENTS["random"](env, G1)
    agent.begin(range(NUM_ROBOTS), [make_start(k) for k in range(NUM_ROBOTS)])
    actions = torch.stack([agent.act(None)[0] for _ in range(50)])
    assert actions.shape == (50, NUM_ROBOTS, 25)
    assert actions.std().item() == pytest.approx(0.5, rel=0.05)


def test_unknown_agent_is_refused_with_the_names():
    with pytest.raises(SoloError, match=r"'walk'.*zero, random, stand"):
        open_policy("walk")


def test_standing_agent_names_the_joints_it_misses(env: ManagerBasedRlEnv):
    with pytest.raises(SoloError, match=r"'neck'.*left_hip_pitch_joint"):
        StandPolicy(env, G1, StandCfg(waist_roll=("neck",)))
