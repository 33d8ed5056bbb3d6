"""Reference motions in the browser: choose one, play it, look from anywhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import mujoco
import numpy as np
import viser
from mjviser import ViserMujocoScene

from solo.motions.clip import MotionClip
from solo.robots.build import build_spec
from solo.robots.robot_cfg import RobotCfg

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
        """Put robot and controls on the page.

        Args:
            robot: The robot.
            clips: What can be chosen; the first is shown first.
            server: From `solo.viewer.server.start_server`.
        """
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
