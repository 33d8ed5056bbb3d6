"""Small environments for the tests of this folder."""

from __future__ import annotations

from typing import Any

import torch
from mjlab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg

from solo.envs.locomotion_env_cfg import make_locomotion_env_cfg
from solo.envs.make import make_env
from solo.robots.g1 import G1
from solo.terrains import TerrainSceneCfg

FLAT = TerrainSceneCfg(("flat",), num_levels=1, border_m=4.0)


def make_cfg(num_envs: int = 4, **kwargs: Any) -> ManagerBasedRlEnvCfg:
    """A seeded G1 environment on flat ground, unless told otherwise."""
    kwargs.setdefault("terrain", FLAT)
    kwargs.setdefault("seed", 3)
    return make_locomotion_env_cfg(G1, num_envs=num_envs, **kwargs)


def without_randomness(cfg: ManagerBasedRlEnvCfg) -> ManagerBasedRlEnvCfg:
    """Robots that all start standing in the default pose, with the same body."""
    for name in ("contact_material", "waist_mass", "waist_com", "actuator_gains"):
        cfg.events.pop(name)
    cfg.events.pop("push_robot", None)
    cfg.events["reset_base"].params.update(
        pose_range={"z": (0.005, 0.005)}, velocity_range={}
    )
    cfg.events["reset_joints"].params["scale"] = (1.0, 1.0)
    return cfg


def stand_still(env: ManagerBasedRlEnv, steps: int) -> None:
    """Ask for the default pose."""
    for _ in range(steps):
        env.step(torch.zeros(env.num_envs, env.action_manager.total_action_dim))


def make_still_env(num_envs: int = 4, **kwargs: Any) -> ManagerBasedRlEnv:
    """Built and reset, without randomness."""
    env = make_env(without_randomness(make_cfg(num_envs, **kwargs)))
    env.reset()
    return env
