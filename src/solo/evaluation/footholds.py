"""Where feet come down on terrain with holes, and how well they are placed."""

from __future__ import annotations

from typing import Any

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.utils.lab_api.math import euler_xyz_from_quat

from solo.envs.mdp.soft_voids import FootVoids
from solo.envs.mdp.terrain import grid_terrain
from solo.results import Job, Landing


class Footsteps:
    """Finds the touch-downs of a step beside holes."""

    def __init__(self, env: ManagerBasedRlEnv, term: str) -> None:
        """Look at an environment's feet.

        Args:
            env: The environment.
            term: Name of a reward term `mdp.void_landings`, which knows feet and soles.
        """
        params: dict[str, Any] = env.reward_manager.get_term_cfg(term).params
        self._env, self._terrain = env, grid_terrain(env)
        self._sensor = env.scene[params["sensor_name"]]
        self._feet = params["asset_cfg"]
        scene = self._terrain.terrain_scene
        self._voids = FootVoids(scene, params["footprint"], env.device)

    def landings(self) -> list[tuple[int, Landing]]:
        """Environment and touch-down of each foot that has just come down."""
        landed = self._sensor.compute_first_contact(self._env.step_dt)
        data, ids = self._env.scene[self._feet.name].data, self._feet.body_ids
        pos_w = data.body_link_pos_w[:, ids][landed]
        quat_w = data.body_link_quat_w[:, ids][landed]
        slots = landed.nonzero()[:, 0]
        over = self._voids.share(pos_w, quat_w)
        shifted = self._voids.shifted_share(pos_w, quat_w)
        yaw = euler_xyz_from_quat(quat_w)[2]
        origins = self._terrain.env_origins
        assert origins is not None
        place = (pos_w - origins[slots])[:, :2]
        rows = torch.column_stack((place, yaw, over, shifted)).tolist()
        return [
            (slot, Landing(*row))
            for slot, row in zip(slots.tolist(), rows, strict=True)
            if row[3] + row[4] > 0.0
        ]


def landings_of(job: Job) -> list[Landing]:
    """All touch-downs of a job."""
    return [landing for rollout in job.rollouts for landing in rollout.landings]


def describe_landings(job: Job) -> str:
    """In words: how much of the soles was over holes, and of the same soles shifted."""
    found, success = landings_of(job), job.success
    crossed = f"{success.successes} of {success.rollouts} cross"
    if not found:
        return f"no touch-down beside holes; {crossed}"
    over, shifted = (
        100 * sum(values) / len(found)
        for values in ([f.over for f in found], [f.shifted for f in found])
    )
    return (
        f"{len(found)} touch-downs beside holes: {over:.0f} % of the sole over holes, "
        f"{shifted:.0f} % with the feet shifted by 5 to 25 cm; {crossed}"
    )
