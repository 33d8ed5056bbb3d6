"""Termination terms."""

from __future__ import annotations

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.envs.mdp import nan_detection

from solo.envs.mdp.terrain import grid_terrain
from solo.sim.native import NativeSimulation


def physics_diverged(env: ManagerBasedRlEnv) -> torch.Tensor:
    """The physics of an environment broke down: MuJoCo warned, or a NaN appeared.

    The environment restarts; the others go on. mjlab logs the count under
    ``Episode_Termination/physics_diverged``.
    """
    if isinstance(env.sim, NativeSimulation):
        return env.sim.diverged.clone()
    return nan_detection(env)


def left_terrain(env: ManagerBasedRlEnv, margin_m: float = 1.0) -> torch.Tensor:
    """The robot came to the edge of the world, border included."""
    size_x, size_y = grid_terrain(env).grid.size_m
    position = env.scene["robot"].data.root_link_pos_w
    return (position[:, 0].abs() > size_x / 2 - margin_m) | (
        position[:, 1].abs() > size_y / 2 - margin_m
    )
