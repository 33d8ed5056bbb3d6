"""Native and Warp physics tell the same story from the same state and actions.

They cannot agree to the bit: Warp computes in float32 and stops its solver and its
contact search by other rules. Every touch-down amplifies what little they differ by, so
the tolerances are what a second of standing and stepping robots leaves with room for
other machines: measured 3 mm and 0.04 rad, allowed 8 mm and 0.1 rad. A robot that were
to lose or gain a contact would be off by centimetres within a few steps.
"""

from __future__ import annotations

import math

import pytest
import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.events_cfg import start_gently
from solo.envs.grid_terrain import GridTerrain
from solo.envs.locomotion_env_cfg import (
    make_locomotion_env_cfg,
    make_simulation_cfg,
)
from solo.envs.make import make_env
from solo.envs.names import FEET_CONTACT
from solo.robots.g1 import G1
from solo.terrains import TerrainSceneCfg

pytestmark = pytest.mark.slow  # Warp compiles its kernels for about a minute.

NUM_ENVS = 8
STEPS = 50
POSITION_TOLERANCE_M = 0.008
JOINT_TOLERANCE_RAD = 0.1


def make(backend) -> ManagerBasedRlEnv:
    """Half of the robots on flat ground, half on stairs of 10 cm."""
    cfg = make_locomotion_env_cfg(
        G1,
        num_envs=NUM_ENVS,
        seed=0,
        sim=make_simulation_cfg(backend=backend),
        terrain=TerrainSceneCfg(
            ("flat", "stairs_up_30"), num_levels=1, difficulty=0.4, border_m=2.0
        ),
    )
    start_gently(cfg.events)  # Robots that tumble at once are chaotic, not different.
    env = make_env(cfg)
    env.reset(seed=1)
    return env


STAIR_POSES = ((1.62, 0.0), (1.70, 0.0), (1.66, math.pi), (1.64, math.pi))
"""Distance from the centre and yaw: all on the tread from 1.55 to 1.85 m.

Two face up, one of them with its toes at the next riser; two face down, with the toes
2 and 4 cm beyond the edge.
"""


def start_on_the_stairs(env: ManagerBasedRlEnv) -> None:
    """Put the robots of the second column on a tread."""
    terrain = env.scene.terrain
    assert isinstance(terrain, GridTerrain)
    on_stairs = (terrain.terrain_types == 1).nonzero().flatten().tolist()
    qpos = env.sim.data.qpos[:].clone()
    for env_id, (x, yaw) in zip(on_stairs, STAIR_POSES, strict=True):
        origin = terrain.env_origins[env_id]
        tread = terrain.grid.height_at(float(origin[0]) + 1.7, float(origin[1]))
        qpos[env_id, :3] = origin + torch.tensor([x, 0.0, 0.0])
        qpos[env_id, 2] = float(tread) + G1.base_height_m + 0.01
        qpos[env_id, 3:7] = torch.tensor([math.cos(yaw / 2), 0, 0, math.sin(yaw / 2)])
    env.sim.data.qpos[:] = qpos
    env.sim.data.qvel[:] = 0.0
    env.sim.forward()


@pytest.fixture(scope="module")
def envs() -> dict[str, ManagerBasedRlEnv]:
    return {backend: make(backend) for backend in ("native", "warp")}


def test_same_second_on_flat_ground_and_on_stairs(envs):
    for env in envs.values():
        start_on_the_stairs(env)
    native, warp = envs["native"], envs["warp"]
    disagreements = 0
    differed = torch.zeros(NUM_ENVS, 2, dtype=torch.bool)
    for step in range(STEPS):
        torch.manual_seed(step)
        actions = 0.1 * torch.randn(NUM_ENVS, 25)
        for env in envs.values():
            torch.manual_seed(1000 + step)  # For what the managers draw.
            env.step(actions)
        difference = (native.sim.data.qpos[:] - warp.sim.data.qpos[:]).abs()
        assert difference[:, :3].max() < POSITION_TOLERANCE_M, f"step {step}"
        assert difference[:, 7:].max() < JOINT_TOLERANCE_RAD, f"step {step}"
        native_touch, warp_touch = (
            env.scene[FEET_CONTACT].data.found > 0 for env in envs.values()
        )
        differs = native_touch != warp_touch
        # A foot may touch down one physics step earlier in one of them, not longer.
        assert not (differs & differed).any(), "a contact is missing"
        differed = differs
        disagreements += int(differs.sum())
    assert disagreements <= 0.02 * STEPS * NUM_ENVS * 2
    assert not native.sim.diverged.any()


def test_randomised_models_are_the_same(envs):
    for field in ("geom_friction", "body_ipos", "actuator_gainprm", "body_invweight0"):
        native, warp = (getattr(env.sim.model, field)[:] for env in envs.values())
        assert native.shape == warp.shape
        assert native.std(dim=0).max() > 0, f"{field} is not randomised"
        torch.testing.assert_close(native, warp, rtol=2e-3, atol=1e-5)


def test_derived_quantities_are_the_same_in_the_same_state(envs):
    native, warp = envs["native"].sim, envs["warp"].sim
    for field in ("qpos", "qvel", "ctrl"):
        getattr(warp.data, field)[:] = getattr(native.data, field)[:]
    for sim in (native, warp):
        sim.forward()
    robot = torch.from_numpy(native.mj_model.body_subtreemass > 0)  # Not the terrain.
    for field in ("xpos", "xquat", "xmat", "cvel", "subtree_com", "xipos"):
        torch.testing.assert_close(
            getattr(native.data, field)[:][:, robot],
            getattr(warp.data, field)[:][:, robot],
            rtol=1e-3,
            atol=2e-4,
        )
