"""Build environments, with our simulation and terrain where a config asks for them.

This is the one place where we change what mjlab does. mjlab builds its simulation and
its terrain by class name, inside constructors that offer no argument for another class.
These two names are replaced by functions that look at the configuration: a
``SoloSimulationCfg`` may choose the native backend, a ``GridTerrainCfg`` is built as a
``GridTerrain``. Every other configuration gets exactly what stock mjlab would build, so
other packages' tasks are not affected.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

import mjlab.envs.manager_based_rl_env as mjlab_env
import mjlab.scene.scene as mjlab_scene
from mjlab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from mjlab.sim.sim import Simulation
from mjlab.terrains.terrain_entity import TerrainEntity, TerrainEntityCfg

from solo.envs.grid_terrain import GridTerrain, GridTerrainCfg
from solo.sim.native import NativeSimulation, use_native


def make_env(cfg: ManagerBasedRlEnvCfg, device: str = "cpu") -> ManagerBasedRlEnv:
    """Build an environment quietly; mjlab prints a table per manager otherwise."""
    with contextlib.redirect_stdout(io.StringIO()):
        return ManagerBasedRlEnv(cfg, device=device)


def make_simulation(*, cfg: Any, device: str, **kwargs: Any) -> Simulation:
    """Build the simulation that a configuration asks for on a device."""
    cls = NativeSimulation if use_native(cfg, device) else Simulation
    return cls(cfg=cfg, device=device, **kwargs)


def make_terrain(cfg: TerrainEntityCfg, device: str) -> TerrainEntity:
    """Build the terrain that a configuration asks for."""
    if isinstance(cfg, GridTerrainCfg):
        return GridTerrain(cfg, device=device)
    return TerrainEntity(cfg, device=device)


def install_hooks() -> None:
    """Make mjlab build our simulation and terrain where a configuration asks for it."""
    mjlab_env.Simulation = make_simulation  # type: ignore[misc]
    mjlab_scene.TerrainEntity = make_terrain  # type: ignore[misc]
