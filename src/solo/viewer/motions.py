"""Reference motions: played in the browser, or drawn as a strip of poses or a video."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import mujoco
import numpy as np
import viser
from mjviser import ViserMujocoScene
from PIL import Image, ImageDraw, ImageFont

from solo.motions import rotations
from solo.motions.clip import MotionClip, resample
from solo.pictures.offscreen import Shot, Viewpoint, make_view_model, render
from solo.robots.build import build_spec
from solo.robots.robot_cfg import RobotCfg
from solo.terrains.scene import TerrainSceneCfg, build_scene

FPS = 30.0
"""Pictures per second."""
LOOP_S = 8.0
"""How long a looping clip goes on before it starts over."""


def playable_qpos(clip: MotionClip) -> np.ndarray:
    """Poses [T, 7 + J] at the clip's rate; a loop is repeated for `LOOP_S` at least."""
    if not clip.loops:
        return clip.qpos
    period = clip.num_frames - 1
    rounds = max(1, -(-round(LOOP_S * clip.fps) // period))
    return clip.extended_qpos(rounds * period)[rounds * period :]


class MotionPlayer:
    """A robot on a page that goes through the poses of a clip."""

    def __init__(
        self, robot: RobotCfg, clips: Sequence[MotionClip], server: viser.ViserServer
    ) -> None:
        """Put robot and controls on the page; the first clip is shown first."""
        spec = mujoco.MjSpec()
        spec.attach(build_spec(robot), frame=spec.worldbody.add_frame())
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        self._scene = ViserMujocoScene(server, self._model, num_envs=1)
        server.scene.add_grid(
            "/fixed_bodies/ground", width=40.0, height=40.0, cell_size=0.5
        )
        server.initial_camera.position = (2.2, -2.2, 0.9)
        server.initial_camera.look_at = (0.0, 0.0, 0.0)
        self._clips = {clip.name: clip for clip in clips}
        self._lock = threading.Lock()
        gui, names = server.gui, tuple(self._clips)
        self.chooser = gui.add_dropdown("motion", names, initial_value=names[0])
        self.plays = gui.add_checkbox("play", initial_value=True)
        self.speed = gui.add_slider("speed", 0.1, 2.0, 0.1, initial_value=1.0)
        self.time = gui.add_slider("time, s", 0.0, 1.0, 0.01, initial_value=0.0)
        self.chooser.on_update(lambda _: self._choose())
        self._choose()

    @property
    def base_position_m(self) -> np.ndarray:
        """Where the robot is [3]."""
        return self._data.qpos[:3].copy()

    def advance(self, seconds: float) -> None:
        """Go on if the page says so, and show the pose."""
        with self._lock:
            if self.plays.value:
                later = self.time.value + seconds * self.speed.value
                self.time.value = later if later <= self.time.max else 0.0
            frame = round(self.time.value * self._fps)
            self._data.qpos[:] = self._qpos[min(frame, len(self._qpos) - 1)]
            mujoco.mj_forward(self._model, self._data)
            self._scene.update_from_mjdata(self._data)

    def run(self) -> None:
        """Play in real time until the user interrupts."""
        last = time.monotonic()
        while True:
            time.sleep(max(0.0, last + 1.0 / FPS - time.monotonic()))
            now = time.monotonic()
            self.advance(now - last)
            last = now

    def _choose(self) -> None:
        with self._lock:
            clip = self._clips[self.chooser.value]
            self._qpos, self._fps = playable_qpos(clip), clip.fps
            self.time.value = 0.0
            self.time.max = (len(self._qpos) - 1) / clip.fps


MOVIE_FPS = 25.0
"""Frame rate of movies: real time, and what GIF can express exactly."""

_STRIP_POSES = 8
_STRIP_PX = (300, 420)
_MOVIE_PX = (400, 400)
_TURN_S = 3.0
"""Length of a movie of a loop that turns."""

_DISTANCE_M = 2.3
_SIDE_DEG, _CORNER_DEG = 90.0, 130.0
"""Directions of view: strips from the right side, movies from ahead on the right."""


def draw_strip(robot: RobotCfg, clip: MotionClip) -> Image.Image:
    """Draw poses at equal intervals from left to right, with their times.

    Raises:
        NoGraphicsError: MuJoCo cannot draw on this machine.
    """
    frames = np.linspace(0, clip.num_frames - 1, _STRIP_POSES, endpoint=False)
    frames = frames.round().astype(int)
    images = _draw(robot, clip.qpos[frames], _STRIP_PX, _SIDE_DEG)
    width, height = _STRIP_PX
    sheet = Image.new("RGB", (width * _STRIP_POSES, height), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(24)
    for index, (frame, image) in enumerate(zip(frames, images, strict=True)):
        sheet.paste(Image.fromarray(image), (index * width, 0))
        label = f"{frame / clip.fps:.2f} s"
        place = (index * width + 12, height - 40)
        draw.text(place, label, "white", font, stroke_width=2, stroke_fill="black")
    draw.text((12, 10), clip.name, "white", font, stroke_width=2, stroke_fill="black")
    return sheet


def draw_movie(robot: RobotCfg, clip: MotionClip) -> list[Image.Image]:
    """Draw frames at `MOVIE_FPS`; the end of a loop meets its beginning.

    Raises:
        NoGraphicsError: MuJoCo cannot draw on this machine.
    """
    images = _draw(robot, _movie_qpos(clip), _MOVIE_PX, _CORNER_DEG, shadows=False)
    return [Image.fromarray(image) for image in images]


def _movie_qpos(clip: MotionClip) -> np.ndarray:
    """One period of a loop, or some of them if it turns: a movie starts over."""
    clip = resample(clip, MOVIE_FPS)
    if not clip.loops:
        return clip.qpos
    period = clip.num_frames - 1
    turn = rotations.yaw_of(clip.root_quat_w[[0, -1]])
    rounds = 1
    if abs(turn[1] - turn[0]) > 0.01:
        rounds = max(1, round(_TURN_S / clip.duration_s))
    frames = rounds * period
    return clip.extended_qpos(frames)[frames : 2 * frames]


def _draw(
    robot: RobotCfg,
    qpos: np.ndarray,
    size_px: tuple[int, int],
    azimuth_deg: float,
    shadows: bool = True,
) -> Iterator[np.ndarray]:
    """Draw each pose on a chessboard, with a camera that moves along."""
    terrain = build_scene(TerrainSceneCfg(variants=("flat",), num_levels=1))
    spec = mujoco.MjSpec()
    spec.attach(build_spec(robot), frame=spec.worldbody.add_frame())
    _add_chessboard(spec)
    model = make_view_model(spec, terrain, size_px)
    shots = []
    for pose in qpos:
        x, y = float(pose[0]), float(pose[1])
        view = Viewpoint((x, y, 0.62), _DISTANCE_M, azimuth_deg, -8.0)
        shots.append(Shot(pose[None], view))
    return render(model, shots, size_px, shadows)


def _add_chessboard(spec: mujoco.MjSpec) -> None:
    """Squares of half a metre, a hair above the ground, to show the motion."""
    texture = spec.add_texture(
        name="chessboard",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=[0.72, 0.74, 0.76],
        rgb2=[0.62, 0.64, 0.66],
        width=256,
        height=256,
    )
    material = spec.add_material(name="chessboard", texrepeat=[1, 1], texuniform=True)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = texture.name
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[0.0, 0.0, 0.1],
        pos=[0.0, 0.0, 0.001],
        material=material.name,
        contype=0,
        conaffinity=0,
    )
