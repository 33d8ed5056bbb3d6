"""Snapshots of an environment: what comes after one is the same to the bit."""

from __future__ import annotations

import functools
import io
from typing import Any

import pytest
import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.events_cfg import PUSH
from solo.envs.make import make_env
from solo.envs.mdp import ASSIST
from solo.envs.names import COMMAND
from solo.errors import SoloError
from solo.robots.g1 import G1
from solo.stages.env_snapshot import EnvSnapshots
from solo.stages.runner import rng_state, set_rng_state
from solo.tasks.env_cfg import STAGES, make_motions, make_stage_env_cfg
from solo.tasks.profiles import SMOKE
from solo.terrains import TerrainSceneCfg

TERRAIN = TerrainSceneCfg(("flat", "stairs_up_30"), num_levels=2, border_m=4.0)
STRENGTH = f"event_manager/cfg/{ASSIST}/params/strength"


motions = functools.cache(lambda: make_motions(G1, "cpu"))


def build(stage: Any = "teacher", num_envs: int = 4, seed: int = 0, **changes: Any):
    """An environment in which much happens within a second, after its first reset."""
    cfg = make_stage_env_cfg(
        G1, stage, SMOKE, motions(), num_envs=num_envs, seed=seed, terrain=TERRAIN
    )
    cfg.events[PUSH].interval_range_s = (0.2, 0.4)
    cfg.commands[COMMAND].resampling_time_range = (0.2, 0.4)
    if stage == "teacher":  # The others are not held.
        cfg.events[ASSIST].params["strength"] = 0.5
        cfg.curriculum["assist"].params = {"falls_per_s": 1e-6}  # Any fall raises it.
    cfg.episode_length_s = 0.7
    for name, value in changes.items():
        setattr(cfg, name, value)
    env = make_env(cfg)
    env.reset()
    return env, EnvSnapshots(env)


def roll(env: ManagerBasedRlEnv, num_steps: int) -> list[torch.Tensor]:
    """Everything that random actions lead to, flat."""
    seen = list(env.observation_manager.compute().values())
    with torch.inference_mode():
        for _ in range(num_steps):
            actions = torch.randn(env.num_envs, env.action_manager.total_action_dim)
            obs, reward, terminated, truncated, extras = env.step(actions)
            seen += [*obs.values(), reward.clone(), terminated.clone(), truncated]
            seen += [torch.as_tensor(value) for value in extras["log"].values()]
    return [torch.as_tensor(value).clone() for value in seen]


def same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return len(one) == len(other) and all(map(torch.equal, one, other))


def through_a_file(snapshot: Any) -> Any:
    file = io.BytesIO()
    torch.save(snapshot, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_what_follows_a_snapshot_is_the_same_to_the_bit(stage):
    env, snapshots = build(stage)
    roll(env, 30)
    saved = through_a_file({"env": snapshots.take(), "rng": rng_state()})
    first = roll(env, 60)
    if stage == "teacher":
        strength = env.event_manager.get_term_cfg(ASSIST).params["strength"]
        assert strength not in (0.5, saved["env"]["values"].get(STRENGTH))

    snapshots.restore(saved["env"])
    set_rng_state(saved["rng"])
    assert same(first, roll(env, 60))

    other, other_snapshots = build(stage, seed=7)
    other_snapshots.restore(saved["env"])
    set_rng_state(saved["rng"])
    assert same(first, roll(other, 60))
    env.close()
    other.close()


@pytest.mark.slow
def test_configuration_is_that_of_the_run_except_what_training_changed():
    env, snapshots = build()
    roll(env, 40)
    saved = snapshots.take()
    assert 0 < len(saved["values"]) < 40  # Of more than a thousand.
    moved = env.event_manager.get_term_cfg(PUSH).params["velocity_range"]

    other, other_snapshots = build(episode_length_s=0.5)
    other.reward_manager.get_term_cfg("feet_slide").weight = -3.0
    other_snapshots = EnvSnapshots(other)
    other_snapshots.restore(saved)
    assert other.event_manager.get_term_cfg(PUSH).params["velocity_range"] == moved
    assert other.common_step_counter == 40
    assert other.reward_manager.get_term_cfg("feet_slide").weight == -3.0
    env.close()
    other.close()


@pytest.mark.slow
def test_a_snapshot_of_another_environment_is_refused_and_changes_nothing():
    env, snapshots = build()
    roll(env, 5)
    saved = snapshots.take()
    other, other_snapshots = build(num_envs=3)
    with pytest.raises(SoloError, match="of 4 environments, here are 3"):
        other_snapshots.restore(saved)
    other.close()

    without = {k: v for k, v in env.cfg.rewards.items() if k != "fly"}
    other, other_snapshots = build(rewards=without)
    before = other.sim.data.qpos.clone()
    with pytest.raises(SoloError, match=r"reward_manager has other terms.*'fly'"):
        other_snapshots.restore(saved)
    assert torch.equal(other.sim.data.qpos, before)

    name = "scene/_entities/robot/_data/joint_pos_target"
    saved["tensors"][name] = saved["tensors"][name][:, :3]
    with pytest.raises(SoloError, match=name):
        snapshots.restore(saved)
    env.close()
    other.close()
