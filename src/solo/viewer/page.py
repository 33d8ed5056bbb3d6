"""A policy on a page: steps in real time, follows the controls, shows what happens."""

from __future__ import annotations

import math
import random
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import viser
from mjviser import ViserMujocoScene

from solo.errors import SoloError
from solo.evaluation.rollout import PolicySource
from solo.evaluation.strips import element_at
from solo.pictures.images import Easel, Perception
from solo.pictures.offscreen import body_qpos, make_body
from solo.pictures.terrain_mesh import make_terrain_meshes
from solo.terrains.scene import TerrainScene
from solo.viewer.controls import AGAIN, PUSH, Choice, Controls, make_easel
from solo.viewer.film import FILM_FPS, Frame, Studio, frame_stride, write_film
from solo.viewer.ground import make_ground
from solo.viewer.tally import Tally
from solo.viewer.walk import END_WORDS, Moment, Walk

PUSH_M_S = 1.0
"""Velocity of a push, in a random direction: the largest along one axis in training."""

_ROBOT_S, _SIGHT_S, _WORDS_S = 0.04, 0.2, 0.25
"""Least wall time between two updates of each; drawing must not hold up the steps."""
_LIE_S = 1.2
"""How long the end of an attempt stays in view."""
_LATE_S = 0.2
"""Beyond this delay the loop does not try to catch up."""
_RECENT = 100
"""Steps over which rates are shown."""


@dataclass(frozen=True)
class PageCfg:
    """What a session begins with."""

    choice: Choice
    seed: int = 0
    """Seed of starts, of random terrain and of pushes."""
    num_robots: int = 1
    depth_errors: bool = False
    """Whether depth has the camera errors of training."""
    folder: Path = Path()
    """Where recordings go."""


class Page:
    """A session: one server, one terrain at a time, one robot that is watched."""

    def __init__(
        self, server: viser.ViserServer, source: PolicySource, cfg: PageCfg
    ) -> None:
        """Build the simulation and the page on a server of `start_server`."""
        self._source, self._cfg = source, cfg
        self._random = random.Random(cfg.seed)
        self.walk = self._build(cfg.choice)
        self.tally = Tally(self.walk.step_s)
        easel = make_easel(source.robot, self.walk.map_cfg)
        self.controls = Controls(server, cfg.choice, self.walk.command_range, easel)
        self._stage = PageScene(server, easel, cfg.num_robots)
        self._stage.set_terrain(self.walk.terrain)
        self.moment: Moment | None = None
        """The last step; replaced, never changed, so that any thread may look."""
        self.pushes: list[tuple[float, float]] = []
        """Velocities of all pushes."""
        self.recordings: list[Path] = []
        """Videos that were written."""
        self._frames: list[Frame] = []
        self._steps = 0
        self._writers: list[threading.Thread] = []
        self._news = ""
        self._due: dict[str, float] = {}
        self._shown_s = time.monotonic()
        self._recent: deque[float] = deque(maxlen=_RECENT)

    def run(self, stop: threading.Event | None = None) -> None:
        """Step in real time until told to stop."""
        stop, due_s = stop or threading.Event(), time.monotonic()
        while not stop.is_set():
            self.controls.steady_cameras()
            if self.controls.paused.value and self.moment is not None:
                stop.wait(_ROBOT_S)
                due_s = time.monotonic()
                self._recent.clear()
                self._record(None)
                continue
            due_s = max(due_s + self.walk.step_s, time.monotonic() - _LATE_S)
            moment = self._step()
            self._show(moment, at_once=moment.end is not None)
            if moment.end is not None:
                stop.wait(_LIE_S)
                self._begin()
                due_s = time.monotonic()
            stop.wait(max(0.0, due_s - time.monotonic()))

    def summarise(self) -> dict[str, Any]:
        """All of the session, with the terrain of its end."""
        summary = self.tally.summarise(self._source, self.walk.ground)
        files = [str(path) for path in self.recordings]
        return {**summary, "pushes": len(self.pushes), "files": files}

    def close(self) -> None:
        """Finish the recording and free the simulation."""
        self._finish_recording()
        for writer in self._writers:
            writer.join()
        self.walk.close()

    def _step(self) -> Moment:
        asked = self.controls.take_asked()
        choices = [choice for choice in asked if isinstance(choice, Choice)]
        if choices:
            self._load(choices[-1])  # Whoever clicks again while it builds.
        for button in asked:
            if button == AGAIN:
                self._begin()
            if button == PUSH:
                self._push()
        self.walk.drive(self.controls.wanted)
        self.moment = self.walk.step()
        self.tally.add(self.moment)
        self._record(self.moment)
        self._recent.append(time.monotonic())
        if self.moment.end is not None:
            place_m = float(self.moment.position_m[0])
            self._news = f"Last: {END_WORDS[self.moment.end]} at {place_m:.1f} m."
        return self.moment

    def _record(self, moment: Moment | None) -> None:
        """Keep a frame while the box is ticked, and write them when it no longer is."""
        if not self.controls.records.value:
            self._finish_recording()
        elif moment is not None and self.walk.perception is not None:
            if self._steps % frame_stride(self.walk.step_s, FILM_FPS) == 0:
                self._frames.append((moment, self.walk.perception))
            self._steps += 1
            self._news = f"Recording: {len(self._frames) / FILM_FPS:.0f} s."

    def _finish_recording(self) -> None:
        """Draw in another thread, so that the robot walks on."""
        if not self._frames:
            return
        frames, self._frames, self._steps = self._frames, [], 0
        path = self._new_path()
        writer = threading.Thread(
            target=self._write, args=(Studio(self.walk), frames, path)
        )
        self._writers.append(writer)
        self._news = f"Writing {path.name} ..."
        writer.start()

    def _write(self, studio: Studio, frames: list[Frame], path: Path) -> None:
        try:
            write_film(studio, frames, path)
        except SoloError as error:
            self._news = str(error)
            return
        self.recordings.append(path)
        self._news = f"Wrote {path}."

    def _new_path(self) -> Path:
        number = len(self._writers) + 1
        while (path := self._cfg.folder / f"play_{number}.mp4").exists():
            number += 1
        return path

    def _begin(self) -> None:
        self.walk.begin()
        self.tally.begin()
        self._recent.clear()

    def _push(self) -> None:
        angle = self._random.uniform(-math.pi, math.pi)
        push = (PUSH_M_S * math.cos(angle), PUSH_M_S * math.sin(angle))
        self.walk.push(push)
        self.pushes.append(push)
        self._news = f"Pushed by {PUSH_M_S:g} m/s towards {math.degrees(angle):.0f}°."

    def _load(self, choice: Choice) -> None:
        """Exchange terrain and simulation; the old ones stay if that fails."""
        self._finish_recording()
        self.controls.say(f"**Building {choice.terrain} ...**")
        try:
            walk = self._build(choice)
        except SoloError as error:
            self._news = str(error)
            return
        self.walk.close()
        self.walk = walk
        self.tally.begin()
        self._stage.set_terrain(walk.terrain)
        self._recent.clear()
        self._news = ""

    def _build(self, choice: Choice) -> Walk:
        cfg = self._cfg
        ground = make_ground(
            choice.terrain, choice.difficulty, cfg.seed, cfg.num_robots
        )
        return Walk(self._source, ground, cfg.num_robots, cfg.depth_errors)

    def _show(self, moment: Moment, at_once: bool) -> None:
        now_s = time.monotonic()
        if self._is_due("robot", now_s, _ROBOT_S) or at_once:
            self._stage.show(moment, now_s - self._shown_s)
            self._shown_s = now_s
        perception = self.walk.perception
        if perception is not None and self._is_due("sight", now_s, _SIGHT_S):
            self.controls.show(perception)
            self._stage.show_map(perception, self.controls.dots.value)
        if self._is_due("words", now_s, _WORDS_S) or at_once:
            self.controls.say(self._words(moment))

    def _is_due(self, what: str, now_s: float, period_s: float) -> bool:
        if now_s < self._due.get(what, 0.0):
            return False
        self._due[what] = now_s + period_s
        return True

    def _words(self, moment: Moment) -> str:
        ground, tally, x = self.walk.ground, self.tally, float(moment.position_m[0])
        place = f"{x:.1f} of {ground.finish_m:.1f} m"
        if ground.elements:
            place += f", {element_at(ground.elements, x).replace('_', ' ')}"
        mean_cm = tally.map_error_cm
        error = "-, sees the true map" if mean_cm is None else f"mean {mean_cm:.1f} cm"
        if math.isfinite(moment.map_error_m):
            error = f"{100 * moment.map_error_m:.1f} cm, {error}"
        policy = tally.policy_ms(_RECENT)
        rows = {
            "place": place,
            "walked": f"{tally.distance_m:.1f} m",
            "falls": f"{tally.falls}",
            "finished": f"{tally.finished}",
            "map error": error,
            "policy step": f"{policy['mean']:.1f} ms, p95 {policy['p95']:.1f} ms",
            "real time": f"{self._real_time_factor():.2f} x",
        }
        table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
        return f"| **{ground.name}** | |\n|---|---|\n{table}\n\n{self._news}"

    def _real_time_factor(self) -> float:
        if len(self._recent) < 2:
            return 0.0
        wall_s = self._recent[-1] - self._recent[0]
        return (len(self._recent) - 1) * self.walk.step_s / max(wall_s, 1e-9)


_FOLLOW_S = 0.4
"""How fast the view follows the robot: time to make up for 63 % of the distance."""
_JUMP_M = 1.0
"""The view jumps over longer distances, as when the robot starts again."""
_LIFT_M = 0.015
"""How far the dots float above the ground."""
_SHADE = 0.75
"""Factor on the terrain's colours, which the page's light makes pale."""
_DOT_M = 0.018
_CAMERA = (-2.6, -1.9, 1.2)
"""Where the browser's camera begins, from the robot's base."""


class PageScene:
    """Shows robots. The world moves past the first; the camera is the user's."""

    def __init__(
        self, server: viser.ViserServer, easel: Easel, num_robots: int = 1
    ) -> None:
        """Put the robots on the page."""
        self._server, self._easel, self._robot = server, easel, easel.robot
        self._model = make_body(self._robot).compile()
        self._data = mujoco.MjData(self._model)
        server.scene.set_up_direction("+z")
        self._scene = ViserMujocoScene(server, self._model, num_envs=num_robots)
        self._scene.camera_tracking_enabled = False  # It follows every sway.
        self._world = self._scene.fixed_bodies_frame
        self._anchor_w: np.ndarray | None = None
        self._ground: list[viser.MeshHandle] = []
        self._dots: viser.PointCloudHandle | None = None
        server.initial_camera.position = _CAMERA
        server.initial_camera.look_at = (0.35, 0.0, -0.15)

    def set_terrain(self, terrain: TerrainScene) -> None:
        """Exchange the ground."""
        with self._server.atomic():
            for handle in self._ground:
                handle.remove()
            self._ground = []
            for index, mesh in enumerate(make_terrain_meshes(terrain)):
                red, green, blue = mesh.rgb
                handle = self._server.scene.add_mesh_simple(
                    f"/fixed_bodies/ground_{index}",
                    mesh.vertices.astype(np.float32),
                    mesh.triangles,
                    color=(_SHADE * red, _SHADE * green, _SHADE * blue),
                    flat_shading=True,
                    side="double",
                    cast_shadow=False,
                )
                self._ground.append(handle)
        self._anchor_w = None

    def show(self, moment: Moment, since_s: float) -> None:
        """Show a state, ``since_s`` after the last one."""
        base_w = moment.qpos[:3].copy()
        anchor_w = self._anchor_w
        if anchor_w is None or np.linalg.norm(base_w - anchor_w) > _JUMP_M:
            anchor_w = base_w
        share = 1.0 - np.exp(-since_s / _FOLLOW_S)
        anchor_w = anchor_w + share * (base_w - anchor_w)
        self._anchor_w = anchor_w
        poses = [self._pose(qpos, anchor_w) for qpos in (moment.qpos, *moment.others)]
        xpos, xmat = (np.array(part) for part in zip(*poses, strict=True))
        with self._server.atomic():
            self._scene.update_from_arrays(xpos, xmat)
            self._world.position = -anchor_w

    def _pose(
        self, qpos: np.ndarray, anchor_w: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions [bodies, 3] from the anchor and rotations [bodies, 3, 3]."""
        state = body_qpos(self._robot, qpos)
        box = len(state) - 7
        state[:3] -= anchor_w
        state[box : box + 3] -= anchor_w
        self._data.qpos[:] = state
        mujoco.mj_kinematics(self._model, self._data)
        return self._data.xpos.copy(), self._data.xmat.reshape(-1, 3, 3).copy()

    def show_map(self, perception: Perception, is_visible: bool) -> None:
        """Show the cells of the map acted on as dots, bright where the policy looks."""
        points = perception.points_w.reshape(-1, 3) + np.array([0.0, 0.0, _LIFT_M])
        points = points.astype(np.float32)
        colours = self._easel.cell_colours(perception)
        if self._dots is None:
            # Of half precision, 10 m from the origin, steps of 8 mm would remain.
            self._dots = self._server.scene.add_point_cloud(
                "/fixed_bodies/height_map",
                points,
                colours.reshape(-1, 3),
                point_size=_DOT_M,
                point_shape="circle",
                precision="float32",
            )
        with self._server.atomic():
            self._dots.points, self._dots.colors = points, colours.reshape(-1, 3)
            self._dots.visible = is_visible
