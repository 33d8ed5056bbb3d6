"""Curriculum terms."""

from __future__ import annotations

import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.mdp.terrain import grid_terrain


def terrain_levels(
    env: ManagerBasedRlEnv, env_ids: torch.Tensor, command_name: str
) -> dict[str, torch.Tensor]:
    """Harder terrain after half a patch walked, easier after half of what was asked.

    mjlab sends a robot that solves the hardest level to a random one, so the mean
    level saturates near the middle; that is not a robot that stopped learning.

    Returns:
        The mean level, and the mean level of every terrain variant.
    """
    terrain = grid_terrain(env)
    patch_m = terrain.cfg.scene.patch_m
    position = env.scene["robot"].data.root_link_pos_w[env_ids, :2]
    walked = (position - env.scene.env_origins[env_ids, :2]).norm(dim=1)
    command = env.command_manager.get_command(command_name)
    assert command is not None
    asked = command[env_ids, :2].norm(dim=1) * env.max_episode_length_s
    move_up = walked > patch_m / 2
    move_down = (walked < asked / 2) & ~move_up
    if env.common_step_counter == 0:
        # The first reset: the robots have not been placed yet.
        move_up, move_down = torch.zeros_like(move_up), torch.zeros_like(move_down)
    terrain.update_env_origins(env_ids, move_up, move_down)

    levels = terrain.terrain_levels.float()
    result = {"mean": levels.mean()}
    for column, name in enumerate(terrain.variant_names):
        on_it = terrain.terrain_types == column
        if on_it.any():
            result[name] = levels[on_it].mean()
    return result


def level_histogram(env: ManagerBasedRlEnv) -> torch.Tensor:
    """How many robots are at each level of each terrain, int64 [variants, levels].

    The mean alone hides a terrain on which robots are either stuck at the bottom or
    solve everything; runs log the histogram of each terrain.
    """
    terrain = grid_terrain(env)
    num_levels = terrain.cfg.scene.num_levels
    cells = terrain.terrain_types * num_levels + terrain.terrain_levels
    counts = torch.bincount(cells, minlength=len(terrain.variant_names) * num_levels)
    return counts.unflatten(0, (len(terrain.variant_names), num_levels))
