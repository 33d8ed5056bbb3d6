"""A movable obstacle: a free box that robots can push, see and step on.

It is a second free body beside the robot. Physics, the depth camera and the height map
all read its one pose; its size is that of the one geom in the model.

It needs the native backend, which has contacts of its own for boxes on height fields
(``solo.sim.height_field.box``). MuJoCo stops at 50 contacts, all at one end of the box,
and throws a box at rest into the air; MuJoCo Warp does the same.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import mujoco
import torch
from mjlab.entity import Entity, EntityCfg
from mjlab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from mjlab.managers.event_manager import EventTermCfg
from mjlab.sensor import ContactSensorCfg, SensorCfg
from mjlab.utils.lab_api.math import matrix_from_quat

from solo.envs.grid_terrain import grid_terrain
from solo.envs.names import BODY_CONTACT, FEET_CONTACT
from solo.errors import SoloError
from solo.sensors.height_map import Boxes
from solo.sim.native import NativeSimulation

OBSTACLE = "obstacle"
"""Name of the entity, of its body and of its geom."""

PARK = "park_obstacle"
"""Event: the obstacle is out of the way at the start of an episode."""

_ROBOT_SENSORS = (FEET_CONTACT, BODY_CONTACT)

_DEFAULT_HEIGHT_M = 10.0
"""Height of the model's default state, in which no terrain touches the box."""


@dataclass(frozen=True)
class ObstacleCfg:
    """The box. Not stated in the paper, which shows one only; a packed moving box."""

    size_m: tuple[float, float, float] = (0.40, 0.60, 0.20)
    """Full extents along its own x, y and z."""
    mass_kg: float = 4.0
    """Mass, spread evenly."""
    friction: float = 0.5
    """Coefficient of friction against the ground and against the robot's links.

    Cardboard on a hard floor. Soles keep the larger of theirs and this.
    """
    rgba: tuple[float, float, float, float] = (0.80, 0.55, 0.30, 1.0)
    """Colour in pictures."""

    def __post_init__(self) -> None:
        values = {**dict(zip("xyz", self.size_m, strict=True)), "mass": self.mass_kg}
        for name, value in values.items():
            if not value > 0.0:
                raise SoloError(
                    f"The obstacle's {name} is {value}; it must be above 0, in metres "
                    "or kilograms."
                )
        if self.friction < 0.0:
            raise SoloError(
                f"The obstacle's friction is {self.friction}; it must not be negative."
            )


def add_obstacle(cfg: ManagerBasedRlEnvCfg, obstacle: ObstacleCfg) -> None:
    """Add the box to an environment, which its observations then show.

    Episodes begin with the box parked at a corner of the terrain. To put it elsewhere,
    call `place_obstacle` after ``env.reset()`` or in a reset event of your own; the
    event that parks it is the first.

    Contact sensors of the robot count the box like the ground: a foot on the box is a
    foot that stands.
    """
    if OBSTACLE in cfg.scene.entities:
        raise SoloError("The environment has an obstacle already; add it once.")
    cfg.scene.entities[OBSTACLE] = EntityCfg(
        init_state=EntityCfg.InitialStateCfg(
            pos=(0.0, 0.0, _DEFAULT_HEIGHT_M), joint_pos={}, joint_vel={}
        ),
        spec_fn=functools.partial(make_spec, obstacle),
    )
    cfg.scene.sensors = tuple(_count_all_contacts(s) for s in cfg.scene.sensors)
    cfg.events = {PARK: EventTermCfg(func=park_obstacle, mode="reset"), **cfg.events}


def make_spec(obstacle: ObstacleCfg) -> mujoco.MjSpec:
    """The model of the box alone; its frame is at its centre."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name=OBSTACLE)
    body.add_freejoint(name=OBSTACLE)
    x, y, z = obstacle.size_m
    geom = body.add_geom(
        name=OBSTACLE,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[x / 2, y / 2, z / 2],
        mass=obstacle.mass_kg,
        rgba=obstacle.rgba,
        contype=1,
        conaffinity=1,
        condim=3,
        # As the soles: the ground's own coefficient, 1, would otherwise win.
        priority=1,
        # Stiff, so that it does not creep down a slope of 15 degrees by more than
        # 0.2 mm/s; MuJoCo's default lets it creep ten times as fast.
        solimp=[0.99, 0.99, 0.001, 0.5, 2.0],
        group=0,
    )
    geom.friction[0] = obstacle.friction
    return spec


def place_obstacle(
    env: ManagerBasedRlEnv,
    env_ids: torch.Tensor | None,
    position_w: torch.Tensor,
    yaw: torch.Tensor,
) -> None:
    """Put the box down, upright and at rest, in some environments [N] or all.

    ``position_w`` [N, 3] is where the centre of the bottom face is to be, so z is the
    height of the ground there; ``yaw`` [N] is the direction of the box's x axis. Poses
    that are derived from the state follow with the next ``env.sim.forward()``, which
    ``env.reset`` and ``env.step`` call.
    """
    entity = _find(env)
    if not isinstance(env.sim, NativeSimulation):
        raise SoloError(
            "The environment runs on MuJoCo Warp, whose contacts of boxes with height "
            "fields throw the obstacle into the air. Use device cpu and backend native."
        )
    pose = position_w.new_zeros(len(position_w), 7)
    pose[:, :3] = position_w
    pose[:, 2] += half_extents(env)[2]
    pose[:, 3], pose[:, 6] = torch.cos(yaw / 2), torch.sin(yaw / 2)
    entity.write_root_link_pose_to_sim(pose, env_ids=env_ids)
    entity.write_root_link_velocity_to_sim(pose.new_zeros(len(pose), 6), env_ids)


def obstacle_pose(env: ManagerBasedRlEnv) -> tuple[torch.Tensor, torch.Tensor]:
    """Centre of the box [B, 3], world, metres, and its orientation [B, 4], wxyz."""
    data = _find(env).data
    return data.root_link_pos_w, data.root_link_quat_w


def obstacle_boxes(env: ManagerBasedRlEnv) -> Boxes | None:
    """The box as sensors see it; None if the environment has no obstacle."""
    if OBSTACLE not in env.scene.entities:
        return None
    pos_w, quat_w = obstacle_pose(env)
    return Boxes(
        pos_w[:, None], matrix_from_quat(quat_w)[:, None], half_extents(env)[None]
    )


def half_extents(env: ManagerBasedRlEnv) -> torch.Tensor:
    """Half of the box's extents along its own axes [3], metres, as physics has them."""
    name = f"{OBSTACLE}/{OBSTACLE}"
    size = env.sim.mj_model.geom(name).size
    return torch.tensor(size, dtype=torch.float32, device=env.device)


def park_obstacle(env: ManagerBasedRlEnv, env_ids: torch.Tensor | None) -> None:
    """Put the box on the ground at a corner of the terrain, out of the way."""
    grid = grid_terrain(env).grid
    reach_m = float(half_extents(env)[:2].norm())
    cells = int(2.0 * reach_m / grid.cell_m) + 2
    height_m = float(grid.units[:cells, :cells].max()) * grid.unit_m
    x_m, y_m = (corner + reach_m + grid.cell_m for corner in grid.corner_xy_m)
    num = env.num_envs if env_ids is None else len(env_ids)
    position_w = torch.tensor([[x_m, y_m, height_m]], device=env.device)
    place_obstacle(
        env, env_ids, position_w.expand(num, 3), torch.zeros(num, device=env.device)
    )


def _find(env: ManagerBasedRlEnv) -> Entity:
    if OBSTACLE not in env.scene.entities:
        raise SoloError("The environment has no obstacle; call add_obstacle first.")
    return env.scene.entities[OBSTACLE]


def _count_all_contacts(sensor: SensorCfg) -> SensorCfg:
    """The robot's sensors against anything; its geoms do not touch each other."""
    if isinstance(sensor, ContactSensorCfg) and sensor.name in _ROBOT_SENSORS:
        return replace(sensor, secondary=None)
    return sensor
