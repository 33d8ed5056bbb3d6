"""From a `RobotCfg` to a MuJoCo model, an mjlab entity and a file.

`build_spec` changes the raw model in this order: inertias are made explicit, welded
joints go, the collision geoms are exchanged for the lean set, camera and foot sites are
added. What the config takes over from the model (actuators, keyframes, contact pairs)
is removed, so that nothing applies twice. So are the model's own sensors: each costs
time in every physics step, and tasks add the ones they read.

The model's default state hangs in the air, because Warp reserves memory for its
contacts; episodes start from the pose of `make_entity_cfg`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import mujoco
import numpy as np
from mjlab.entity import Entity, EntityArticulationInfoCfg, EntityCfg

from solo.errors import SoloError
from solo.robots.g1 import G1
from solo.robots.robot_cfg import CollisionGeom, RobotCfg
from solo.sensors.depth.cfg import CAMERA_TO_MUJOCO

DEPTH_CAMERA = "depth_camera"
"""Name of the camera (MuJoCo axes) and of the site (camera axes) at the mount."""

COLLISION_GROUP = 3
"""Geom group of the lean set; viewers hide it by default."""


def build_spec(cfg: RobotCfg, visual: bool = True) -> mujoco.MjSpec:
    """Build the robot's model as the config describes it.

    Without visual geoms and their meshes the model is small and compiles quickly, and
    physics is the same.

    Raises:
        SoloError: A name in the config is not in the model, or a joint of the model is
            neither a policy joint nor welded.
    """
    spec = cfg.spec_fn()
    _check_names(cfg, spec)
    _make_inertia_explicit(spec)
    removed = _remove(spec, [spec.joint(name) for name in cfg.welded_joints])
    removed |= _remove(spec, list(spec.actuators))
    removed |= _remove(
        spec, [g for g in spec.geoms if not visual or g.contype or g.conaffinity]
    )
    _remove(spec, [*spec.pairs, *spec.keys, *spec.sensors])
    spec.njmax = spec.nconmax = -1  # MuJoCo chooses; the scene has its own.
    if not visual:
        _remove(spec, [*spec.meshes, *spec.textures, *spec.materials])
    _remove_references(spec, removed)
    for geom in cfg.all_geoms:
        _add_geom(spec, geom, cfg.sole_friction)
    _add_foot_sites(spec, cfg)
    _add_camera(spec, cfg)
    spec.body(cfg.base_body).pos = [0.0, 0.0, 2.0 * cfg.base_height_m]
    check_joint_order(cfg, spec)
    return spec


def make_entity_cfg(cfg: RobotCfg, visual: bool = True) -> EntityCfg:
    """Build a fresh mjlab entity config: default pose, PD actuators, lean collision.

    The control vector follows the joint order, and the initial state is the default
    pose standing at the origin.
    """

    def spec_fn() -> mujoco.MjSpec:
        return build_spec(cfg, visual)

    default_pos = cfg.joint_values(cfg.default_joint_pos)
    return EntityCfg(
        init_state=EntityCfg.InitialStateCfg(
            pos=(0.0, 0.0, cfg.base_height_m),
            # mjlab matches from the left; "$" keeps leg_1 from matching leg_10.
            joint_pos={
                f"{re.escape(name)}$": value
                for name, value in zip(cfg.joint_names, default_pos, strict=True)
            },
        ),
        spec_fn=spec_fn,
        articulation=EntityArticulationInfoCfg(
            actuators=cfg.actuators,
            # Not stated in the paper; 0.9 chosen because mjlab uses it for the G1.
            soft_joint_pos_limit_factor=0.9,
        ),
        sort_actuators=True,
    )


def write_model(
    path: Path, scene: Literal["flat", "stairs"] = "flat", robot: RobotCfg = G1
) -> None:
    """Write a robot on some ground as MJCF, for a simulation in another process."""
    spec = Entity(make_entity_cfg(robot, visual=False)).spec
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.worldbody.add_geom(
        name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[20.0, 20.0, 0.1]
    )
    if scene == "stairs":
        for step in range(8):  # 15 cm high, 30 cm deep, from 1 m ahead.
            rise, start = 0.15 * (step + 1), 1.0 + 0.3 * step
            spec.worldbody.add_geom(
                name=f"step_{step}",
                type=mujoco.mjtGeom.mjGEOM_BOX,
                pos=[start + 2.0, 0.0, 0.5 * rise],
                size=[2.0, 1.5, 0.5 * rise],
            )
    spec.compile()
    path.write_text(spec.to_xml())


def joint_order_of(source: mujoco.MjSpec | mujoco.MjModel) -> tuple[str, ...]:
    """Names of all joints but the free one, in model order, without entity prefix."""
    if isinstance(source, mujoco.MjSpec):
        joints = [(joint.name, joint.type) for joint in source.joints]
    else:
        joints = [
            (source.joint(i).name, source.jnt_type[i]) for i in range(source.njnt)
        ]
    free = mujoco.mjtJoint.mjJNT_FREE
    return tuple(name.split("/")[-1] for name, kind in joints if kind != free)


def check_joint_order(cfg: RobotCfg, source: mujoco.MjSpec | mujoco.MjModel) -> None:
    """Raise a `SoloError` unless the model lists the joints as the config does."""
    found = joint_order_of(source)
    if found != cfg.joint_names:
        raise SoloError(
            f"{cfg.name}: the model's joint order is {', '.join(found)}; "
            f"RobotCfg.joint_names is {', '.join(cfg.joint_names)}. List joint_names "
            "in the model's order."
        )


def _check_names(cfg: RobotCfg, spec: mujoco.MjSpec) -> None:
    """Compare every joint and body name of the config with the raw model."""
    joints = joint_order_of(spec)
    bodies = [body.name for body in spec.bodies if body.name != "world"]
    _check_known(cfg, "joint", cfg.all_joints, joints)
    _check_known(
        cfg,
        "body",
        [
            cfg.base_body,
            cfg.torso_body,
            cfg.camera_mount.body,
            *cfg.termination_bodies,
            *(foot.body for foot in cfg.feet),
            *(geom.body for geom in cfg.collision),
            *(capsule.body for capsule in cfg.self_view),
        ],
        bodies,
    )
    for joint in joints:
        if joint not in cfg.all_joints:
            raise SoloError(
                f"{cfg.name}: joint {joint!r} of the model is neither in joint_names "
                "nor in welded_joints. Add it to one of the two."
            )
    bases = [j.parent.name for j in spec.joints if j.type == mujoco.mjtJoint.mjJNT_FREE]
    if bases != [cfg.base_body]:
        raise SoloError(
            f"{cfg.name}: free joints are on bodies {bases}; expected exactly one, on "
            f"base_body {cfg.base_body!r}. Add a freejoint there or change base_body."
        )


def _check_known(
    cfg: RobotCfg, kind: str, names: Iterable[str], known: Iterable[str]
) -> None:
    for name in names:
        if name not in known:
            raise SoloError(
                f"{cfg.name}: {kind} {name!r} is not in the model. The model has: "
                f"{', '.join(known)}. Correct the name in the RobotCfg."
            )


def _make_inertia_explicit(spec: mujoco.MjSpec) -> None:
    """Write down inertias that MuJoCo would infer from the geoms we are to exchange."""
    auto = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO
    bodies = list(spec.bodies)[1:]  # Body 0 is the world.
    if spec.compiler.inertiafromgeom == auto and all(
        body.explicitinertial for body in bodies
    ):
        return
    model = spec.copy().compile()
    for body_id, body in enumerate(bodies, start=1):
        compiled = model.body(body_id)
        body.mass = float(compiled.mass[0])
        body.ipos, body.iquat = compiled.ipos, compiled.iquat
        body.inertia = compiled.inertia
        body.fullinertia = np.full(6, np.nan)
        body.explicitinertial = True
    spec.compiler.inertiafromgeom = auto


def _remove(spec: mujoco.MjSpec, elements: Iterable) -> set[tuple[int, str]]:
    """Delete the elements and return what others may have referred to them by."""
    removed = set()
    for element in elements:
        kind = {
            mujoco.MjsJoint: mujoco.mjtObj.mjOBJ_JOINT,
            mujoco.MjsActuator: mujoco.mjtObj.mjOBJ_ACTUATOR,
            mujoco.MjsGeom: mujoco.mjtObj.mjOBJ_GEOM,
        }.get(type(element))
        if kind is not None:
            removed.add((int(kind), element.name))
        spec.delete(element)
    return removed


def _remove_references(spec: mujoco.MjSpec, removed: set[tuple[int, str]]) -> None:
    """Delete equality constraints of joints that no longer exist."""
    joint = int(mujoco.mjtObj.mjOBJ_JOINT)
    for equality in list(spec.equalities):
        names = (equality.name1, equality.name2)
        if equality.type == mujoco.mjtEq.mjEQ_JOINT and any(
            (joint, name) in removed for name in names
        ):
            spec.delete(equality)


def _add_geom(spec: mujoco.MjSpec, geom: CollisionGeom, friction: float) -> None:
    """Add a geom that touches the terrain (contype 1) but no other robot geom."""
    shape: dict = {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "pos": geom.pos}
    if geom.fromto is not None:
        shape = {"type": mujoco.mjtGeom.mjGEOM_CAPSULE, "fromto": sum(geom.fromto, ())}
    added = spec.body(geom.body).add_geom(
        name=geom.name,
        size=[geom.radius, 0.0, 0.0],
        contype=0,
        conaffinity=1,
        condim=geom.condim,
        priority=int(geom.condim > 1),
        group=COLLISION_GROUP,
        mass=0.0,
        rgba=[0.2, 0.6, 0.2, 0.3],
        **shape,
    )
    if geom.condim > 1:
        added.friction[0] = friction


def _add_foot_sites(spec: mujoco.MjSpec, cfg: RobotCfg) -> None:
    existing = {site.name for site in spec.sites}
    for foot in cfg.feet:
        if foot.site not in existing:
            x, y = np.mean(list(foot.points.values()), axis=0)
            spec.body(foot.body).add_site(name=foot.site, pos=[x, y, foot.sole_z])


def _add_camera(spec: mujoco.MjSpec, cfg: RobotCfg) -> None:
    """Add the camera in MuJoCo's axes and a site in ours at the same point."""
    mount, camera = cfg.camera_mount, cfg.depth_camera
    rotation = mount.rotation_camera_to_body()
    body = spec.body(mount.body)
    body.add_site(name=DEPTH_CAMERA, pos=mount.pos_m, quat=_quat_wxyz(rotation))
    body.add_camera(
        name=DEPTH_CAMERA,
        pos=mount.pos_m,
        quat=_quat_wxyz(rotation @ CAMERA_TO_MUJOCO),
        fovy=camera.fov_deg[1],
        resolution=[camera.width, camera.height],
    )


def _quat_wxyz(rotation: np.ndarray) -> np.ndarray:
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, rotation.flatten())
    return quat
