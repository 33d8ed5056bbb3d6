"""Pictures of robots on the terrain, drawn by MuJoCo without a screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from solo.envs.obstacle import OBSTACLE, ObstacleCfg, make_spec
from solo.gl import INSTALL_HINT, NoGraphicsError
from solo.pictures.terrain_mesh import replace_terrain
from solo.robots.build import build_spec
from solo.robots.robot_cfg import RobotCfg
from solo.terrains.grid import HeightGrid
from solo.terrains.scene import TerrainScene

SKY_RGB = (0.80, 0.87, 0.95)
HORIZON_RGB = (0.96, 0.97, 0.98)
SUN_DIRECTION = np.array([0.45, 0.35, -0.82])
EXTENT_M = 5.0
"""MuJoCo's length scale, by which clipping planes and shadows are multiplied."""

_CLEARANCE_M = 0.3
"""Least height of the line of sight above the ground."""
_AWAY_M = -100.0
"""Height of an obstacle that is not there."""


@dataclass(frozen=True)
class Viewpoint:
    """Where a camera stands: on a sphere around what it looks at."""

    lookat_m: tuple[float, float, float]
    """Point in the middle of the picture, world frame."""
    distance_m: float
    """Distance of the camera from that point."""
    azimuth_deg: float
    """Direction of view about the vertical; 0 looks along +x, 90 along +y."""
    elevation_deg: float
    """Direction of view above the horizontal; -90 looks straight down."""


@dataclass(frozen=True, eq=False)
class Shot:
    """One picture to take."""

    qpos: np.ndarray
    """States of the robots in it, [R, nq]."""
    view: Viewpoint
    """From where."""


def make_body(robot: RobotCfg) -> mujoco.MjSpec:
    """A model to look at: the robot with its visual meshes and the movable obstacle."""
    spec = mujoco.MjSpec()
    spec.attach(build_spec(robot), frame=spec.worldbody.add_frame())
    box = make_spec(ObstacleCfg())
    spec.attach(box, frame=spec.worldbody.add_frame(), prefix=f"{OBSTACLE}/")
    return spec


def body_qpos(robot: RobotCfg, qpos: np.ndarray) -> np.ndarray:
    """The state of `make_body` for that of a simulation with or without obstacle."""
    num_robot = 7 + len(robot.joint_names)
    state = np.zeros(num_robot + 7)
    state[num_robot + 2], state[num_robot + 3] = _AWAY_M, 1.0
    state[: len(qpos)] = qpos
    return state


def make_view_model(
    spec: mujoco.MjSpec, terrain: TerrainScene, size_px: tuple[int, int]
) -> mujoco.MjModel:
    """A simulation's model for pictures: light terrain meshes, daylight and sky.

    ``size_px`` is width and height of the largest picture.
    """
    spec = spec.copy()
    replace_terrain(spec, terrain)
    _set_daylight(spec)
    model = spec.compile()
    model.stat.extent = EXTENT_M
    model.vis.map.znear, model.vis.map.zfar = 0.02, 60.0
    # Shadows reach 15 m; at the end of their range MuJoCo draws specks.
    model.vis.map.shadowclip = 3.0
    model.vis.quality.shadowsize = 4096
    model.vis.global_.offwidth, model.vis.global_.offheight = size_px
    return model


def render(
    model: mujoco.MjModel,
    shots: Iterable[Shot],
    size_px: tuple[int, int],
    shadows: bool = True,
) -> Iterator[np.ndarray]:
    """Draw pictures uint8 [H, W, 3] one after the other; shadows double the time.

    Raises:
        NoGraphicsError: No OpenGL library can be used.
    """
    width, height = size_px
    try:
        renderer = mujoco.Renderer(model, height, width)
    except Exception as error:
        # MuJoCo and PyOpenGL raise AttributeError, ImportError, EGLError and others,
        # depending on which part of the graphics stack is missing.
        raise NoGraphicsError(
            f"MuJoCo cannot draw off-screen ({type(error).__name__}: {error}). "
            f"For 3-D pictures: {INSTALL_HINT}."
        ) from error
    data = mujoco.MjData(model)
    option, perturb = mujoco.MjvOption(), mujoco.MjvPerturb()
    option.sitegroup[:] = 0
    with renderer:
        for shot in shots:
            for index, qpos in enumerate(shot.qpos):
                data.qpos[:] = qpos
                mujoco.mj_kinematics(model, data)
                if index == 0:
                    # Shadows are drawn around the line that the sun shines along.
                    sun = np.array(shot.view.lookat_m) - 20.0 * SUN_DIRECTION
                    model.light_pos[0] = sun
                    mujoco.mj_camlight(model, data)
                    renderer.update_scene(data, _camera(shot.view), option)
                else:
                    dynamic = int(mujoco.mjtCatBit.mjCAT_DYNAMIC)
                    mujoco.mjv_addGeoms(
                        model, data, option, perturb, dynamic, renderer.scene
                    )
            flags = renderer.scene.flags
            flags[mujoco.mjtRndFlag.mjRND_SHADOW] = shadows
            flags[mujoco.mjtRndFlag.mjRND_HAZE] = True
            yield renderer.render()


def clear_view(
    grid: HeightGrid,
    lookat_m: tuple[float, float, float],
    distance_m: float,
    azimuth_deg: float,
    elevation_deg: float = -18.0,
) -> Viewpoint:
    """The lowest view that sees its target over the terrain in between.

    Args:
        grid: The terrain.
        lookat_m: What to look at.
        distance_m: Distance of the camera.
        azimuth_deg: Direction of view.
        elevation_deg: Elevation to begin with; it goes down in steps of 3 degrees.
    """
    share = np.linspace(
        0.25, 1.0, 40
    )  # The ground at the target's feet is no obstacle.
    while True:
        view = Viewpoint(lookat_m, distance_m, azimuth_deg, elevation_deg)
        points = np.array(lookat_m) - share[:, None] * distance_m * _forward(view)
        ground = grid.surface_at(points[:, 0], points[:, 1])
        if (points[:, 2] > ground + _CLEARANCE_M).all() or elevation_deg < -75.0:
            return view
        elevation_deg -= 3.0


def _forward(view: Viewpoint) -> np.ndarray:
    """Direction of view, a unit vector."""
    azimuth, elevation = np.radians([view.azimuth_deg, view.elevation_deg])
    return np.array(
        [
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation),
        ]
    )


def _camera(view: Viewpoint) -> mujoco.MjvCamera:
    camera = mujoco.MjvCamera()
    camera.lookat[:] = view.lookat_m
    camera.distance = view.distance_m
    camera.azimuth, camera.elevation = view.azimuth_deg, view.elevation_deg
    return camera


def _set_daylight(spec: mujoco.MjSpec) -> None:
    """Exchange the lights for one sun, and the black background for a sky."""
    for light in list(spec.lights):
        spec.delete(light)
    spec.worldbody.add_light(
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=[0.0, 0.0, 20.0],
        dir=SUN_DIRECTION,
        diffuse=[0.62, 0.61, 0.58],
        specular=[0.1, 0.1, 0.1],
        castshadow=True,
    )
    spec.visual.headlight.ambient = [0.38, 0.39, 0.41]
    spec.visual.headlight.diffuse = [0.18, 0.18, 0.18]
    spec.visual.headlight.specular = [0.0, 0.0, 0.0]
    spec.visual.rgba.haze = [*HORIZON_RGB, 1.0]
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=SKY_RGB,
        rgb2=HORIZON_RGB,
        width=256,
        height=1536,
    )
