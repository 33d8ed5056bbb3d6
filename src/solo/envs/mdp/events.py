"""Event terms: domain randomisation and resets that mjlab does not have."""

from __future__ import annotations

import math

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.managers.event_manager import RecomputeLevel, requires_model_fields
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.utils.lab_api.math import (
    quat_apply,
    quat_from_euler_xyz,
    quat_mul,
    sample_uniform,
)

from solo.motions.library import MotionLibrary

Range = tuple[float, float]

_ROBOT = SceneEntityCfg("robot")


@requires_model_fields("geom_friction", "geom_solref")
def contact_material(
    env: ManagerBasedRlEnv,
    env_ids: torch.Tensor | None,
    static_friction: Range,
    dynamic_friction: Range,
    restitution: Range,
    asset_cfg: SceneEntityCfg,
) -> None:
    """Draw the contact material of some geoms, one for each environment.

    What differs from the paper: MuJoCo's contacts have one coefficient of friction,
    not a static and a dynamic one, and no restitution. Both coefficients are drawn, the
    dynamic one no larger than the static one, and their mean is used. Restitution e
    sets the damping ratio z of the contact spring by e = exp(-pi z / sqrt(1 - z^2)),
    the rebound of a damped oscillator.
    """
    ids = _resolve(env, env_ids)
    num = len(ids)
    static = sample_uniform(*static_friction, (num,), env.device)
    dynamic = sample_uniform(*dynamic_friction, (num,), env.device)
    friction = (static + torch.minimum(dynamic, static)) / 2
    rebound = sample_uniform(*restitution, (num,), env.device)
    geoms = _indices(env, asset_cfg, "geom")
    model = env.sim.model
    model.geom_friction[ids[:, None], geoms, 0] = friction[:, None]
    model.geom_solref[ids[:, None], geoms, 1] = damping_ratio(rebound)[:, None]


def damping_ratio(restitution: torch.Tensor) -> torch.Tensor:
    """Damping ratio of a contact that rebounds with a share of the impact speed."""
    log = torch.log(restitution.clamp_min(1e-6))
    ratio = -log / torch.sqrt(math.pi**2 + log.square())
    return torch.where(restitution > 0.0, ratio, torch.ones_like(ratio))


@requires_model_fields("body_mass", "body_inertia", recompute=RecomputeLevel.set_const)
def body_mass_offset(
    env: ManagerBasedRlEnv,
    env_ids: torch.Tensor | None,
    offset_kg: Range,
    asset_cfg: SceneEntityCfg,
) -> None:
    """Make bodies heavier or lighter; their inertia changes in proportion."""
    ids = _resolve(env, env_ids)
    bodies = _indices(env, asset_cfg, "body")
    model = env.sim.model
    mass = env.sim.get_default_field("body_mass")[bodies]  # [N]
    inertia = env.sim.get_default_field("body_inertia")[bodies]  # [N, 3]
    offset = sample_uniform(*offset_kg, (len(ids), len(bodies)), env.device)
    ratio = (mass + offset) / mass
    model.body_mass[ids[:, None], bodies] = mass * ratio
    model.body_inertia[ids[:, None], bodies] = inertia * ratio[..., None]


def reset_joints_by_scale(
    env: ManagerBasedRlEnv,
    env_ids: torch.Tensor | None,
    scale: Range,
    asset_cfg: SceneEntityCfg = _ROBOT,
) -> None:
    """Put joints at a random multiple of the default pose, at rest."""
    ids = _resolve(env, env_ids)
    robot = env.scene[asset_cfg.name]
    default = robot.data.default_joint_pos[ids]
    low, high = robot.data.soft_joint_pos_limits[ids].unbind(dim=-1)
    position = default * sample_uniform(*scale, default.shape, env.device)
    robot.write_joint_state_to_sim(
        position.clamp(low, high), torch.zeros_like(position), env_ids=ids
    )


def _resolve(env: ManagerBasedRlEnv, env_ids: torch.Tensor | None) -> torch.Tensor:
    if env_ids is None:
        return torch.arange(env.num_envs, device=env.device)
    return env_ids


def _indices(
    env: ManagerBasedRlEnv, asset_cfg: SceneEntityCfg, kind: str
) -> torch.Tensor:
    """Indices in the whole model of an entity's bodies or geoms."""
    local = getattr(asset_cfg, f"{kind}_ids")
    return getattr(env.scene[asset_cfg.name].indexing, f"{kind}_ids")[local]


def reset_to_reference(
    env: ManagerBasedRlEnv,
    env_ids: torch.Tensor | None,
    motions: MotionLibrary,
    probability: float,
    place_m: float = 0.5,
    clearance_m: float = 0.01,
) -> None:
    """Let a share of the episodes begin in a state of a reference motion.

    Not in the paper. A robot that starts in mid-stride meets the reward of stepping at
    once; from a standing start it first has to give up standing, which is safe.

    It starts anywhere within ``place_m`` of the origin along x and y, facing anywhere,
    with its soles ``clearance_m`` above the ground.
    """
    ids = _resolve(env, env_ids)
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
