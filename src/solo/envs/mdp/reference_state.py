"""Episodes that begin in the middle of a reference motion."""

from __future__ import annotations

from typing import Protocol

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.utils.lab_api.math import quat_apply, quat_from_euler_xyz, quat_mul


class _State(Protocol):
    root_height_m: torch.Tensor
    root_quat_w: torch.Tensor
    root_lin_vel_h: torch.Tensor
    root_ang_vel_b: torch.Tensor
    joint_pos: torch.Tensor
    joint_vel: torch.Tensor


class _Motions(Protocol):
    def sample_states(self, num: int, /) -> _State: ...


def reset_to_reference(
    env: ManagerBasedRlEnv,
    env_ids: torch.Tensor | None,
    motions: _Motions,
    probability: float,
    place_m: float = 0.5,
    clearance_m: float = 0.01,
) -> None:
    """Let a share of the episodes begin in a state of a reference motion.

    Not in the paper. A robot that starts in mid-stride meets the reward of stepping at
    once; from a standing start it first has to give up standing, which is safe.

    Args:
        env: The environment.
        env_ids: Environments that are being reset; other terms placed them already.
        motions: Where states come from, e.g. `solo.motions.library.MotionLibrary`.
        probability: Share of the episodes.
        place_m: Half the side of the square around the origin to start in.
        clearance_m: Height of the soles above the ground.
    """
    ids = torch.arange(env.num_envs, device=env.device) if env_ids is None else env_ids
    ids = ids[torch.rand(len(ids), device=env.device) < probability]
    if len(ids) == 0:
        return
    state = motions.sample_states(len(ids))
    draw = torch.rand(len(ids), 3, device=env.device) * 2.0 - 1.0
    zero = torch.zeros(len(ids), device=env.device)
    yaw = quat_from_euler_xyz(zero, zero, draw[:, 2] * torch.pi)
    position = env.scene.env_origins[ids].clone()
    position[:, :2] += place_m * draw[:, :2]
    position[:, 2] += state.root_height_m + clearance_m
    orientation = quat_mul(yaw, state.root_quat_w)
    velocity = torch.cat(
        [
            quat_apply(yaw, state.root_lin_vel_h),
            quat_apply(orientation, state.root_ang_vel_b),
        ],
        dim=1,
    )
    robot = env.scene["robot"]
    robot.write_root_link_pose_to_sim(
        torch.cat([position, orientation], dim=1), env_ids=ids
    )
    robot.write_root_link_velocity_to_sim(velocity, env_ids=ids)
    robot.write_joint_state_to_sim(state.joint_pos, state.joint_vel, env_ids=ids)
