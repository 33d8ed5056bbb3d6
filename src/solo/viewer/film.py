"""A walk as files: a video of the robot beside what it perceives, plots and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from rich.progress import Progress

from solo.evaluation.rollout import PolicySource
from solo.evaluation.strips import element_at
from solo.files import write_json, written_aside
from solo.gl import INSTALL_HINT, NoGraphicsError
from solo.pictures.images import Easel, Perception
from solo.pictures.offscreen import (
    Shot,
    Viewpoint,
    body_qpos,
    clear_view,
    make_body,
    make_view_model,
    render,
)
from solo.pictures.video import save_gif, save_mp4
from solo.progress import make_progress
from solo.terrains.grid import HeightGrid
from solo.terrains.scene import TerrainScene
from solo.viewer.ground import Ground
from solo.viewer.plots import draw_plots
from solo.viewer.tally import Tally
from solo.viewer.walk import Moment, Walk

PLOTS, MOVIE, SUMMARY = "demo.png", "demo.gif", "summary.json"
"""Files of `write_demo`."""

FILM_FPS, GIF_FPS = 25, 10
"""Pictures per second of simulated time, in MP4 files and elsewhere."""
MAX_GIF_FRAMES = 130
SHEET_FRAMES = 8
"""Pictures of a PNG file."""

_VIEW_PX = (452, 394)
_PANEL_PX = 228
_GAP_PX = 8
_CELL_PX = 4
_DISTANCE_M, _FAR_M = 3.2, 6.5
"""Distance of the camera from a robot that is alone, and from one of many."""
_AZIMUTH_DEG = 40.0
"""From behind on the right; the line to walk is along +x."""
_AHEAD_M = 0.5
"""How far ahead of the robot the camera looks."""
_FOLLOW_S = 0.5
"""How fast the camera follows: time to make up for 63 % of the distance."""
_JUMP_M = 2.0
"""The camera jumps over longer distances, as when the robot starts again."""

Frame = tuple[Moment, Perception]


def record(
    walk: Walk, seconds: float, tally: Tally, progress: Progress, fps: float = GIF_FPS
) -> tuple[list[Moment], list[Frame]]:
    """Walk until the attempt or the time is over: all steps, and some with sight."""
    num_steps = max(1, round(seconds / walk.step_s))
    stride = frame_stride(walk.step_s, fps)
    task = progress.add_task("walking", total=num_steps)
    moments: list[Moment] = []
    frames: list[Frame] = []
    for step in range(num_steps):
        moment = walk.step()
        tally.add(moment)
        moments.append(moment)
        is_frame = step % stride == 0 or moment.end is not None
        if is_frame and walk.perception is not None:
            frames.append((moment, walk.perception))
        progress.advance(task)
        if moment.end is not None:
            break
    progress.update(task, total=len(moments))
    return moments, frames


def frame_stride(step_s: float, fps: float) -> int:
    """Control steps from one frame to the next."""
    return max(1, round(1.0 / (fps * step_s)))


def thin_out(frames: list[Frame], count: int = MAX_GIF_FRAMES) -> list[Frame]:
    """Every n-th frame so that there are no more than a number, the last included."""
    stride = -(-len(frames) // count)
    return frames[::-1][::stride][::-1]


class Studio:
    """Draws frames; knows the walk's terrain and robot, not its simulation."""

    def __init__(self, walk: Walk) -> None:
        self._robot = walk.source.robot
        self._terrain: TerrainScene = walk.terrain
        self._ground = walk.ground
        self._easel = Easel(self._robot, walk.map_cfg, _PANEL_PX, _CELL_PX)

    def draw(self, frames: Sequence[Frame], progress: Progress) -> list[Image.Image]:
        """One picture per frame: the robot in 3-D, perception and words.

        Raises:
            NoGraphicsError: MuJoCo cannot draw on this machine.
        """
        task = progress.add_task("drawing", total=len(frames))
        model = make_view_model(make_body(self._robot), self._terrain, _VIEW_PX)
        views = _following_views(self._terrain.grid, [moment for moment, _ in frames])
        shots = [
            Shot(self._states(moment), view)
            for (moment, _), view in zip(frames, views, strict=True)
        ]
        pictures = []
        drawn = render(model, shots, _VIEW_PX)
        for (moment, perception), view in zip(frames, drawn, strict=True):
            panel = self._panel(moment, perception)
            pictures.append(_beside(Image.fromarray(view), panel))
            progress.advance(task)
        return pictures

    def draw_panels(self, frames: Sequence[Frame]) -> list[Image.Image]:
        """The same without the 3-D view, which needs no OpenGL."""
        return [self._panel(*frame) for frame in frames]

    def _states(self, moment: Moment) -> np.ndarray:
        """Of all robots, [R, nq]."""
        states = (moment.qpos, *moment.others)
        return np.array([body_qpos(self._robot, qpos) for qpos in states])

    def _panel(self, moment: Moment, perception: Perception) -> Image.Image:
        """Perception, with words below."""
        depth, maps = self._easel.depth(perception), self._easel.maps(perception)
        sheet = Image.new("RGB", (_PANEL_PX + _GAP_PX, _VIEW_PX[1]), "white")
        draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(12)
        is_clean = perception.clean_depth_m is None
        caption = "depth" if is_clean else "depth, and without camera errors"
        draw.text((0, 2), caption, "black", font)
        sheet.paste(depth, (0, 18))
        top = 18 + depth.height + _GAP_PX
        sheet.paste(maps, (0, top))
        top += maps.height + 4
        words = "\n".join(self._words(moment))
        draw.text((0, top), words, "black", font, spacing=2)
        return sheet

    def _words(self, moment: Moment) -> list[str]:
        """Time, place and error in words."""
        ground, x = self._ground, float(moment.position_m[0])
        place = element_at(ground.elements, x) if ground.elements else ground.name
        words = [
            f"{moment.seconds:.1f} s   {x:.1f} of {ground.finish_m:.1f} m",
            place.replace("_", " "),
        ]
        if np.isfinite(moment.map_error_m):
            words.append(f"map error {100 * moment.map_error_m:.1f} cm")
        return words


def write_film(studio: Studio, frames: list[Frame], path: Path) -> bool:
    """Write frames as ``.mp4``, ``.gif`` or a ``.png`` with some of them.

    They are at `FILM_FPS` for MP4, else at `GIF_FPS`. Returns whether the robot is in
    3-D; without OpenGL its perception alone is.
    """
    kind = path.suffix.lower()
    if kind != ".mp4":
        frames = thin_out(frames, SHEET_FRAMES if kind == ".png" else MAX_GIF_FRAMES)
    with make_progress() as progress:
        try:
            pictures, has_view = studio.draw(frames, progress), True
        except NoGraphicsError:
            print(f"No OpenGL here, so no 3-D view. To get it: {INSTALL_HINT}.")
            pictures, has_view = studio.draw_panels(frames), False
    if kind == ".mp4":
        save_mp4(pictures, path, FILM_FPS, hold_s=1.0)
    elif kind == ".gif":
        seconds = frames[-1][0].seconds - frames[0][0].seconds
        save_gif(pictures, path, seconds / max(1, len(frames) - 1))
    else:
        with written_aside(path) as unfinished:
            _join_sheet(pictures).save(unfinished, format="PNG")
    return has_view


def write_clip(
    source: PolicySource,
    ground: Ground,
    seconds: float | None,
    path: Path,
    num_robots: int = 1,
    depth_errors: bool = False,
    plots: Path | None = None,
) -> dict[str, Any]:
    """Walk once, from the start to the finish, a fall or the end of the time.

    Without a time in seconds, the terrain has its own limit. There is no video if the
    runtime never let the policy act. ``plots`` is a PNG file for curves over the
    terrain. Returns the summary.
    """
    walk = Walk(source, ground, num_robots, depth_errors)
    tally, files, has_view = Tally(walk.step_s), [], False
    fps = FILM_FPS if path.suffix.lower() == ".mp4" else GIF_FPS
    try:
        with make_progress() as progress:
            limit_s = seconds or ground.time_s
            moments, frames = record(walk, limit_s, tally, progress, fps)
        summary = tally.summarise(source, ground)
        if plots is not None:
            begins_m = walk.leg_begins_m
            draw_plots(moments, ground, walk.terrain, begins_m, summary, plots)
            files.append(str(plots))
        if frames:
            has_view = write_film(Studio(walk), frames, path)
            files.append(str(path))
    finally:
        walk.close()
    return {**summary, "has_3d_view": has_view, "files": files}


def write_demo(
    source: PolicySource, ground: Ground, seconds: float | None, folder: Path
) -> dict[str, Any]:
    """A clip with plots, and its summary, in a folder that exists."""
    plots = folder / PLOTS
    summary = write_clip(source, ground, seconds, folder / MOVIE, plots=plots)
    summary["files"].append(str(folder / SUMMARY))
    write_json(folder / SUMMARY, summary)
    return summary


def _following_views(grid: HeightGrid, moments: Sequence[Moment]) -> list[Viewpoint]:
    """A camera that glides after the robot, as high as the terrain demands."""
    views, target, elevation = [], moments[0].qpos[:3], None
    seconds = moments[0].seconds
    distance_m = _FAR_M if len(moments[0].others) else _DISTANCE_M
    for moment in moments:
        if np.linalg.norm(moment.qpos[:3] - target) > _JUMP_M:
            target, elevation, seconds = moment.qpos[:3], None, moment.seconds
        share = 1.0 - np.exp(-max(0.0, moment.seconds - seconds) / _FOLLOW_S)
        seconds = moment.seconds
        target = target + share * (moment.qpos[:3] - target)
        x, y, z = (float(v) for v in target + np.array([_AHEAD_M, 0.0, -0.2]))
        wanted = clear_view(grid, (x, y, z), distance_m, _AZIMUTH_DEG).elevation_deg
        if elevation is None:
            elevation = wanted
        elevation += share * (wanted - elevation)
        views.append(Viewpoint((x, y, z), distance_m, _AZIMUTH_DEG, elevation))
    return views


def _beside(view: Image.Image, panel: Image.Image) -> Image.Image:
    sheet = Image.new("RGB", (view.width + _GAP_PX + panel.width, view.height), "white")
    sheet.paste(view, (0, 0))
    sheet.paste(panel, (view.width + _GAP_PX, 0))
    return sheet


def _join_sheet(pictures: Sequence[Image.Image]) -> Image.Image:
    """Pictures in two columns, in reading order."""
    width, height = pictures[0].size
    columns = min(2, len(pictures))
    rows = -(-len(pictures) // columns)
    sheet = Image.new("RGB", (columns * width, rows * height), "white")
    for index, picture in enumerate(pictures):
        row, column = divmod(index, columns)
        sheet.paste(picture, (column * width, row * height))
    return sheet
