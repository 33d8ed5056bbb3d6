"""A support torque that holds the robot upright while it learns to step.

Not in the paper. Balance is what costs a beginner most samples: a robot that falls
after a second never learns that stepping pays, and one that has learned to stand keeps
standing. With the torque it steps and follows commands from the start; the torque then
fades as falls become rare.
"""

from __future__ import annotations

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.managers.curriculum_manager import CurriculumTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.utils.lab_api.math import quat_apply

ASSIST = "upright_assist"
"""Name of the event term that helps."""


def upright_assist(
    env: ManagerBasedRlEnv,
    env_ids: torch.Tensor | None,
    strength: float,
    asset_cfg: SceneEntityCfg,
    stiffness: float = 200.0,
    damping: float = 6.0,
) -> None:
    """Apply torques towards upright to some bodies, for the next control step.

    Args:
        env: The environment.
        env_ids: Not used; all robots are helped.
        strength: 1 holds the robot, 0 does nothing.
        asset_cfg: The bodies that are held, e.g. base and torso.
        stiffness: Torque per tilt on each body, Nm/rad. A G1 tips over with 240 Nm/rad.
        damping: Torque per rate of roll and pitch on each body, Nm s/rad. The torque
            is held for a control step of 20 ms; with more than 15 a torso of 0.3 kg m2
            swings up.
    """
    del env_ids
    robot, bodies = env.scene[asset_cfg.name], asset_cfg.body_ids
    quat_w = robot.data.body_link_quat_w[:, bodies]
    up = torch.zeros_like(quat_w[..., :3])
    up[..., 2] = 1.0
    up_of_body = quat_apply(quat_w, up)
    rate_w = robot.data.body_link_ang_vel_w[:, bodies].clone()
    rate_w[..., 2] = 0.0
    torque = torch.linalg.cross(up_of_body, up) * stiffness - damping * rate_w
    robot.write_external_wrench_to_sim(
        torch.zeros_like(torque), strength * torque, body_ids=bodies
    )


class fade_assist:
    """Lower the strength while falls are rare, raise it while they are frequent."""

    def __init__(self, cfg: CurriculumTermCfg, env: ManagerBasedRlEnv) -> None:
        del cfg
        self._falls = 0
        self._since = env.common_step_counter
        self._rate = 1.0  # Falls per robot and second, smoothed.

    def __call__(
        self,
        env: ManagerBasedRlEnv,
        env_ids: torch.Tensor,
        falls_per_s: float = 0.1,
        change: float = 0.01,
        window_s: float = 1.0,
    ) -> torch.Tensor:
        """Adapt the strength and return it.

        Args:
            env: The environment.
            env_ids: Environments whose episode has ended.
            falls_per_s: Falls per robot and second that are rare. With 0.04, less than
                one per episode, the torque stays at a fifth for long, and the robot
                falls at once without it: it learns to balance only if it may fall.
            change: Change of the strength per window.
            window_s: Simulated time of a window.
        """
        params = env.event_manager.get_term_cfg(ASSIST).params
        self._falls += int(env.termination_manager.terminated[env_ids].sum())
        seconds = (env.common_step_counter - self._since) * env.step_dt
        if seconds >= window_s:
            rate = self._falls / (seconds * env.num_envs)
            self._rate += 0.2 * (rate - self._rate)
            self._falls, self._since = 0, env.common_step_counter
            strength = params["strength"]
            if self._rate < falls_per_s:
                strength -= change
            elif self._rate > 2.0 * falls_per_s:
                strength += change
            params["strength"] = min(1.0, max(0.0, strength))
        return torch.tensor(float(params["strength"]))
