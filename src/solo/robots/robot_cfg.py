"""Everything the rest of the code has to know about a robot, as data.

A second robot is a second `RobotCfg`, in any package; no other code mentions a joint or
a body by name. `get_robot` finds it by its own.
`solo.robots.build` turns the config into a MuJoCo model and an mjlab entity.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path

import mujoco
from mjlab.actuator import BuiltinPositionActuatorCfg

from solo import names
from solo.errors import SoloError, unknown_name
from solo.sensors.depth.cfg import (
    CameraMountCfg,
    CapsuleCfg,
    DepthCameraCfg,
    DepthSensorCfg,
)
from solo.sensors.height_map import HeightMapCfg

Vec3 = tuple[float, float, float]


@dataclass(frozen=True)
class CollisionGeom:
    """One sphere (``pos`` given) or capsule (``fromto`` given) that can touch terrain.

    Spheres are preferred: against a height field they are the cheapest shape.
    """

    name: str
    """Name of the geom in the model."""
    body: str
    """Body that carries it."""
    radius: float
    """Radius of the sphere or capsule, metres."""
    pos: Vec3 | None = None
    """Centre of the sphere in the body frame, metres."""
    fromto: tuple[Vec3, Vec3] | None = None
    """End points of the capsule's axis in the body frame, metres."""
    condim: int = 1
    """Contact dimension; 1 is frictionless and costs a quarter of 3."""

    def __post_init__(self) -> None:
        if (self.pos is None) == (self.fromto is None):
            raise ValueError(
                f"CollisionGeom {self.name!r} has pos={self.pos} and "
                f"fromto={self.fromto}; give pos for a sphere or fromto for a capsule."
            )
        if self.radius <= 0.0:
            raise ValueError(
                f"CollisionGeom {self.name!r} has radius {self.radius}; it must be "
                "positive, in metres."
            )


@dataclass(frozen=True)
class FootCfg:
    """One foot: a flat sole held up by small spheres.

    A sphere touches the ground straight below its centre, so the points are the
    corners of the support polygon. Points in the middle of the foot carry it when only
    half of the sole is on a step.
    """

    body: str
    """Body that carries the sole."""
    site: str
    """Site at the sole; made at the centre of the points if the model has none."""
    points: Mapping[str, tuple[float, float]]
    """Name of each sphere to its centre (x, y) in the body frame, metres."""
    sole_z: float
    """Height of the sole in the body frame, metres (negative: below the ankle)."""
    radius: float
    """Radius of the spheres, metres; their lowest points lie at ``sole_z``."""

    def geoms(self) -> tuple[CollisionGeom, ...]:
        """The spheres, with friction, in the order of ``points``."""
        return tuple(
            CollisionGeom(
                name=f"{self.body}_sole_{name}",
                body=self.body,
                radius=self.radius,
                pos=(x, y, self.sole_z + self.radius),
                condim=3,
            )
            for name, (x, y) in self.points.items()
        )


@dataclass(frozen=True)
class RobotCfg:
    """A robot: model, joints, gains, body groups, collision set and camera.

    Joint patterns are regular expressions that must match a whole joint name, as in
    mjlab. Bodies and joints are checked against the model by `build_spec`.
    """

    name: str
    """What `solo.robots.get_robot` finds it by: a registered name, or
    ``module:ATTRIBUTE``. Runs and bundles keep it."""
    spec_fn: Callable[[], mujoco.MjSpec]
    """Returns a fresh copy of the raw model, with one free joint on the base."""
    joint_names: tuple[str, ...]
    """Joints the policy controls, in the order of observations and actions.

    It must be the order in which the model lists them.
    """
    welded_joints: tuple[str, ...]
    """Joints to remove at the model's zero; mass and inertia of the links stay."""
    default_joint_pos: Mapping[str, float]
    """Joint pattern to default position, radians; joints without a match are at 0."""
    base_height_m: float
    """Height of the base in the default pose with the lowest sole at z = 0."""
    actuators: tuple[BuiltinPositionActuatorCfg, ...]
    """PD gains, effort limits and armature; together they cover each joint once."""
    action_scale: Mapping[str, float] | float
    """Radians of position offset per unit of action, per joint pattern or for all."""
    base_body: str
    """Root body with the free joint; its position and yaw define the heading frame."""
    torso_body: str
    """The paper's waist link: mass and CoM offsets, orientation reward."""
    termination_bodies: tuple[str, ...]
    """Bodies that end the episode when they touch the terrain (waist and head)."""
    feet: tuple[FootCfg, FootCfg]
    """Left foot, right foot."""
    hip_joints: tuple[str, ...]
    """Patterns of hip yaw and roll, for the hip deviation reward."""
    upper_body_joints: tuple[str, ...]
    """Patterns of waist, shoulders and elbows, for the arm deviation reward."""
    leg_joints: tuple[str, ...]
    """Patterns of hip pitch, knees and ankles, for the leg deviation reward."""
    collision: tuple[CollisionGeom, ...]
    """Geoms besides the soles; together they replace the model's collision geoms."""
    self_view: tuple[CapsuleCfg, ...]
    """Links that can come into the depth image."""
    camera_mount: CameraMountCfg
    """Pose of the depth camera."""
    depth_camera: DepthCameraCfg = field(default_factory=DepthCameraCfg)
    """Intrinsics, output size and range of the depth camera."""
    height_map: HeightMapCfg = field(default_factory=HeightMapCfg)
    """Window of the height map around the base."""
    velocity_limits: Mapping[str, float] | float | None = None
    """Largest speed of the motors, rad/s, per joint pattern or for all; a bundle needs
    it. Limits of position are the model's, those of torque the actuators'."""
    motions: tuple[Path, ...] = ()
    """Files of reference motions, see `solo.motions.files`; synthesised if empty."""
    sole_friction: float = 0.8
    """Sliding friction of the soles; it has priority over the terrain's.

    Not stated in the paper as a nominal value; 0.8 chosen because it is the middle of
    the static range (0.6 to 1.0) that domain randomisation draws from.
    """

    def __post_init__(self) -> None:
        _check_unique(f"{self.name}: joint_names + welded_joints", self.all_joints)
        _check_unique(
            f"{self.name}: collision geom names", [g.name for g in self.all_geoms]
        )
        if self.base_height_m <= 0.0:
            raise ValueError(
                f"{self.name}: base_height_m is {self.base_height_m}; it must be "
                "positive, in metres."
            )
        self._check_covered(
            "actuators", [p for a in self.actuators for p in a.target_names_expr]
        )
        for where in ("action_scale", "velocity_limits"):
            values = getattr(self, where)
            if isinstance(values, Mapping):
                self._check_covered(where, values)
        for where in (
            "default_joint_pos",
            "hip_joints",
            "upper_body_joints",
            "leg_joints",
        ):
            for pattern in getattr(self, where):
                self._matches(where, pattern)
        touching = {geom.body for geom in self.all_geoms}
        for body in self.termination_bodies:
            if body not in touching:
                raise SoloError(
                    f"{self.name}: termination body {body!r} has no collision geom, so "
                    f"it can never touch anything. Bodies with geoms: "
                    f"{', '.join(sorted(touching))}. Add a CollisionGeom or remove it."
                )

    @property
    def all_joints(self) -> tuple[str, ...]:
        """Policy joints followed by welded joints."""
        return self.joint_names + self.welded_joints

    @property
    def all_geoms(self) -> tuple[CollisionGeom, ...]:
        """The whole collision set: soles of both feet, then the rest."""
        return self.feet[0].geoms() + self.feet[1].geoms() + self.collision

    def depth_sensor(
        self, clean: bool = False, shape: tuple[int, int] | None = None
    ) -> DepthSensorCfg:
        """The camera with the paper's errors and latency, or without any.

        Images have the rows and columns of ``shape``, or the camera's.
        """
        camera = self.depth_camera
        if shape is not None:
            camera = replace(camera, output_height=shape[0], output_width=shape[1])
        cfg = DepthSensorCfg(camera, self.camera_mount, self.self_view)
        if clean:
            cfg = replace(cfg, extrinsics=None, corruption=None, max_delay=0)
        return cfg

    def find_joints(self, patterns: Iterable[str]) -> tuple[str, ...]:
        """Policy joints that match any of the patterns, in the contract's order."""
        compiled = [re.compile(pattern) for pattern in patterns]
        return tuple(
            name
            for name in self.joint_names
            if any(p.fullmatch(name) for p in compiled)
        )

    def joint_values(self, values: Mapping[str, float] | float) -> tuple[float, ...]:
        """Resolve a pattern map such as `default_joint_pos` to one value per joint.

        Joints without a match get 0; the first match wins.
        """
        if not isinstance(values, Mapping):
            return (float(values),) * len(self.joint_names)
        return tuple(
            next((float(v) for p, v in values.items() if re.fullmatch(p, name)), 0.0)
            for name in self.joint_names
        )

    def _matches(self, where: str, pattern: str) -> tuple[str, ...]:
        found = self.find_joints((pattern,))
        if not found:
            raise SoloError(
                f"{self.name}: pattern {pattern!r} in {where} matches no policy joint. "
                f"Policy joints: {', '.join(self.joint_names)}. Correct the pattern."
            )
        return found

    def _check_covered(self, where: str, patterns: Iterable[str]) -> None:
        """Each policy joint must be matched by exactly one pattern."""
        matched = [n for pattern in patterns for n in self._matches(where, pattern)]
        for name in self.joint_names:
            if matched.count(name) != 1:
                raise SoloError(
                    f"{self.name}: joint {name!r} is matched by {matched.count(name)} "
                    f"patterns in {where}; it must be exactly 1. Correct the patterns."
                )


def get_robot(name: str) -> RobotCfg:
    """Look a robot up.

    Args:
        name: A name that is registered, here or by an installed package through the
            entry point group ``solo.robots``; or ``module:ATTRIBUTE`` of a `RobotCfg`
            in any module that Python finds. Runs and bundles keep this name.

    Raises:
        SoloError: There is no such robot, or it cannot be imported.
    """
    places = names.robot_places()
    module, _, attribute = places.get(name, name).partition(":")
    if not attribute:
        raise unknown_name(
            "robot", name, places, "Or give module:ATTRIBUTE, see docs/own-robot.md."
        )
    try:
        found = getattr(import_module(module), attribute, None)
    except (ImportError, ValueError) as error:
        raise SoloError(
            f"The robot {name!r} cannot be imported: {error}. Install its package, or "
            "add its folder to PYTHONPATH."
        ) from error
    if not isinstance(found, RobotCfg):
        raise SoloError(
            f"The robot {name!r}: {attribute!r} in the module {module!r} is a "
            f"{type(found).__name__}, not a RobotCfg. Correct the name."
        )
    return found if found.name == name else replace(found, name=name)


def scale_from_effort(
    actuators: Iterable[BuiltinPositionActuatorCfg], fraction: float = 0.25
) -> dict[str, float]:
    """Action scale such that one unit of action asks for a fraction of full effort.

    Joint pattern to radians per unit. Not stated in the paper; 0.25 chosen because
    mjlab trains the G1 with it.
    """
    scale = {}
    for group in actuators:
        if group.effort_limit is None:
            raise ValueError(
                f"Actuator group {group.target_names_expr} has no effort_limit. Set "
                "it, or give RobotCfg.action_scale directly."
            )
        for pattern in group.target_names_expr:
            scale[pattern] = fraction * group.effort_limit / group.stiffness
    return scale


def _check_unique(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SoloError(f"{what}: {name!r} appears twice. Remove one of them.")
        seen.add(name)
