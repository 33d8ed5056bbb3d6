"""Curriculum terms."""

from __future__ import annotations

import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.grid_terrain import GridTerrain
from solo.envs.mdp.terrain import grid_terrain


def terrain_levels(
    env: ManagerBasedRlEnv, env_ids: torch.Tensor, command_name: str
) -> dict[str, torch.Tensor]:
    """Promote robots that end more than half a patch from their start.

    Of the others, those that walked less than half the commanded distance are demoted.

    mjlab sends a robot that solves the hardest level to a random one, so the mean
    level saturates near the middle; this does not mean that learning has stopped.

    Returns:
        The mean level, and the mean level of every terrain variant.
    """
    terrain = grid_terrain(env)
    crossed, lagging = crossed_and_lagging(env, env_ids, command_name)
    terrain.update_env_origins(env_ids, crossed, lagging)
    return mean_levels(terrain)


def crossed_and_lagging(
    env: ManagerBasedRlEnv, env_ids: torch.Tensor, command_name: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Which episodes ended half a patch from their start, and which far behind.

    Returns:
        Whether each robot got across, and whether it made less than half of the way it
        was told to make; bool [N] each. Neither for an episode without a step: its
        robot may not have been placed yet.
    """
    terrain = grid_terrain(env)
    position = env.scene["robot"].data.root_link_pos_w[env_ids, :2]
    walked = (position - env.scene.env_origins[env_ids, :2]).norm(dim=1)
    command = env.command_manager.get_command(command_name)
    assert command is not None
    asked = command[env_ids, :2].norm(dim=1) * env.max_episode_length_s
    began = env.episode_length_buf[env_ids] > 0
    crossed = (walked > terrain.cfg.scene.patch_m / 2) & began
    lagging = (walked < asked / 2) & ~crossed & began
    return crossed, lagging


def mean_levels(terrain: GridTerrain) -> dict[str, torch.Tensor]:
    """The mean level of all robots, and of those on every terrain."""
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
