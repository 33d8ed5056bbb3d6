"""The bundle equals torch on what a robot meets: 500 steps of simulated episodes.

The environment is that of the perceptive stage with all its errors: noise, holes,
latency, pushes. A simple controller keeps the robot up for a while; it falls now and
then, and a new episode begins in the middle of the sequence.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from solo.deploy.bundle.load import load_bundle
from solo.deploy.observation import Observation
from solo.envs.make import make_env
from solo.robots.g1 import G1
from solo.terrains import TerrainSceneCfg
from tests.deploy.helpers import g1_contract
from tests.deploy.stand import StandPolicy
from tests.envs.helpers import make_cfg

from .helpers import GROUPS, bundle_path, make_networks, make_obs

pytestmark = pytest.mark.slow

TERRAIN = TerrainSceneCfg(("stairs_up_30", "gap"), num_levels=2, border_m=4.0)
STEPS = 500


@pytest.fixture(scope="module")
def rollout() -> list[tuple[bool, np.ndarray, np.ndarray]]:
    """Per step: is it the first one, images [4, H, W], proprioception [10, 84]."""
    camera = replace(G1.depth_camera, output_width=25, output_height=16)
    depth = replace(G1, depth_camera=camera).depth_sensor()
    env = make_env(make_cfg(1, terrain=TERRAIN, stage="perceptive", depth=depth))
    controller = StandPolicy(g1_contract().joints)
    obs: Any = env.reset(seed=4)[0]
    is_new, rows = True, []
    for _ in range(STEPS):
        images = obs["depth"][0].numpy().copy()
        window = obs["proprioception_window"][0].numpy().copy()
        rows.append((is_new, images, window))
        seen = Observation(window[-1], window, images[-1], images)
        action = torch.from_numpy(controller.step(seen)).float().clamp(-5.0, 5.0)
        obs, _, terminated, truncated, _ = env.step(action[None])
        is_new = bool((terminated | truncated).any())
    env.close()
    return rows


def test_the_rollout_is_a_real_one(rollout):
    images = np.array([images[-1] for _, images, _ in rollout])
    joints = np.array([window[-1, 9:34] for _, _, window in rollout])
    assert sum(is_new for is_new, _, _ in rollout) >= 2  # Episodes end in between.
    assert 0.0 < (images == 0.0).mean() < 0.9  # There are holes,
    assert np.median(images[images > 0.0].reshape(-1)) < 1.0  # and ground.
    assert joints.std(axis=0).min() > 1e-3  # The body moves.


def test_the_bundle_equals_torch_over_500_steps_of_a_rollout(rollout):
    policy = load_bundle(bundle_path()).policy
    student, reconstructor = make_networks()
    actions, worst = [], {"action": 0.0, "height_map": 0.0, "velocity": 0.0}
    with torch.no_grad():
        for is_new, images, window in rollout:
            if is_new:
                policy.reset()
                student.reset()
            found = policy.step(Observation(window[-1], window, images[-1], images))
            # The modules as they are trained, nothing reused between steps.
            frames = torch.from_numpy(window)[None]
            made, _ = reconstructor(torch.from_numpy(images)[None], frames)
            obs = make_obs(1)
            obs[GROUPS[0]], obs[GROUPS[1]] = frames[:, -1], made["velocity"]
            obs[GROUPS[2]] = made["height"]
            view = policy.view
            assert view is not None
            for name, value, wanted in (
                ("action", found, student(obs)[0]),
                ("height_map", view.height_map, made["height"][0]),
                ("velocity", view.velocity, made["velocity"][0]),
            ):
                difference = np.abs(value - wanted.numpy()).max()
                worst[name] = max(worst[name], float(difference))
            actions.append(found)
    assert len(actions) == STEPS
    assert max(worst.values()) < 1e-4, worst
    assert np.std(actions, axis=0).mean() > 1e-2  # It was not all the same.
