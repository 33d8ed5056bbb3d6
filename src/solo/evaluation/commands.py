"""What robots are told in evaluations: straight ahead, or along a line."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.tasks.velocity.mdp import UniformVelocityCommand, UniformVelocityCommandCfg

LOOK_AHEAD_M = 2.0
"""The robot is sent towards the point of the line this far ahead."""


@dataclass(kw_only=True)
class PlannedCommandCfg(UniformVelocityCommandCfg):
    """The stress command with forward velocities that are given, not drawn."""

    def build(self, env: ManagerBasedRlEnv) -> PlannedCommand:
        """Build the term."""
        return PlannedCommand(self, env)


class PlannedCommand(UniformVelocityCommand):
    """Straight ahead at `forward_m_s`, with the heading held along +x."""

    def __init__(self, cfg: PlannedCommandCfg, env: ManagerBasedRlEnv) -> None:
        super().__init__(cfg, env)
        self.forward_m_s = torch.zeros(self.num_envs, device=self.device)
        """Command of the next rollout of each slot, [B]."""
        self.is_heading_env[:] = True

    def _resample_command(self, env_ids: torch.Tensor) -> None:
        self.vel_command_b[env_ids] = 0.0
        self.vel_command_b[env_ids, 0] = self.forward_m_s[env_ids]


def steer(
    lateral_m: torch.Tensor,
    heading: torch.Tensor,
    forward_m_s: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Where to head and how fast to go, to come back to a line along +x.

    The heading is that of the point on the line `LOOK_AHEAD_M` in front: 0 on the line
    and 45 degrees to the right when it is as far away on the left. The speed is
    reduced by the cosine of the turn that is left to do, to 0 from 90 degrees on, so
    sharp turns are made on the spot.

    Args:
        lateral_m: Distance from the line, positive to its left, [B].
        heading: Where the robot looks, radians from +x, [B].
        forward_m_s: Speed on the straight, [B].

    Returns:
        Speed [B] and heading [B] to command.
    """
    wanted = -torch.atan2(lateral_m, torch.full_like(lateral_m, LOOK_AHEAD_M))
    return forward_m_s * torch.cos(wanted - heading).clamp(min=0.0), wanted


@dataclass(kw_only=True)
class LineCommandCfg(PlannedCommandCfg):
    """Follow the centre line of the strip that the robot is on."""

    def build(self, env: ManagerBasedRlEnv) -> LineCommand:
        """Build the term."""
        return LineCommand(self, env)


class LineCommand(PlannedCommand):
    """`steer`, with the line through the robot's origin along +x.

    The heading becomes a yaw rate as in training.
    """

    def _update_command(self, env_ids: torch.Tensor | None = None) -> None:
        data = self.robot.data
        lateral = (data.root_link_pos_w - self._env.scene.env_origins)[:, 1]
        speed, self.heading_target = steer(lateral, data.heading_w, self.forward_m_s)
        self.vel_command_b[:, 0] = speed
        super()._update_command(env_ids)
