"""Terms about where feet land: a cost, the critic's view, and levels with soft voids.

None of them is in the paper; see `solo.envs.mdp.soft_voids`.
"""

from __future__ import annotations

from typing import Any

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.managers.curriculum_manager import CurriculumTermCfg
from mjlab.managers.observation_manager import ObservationTermCfg
from mjlab.managers.reward_manager import RewardTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg

from solo.envs.grid_terrain import grid_terrain, on_terrains
from solo.envs.mdp.curriculums import crossed_and_lagging, mean_levels
from solo.envs.mdp.soft_voids import MISS_SHARE, FootVoids, SoftVoids, SoftVoidsCfg
from solo.sensors.height_map import HeightMapCfg
from solo.terrains.scene import VOID_VARIANTS

LANDING_COST = "landing_cost"
"""Name of the reward term that judges touch-downs."""


class void_under_feet:
    """Share of each sole over holes, wherever the foot is, [B, 2]; for the critic."""

    def __init__(self, cfg: ObservationTermCfg, env: ManagerBasedRlEnv) -> None:
        self._voids = _foot_voids(cfg, env)

    def __call__(
        self, env: ManagerBasedRlEnv, asset_cfg: SceneEntityCfg, footprint: HeightMapCfg
    ) -> torch.Tensor:
        del footprint  # Read once, in the constructor.
        return self._voids.share(*foot_poses(env, asset_cfg))


class landing_cost:
    """How badly a sole lands, compared with landing anywhere nearby.

    Of each foot that lands, the share of the sole without support (over a hole or an
    edge) minus the mean share of the same sole around it (`PLACES_M`), times the length
    of its step as a share of ``full_step_m``. On stones a robot that steps anywhere
    gets 0 on average, so neither staying on the platform nor tapping on the spot pays;
    with the plain share, robots learn to stay away from stones before they learn to
    step on them.

    The term also counts touch-downs beside holes and misses among them, for the
    curriculum and for the log.
    """

    def __init__(self, cfg: RewardTermCfg, env: ManagerBasedRlEnv) -> None:
        self._voids = _foot_voids(cfg, env)
        self.landings = torch.zeros(env.num_envs, device=env.device)
        self.misses = torch.zeros(env.num_envs, device=env.device)
        # Where each foot touched down last; NaN before its first step.
        self._before = torch.full((env.num_envs, 2, 2), torch.nan, device=env.device)
        num_columns = len(grid_terrain(env).variant_names)
        # Of each terrain: touch-downs beside holes, their share over holes, the same of
        # shifted feet; episodes, those that got across. Old ones fade.
        self.by_column = torch.zeros(5, num_columns, device=env.device)

    def __call__(
        self,
        env: ManagerBasedRlEnv,
        sensor_name: str,
        asset_cfg: SceneEntityCfg,
        footprint: HeightMapCfg,
        full_step_m: float = 0.3,
    ) -> torch.Tensor:
        del footprint
        landed = env.scene[sensor_name].compute_first_contact(env.step_dt)
        rows, feet = landed.nonzero(as_tuple=True)
        pos_w, quat_w = (x[rows, feet] for x in foot_poses(env, asset_cfg))
        over = self._voids.share(pos_w, quat_w)
        shifted = self._voids.shifted_share(pos_w, quat_w)
        self._count(env, rows, over, shifted)
        step = (pos_w[:, :2] - self._before[rows, feet]).norm(dim=1).nan_to_num(0.0)
        self._before[rows, feet] = pos_w[:, :2]
        bare = self._voids.unsupported(pos_w, quat_w)
        elsewhere = self._voids.unsupported_around(pos_w, quat_w)
        cost = (bare - elsewhere) * (step / full_step_m).clamp_max(1.0)
        return torch.zeros_like(self.landings).index_add_(0, rows, cost)

    def reset(self, env_ids: torch.Tensor | slice | None = None) -> None:
        """Forget the touch-downs of episodes that have ended."""
        ids = slice(None) if env_ids is None else env_ids
        self.landings[ids] = 0.0
        self.misses[ids] = 0.0
        self._before[ids] = torch.nan

    def _count(
        self,
        env: ManagerBasedRlEnv,
        rows: torch.Tensor,
        over: torch.Tensor,
        shifted: torch.Tensor,
    ) -> None:
        """Count touch-downs beside holes of robots that are on their own patch."""
        terrain = grid_terrain(env)
        base = env.scene["robot"].data.root_link_pos_w[rows, :2]
        away = (base - env.scene.env_origins[rows, :2]).abs().amax(dim=1)
        counts = (away < terrain.cfg.scene.patch_m / 2) & ((shifted + over) > 0.0)
        rows, over, shifted = rows[counts], over[counts], shifted[counts]
        ones = torch.ones_like(over)
        self.landings.index_add_(0, rows, ones)
        self.misses.index_add_(0, rows, (over > MISS_SHARE).float())
        columns = terrain.terrain_types[rows]
        self.by_column[:3].index_add_(1, columns, torch.stack((ones, over, shifted)))


def foot_in_hole(
    env: ManagerBasedRlEnv, asset_cfg: SceneEntityCfg, depth_m: float = 0.2
) -> torch.Tensor:
    """A robot on terrain with holes has a foot this far below the ground.

    The holes of easy stones are 40 cm deep: robots learn to wade through them, which
    no robot can on hard ones.
    """
    feet_z = env.scene[asset_cfg.name].data.body_link_pos_w[:, asset_cfg.body_ids, 2]
    everyone = torch.arange(env.num_envs, device=env.device)
    is_down = (feet_z < -depth_m).any(dim=1)
    return is_down & on_terrains(env, everyone, VOID_VARIANTS)


class soft_levels:
    """`terrain_levels` over soft voids: up only from open holes."""

    def __init__(self, cfg: CurriculumTermCfg, env: ManagerBasedRlEnv) -> None:
        self.voids = SoftVoids(env, cfg.params["voids"])

    def __call__(
        self,
        env: ManagerBasedRlEnv,
        env_ids: torch.Tensor,
        command_name: str,
        voids: SoftVoidsCfg,
        promote_fallen: bool = True,
        fading: float = 0.995,
    ) -> dict[str, torch.Tensor]:
        """Judge the episodes that have ended; return levels and what feet did.

        ``promote_fallen``: whether robots that fell beyond their patch have crossed it.
        ``fading`` is a factor on what the log remembers, per call.
        """
        terrain = grid_terrain(env)
        levels = terrain.terrain_levels[env_ids]
        columns = terrain.terrain_types[env_ids]
        crossed, lagging = crossed_and_lagging(
            env, env_ids, command_name, promote_fallen
        )
        steps: Any = env.reward_manager.get_term_cfg(LANDING_COST).func
        began = env.episode_length_buf[env_ids] > 0
        landings, misses = steps.landings[env_ids], steps.misses[env_ids]
        self.voids.count(
            *(x[began] for x in (levels, columns, crossed, landings, misses))
        )
        ended = torch.stack((began.float(), crossed.float()))
        steps.by_column[3:].index_add_(1, columns, ended)
        is_filled = self.voids.is_filled(levels, columns)
        terrain.update_env_origins(env_ids, crossed & ~is_filled, lagging)
        result = mean_levels(terrain)
        landings, over, shifted, episodes, across = steps.by_column.clone()
        steps.by_column *= fading
        filled = self.voids.is_filled(terrain.terrain_levels, terrain.terrain_types)
        for column in self.voids.columns:
            name = terrain.variant_names[column]
            on_it = terrain.terrain_types == column
            result[f"{name}_filled"] = filled[on_it].float().mean()
            result[f"{name}_landing"] = over[column] / landings[column].clamp_min(1.0)
            result[f"{name}_shifted"] = shifted[column] / landings[column].clamp_min(
                1.0
            )
            result[f"{name}_crossed"] = across[column] / episodes[column].clamp_min(1.0)
        return result


def find_soft_voids(env: ManagerBasedRlEnv) -> SoftVoids | None:
    """The soft voids of an environment, if it has them."""
    manager: Any = env.curriculum_manager
    if "terrain_levels" not in manager.active_terms:
        return None
    func = manager.get_term_cfg("terrain_levels").func
    return func.voids if isinstance(func, soft_levels) else None


def soft_voids_state(env: ManagerBasedRlEnv) -> dict[str, Any] | None:
    """State of the soft voids, to resume; None if there are none."""
    voids = find_soft_voids(env)
    if voids is None:
        return None
    steps: Any = env.reward_manager.get_term_cfg(LANDING_COST).func
    return {**voids.state(), "by_column": steps.by_column.tolist()}


def set_soft_voids_state(env: ManagerBasedRlEnv, state: dict[str, Any] | None) -> None:
    """Fill or open holes as they were, where both sides have soft ones."""
    voids = find_soft_voids(env)
    if voids is None or state is None:
        return
    voids.set_state(state)
    steps: Any = env.reward_manager.get_term_cfg(LANDING_COST).func
    steps.by_column[:] = torch.tensor(state["by_column"])


def _foot_voids(cfg: Any, env: ManagerBasedRlEnv) -> FootVoids:
    scene = grid_terrain(env).terrain_scene
    return FootVoids(scene, cfg.params["footprint"], env.device)


def foot_poses(
    env: ManagerBasedRlEnv, asset_cfg: SceneEntityCfg
) -> tuple[torch.Tensor, torch.Tensor]:
    """Positions [B, 2, 3] and orientations [B, 2, 4] of the feet."""
    data = env.scene[asset_cfg.name].data
    ids = asset_cfg.body_ids
    return data.body_link_pos_w[:, ids], data.body_link_quat_w[:, ids]
