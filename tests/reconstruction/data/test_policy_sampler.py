"""A policy in the environment, recorded through the same interface."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from solo.reconstruction.data.recorder import PolicySampler, ShardPlan
from solo.robots.g1 import G1
from solo.terrains import TerrainSceneCfg

SCENE = TerrainSceneCfg(("flat", "stairs_down_25"), num_levels=2, border_m=4.0)
PLAN = ShardPlan(SCENE, np.array([0, 1, 1]), np.array([1, 0, 1]), (4,))


def make_policy(env):
    """Robots that are told to fold up fall within a second or so."""
    actions = torch.full((env.num_envs, 25), 3.0)
    return lambda env: actions


@pytest.mark.slow
def test_steps_of_a_policy_are_recorded_with_their_episodes():
    sampler = PolicySampler(G1, "folding", make_policy)
    steps = list(sampler.sample(PLAN, 60))
    assert steps[0].is_first.all()
    assert steps[0].depth_m.shape == (3, 64, 113)
    assert steps[0].depth_m.max() <= 3.0
    assert steps[0].proprioception.shape == (3, 84)
    assert steps[0].height.shape == (3, 16, 32)
    # The action that led to a step is in its proprioception.
    assert torch.allclose(steps[1].proprioception[0, 59:], torch.full((25,), 3.0))
    falls = torch.stack([step.is_first for step in steps[1:]])
    assert falls.any()
    for before, after in itertools.pairwise(steps):
        kept = ~after.is_first
        assert torch.equal(after.delay[kept], before.delay[kept])
    # Robots stand on the patches of the plan.
    assert float(steps[0].height[0].std()) < 0.01
    again = next(iter(sampler.sample(PLAN, 1)))
    assert torch.equal(again.depth_m, steps[0].depth_m)
