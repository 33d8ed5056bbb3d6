"""The demo's pictures: a sheet of close-ups, a turning view, or a map without GL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LightSource
from matplotlib.figure import Figure
from mjlab.envs import ManagerBasedRlEnv
from PIL import Image, ImageDraw, ImageFont
from rich.progress import Progress

from solo.envs.grid_terrain import GridTerrain
from solo.envs.mdp.terrain import grid_terrain
from solo.terrains.variants import FAMILY_RGB, get_variant
from solo.viewer.demo_run import Rollout
from solo.viewer.offscreen import Shot, View, clear_view, make_view_model, render

FAMILIES = (
    "stones",
    "stairs",
    "gap",
    "boxes",
    "random grid",
    "rough",
    "slopes",
    "flat",
)
"""Which terrains to show first."""

_NUM_PANELS = 6
_NUM_COLUMNS = 3
_PANEL_PX = (640, 480)
_HEADER_PX = 64
_MOVIE_PX = (480, 360)
MOVIE_FPS = 10.0
_MOVIE_S = 2.0
_DISTANCE_M = 3.4
_AZIMUTH_DEG = 140.0
_TURN_DEG = 70.0
_MAP_STEP = 4
"""Cells of the grid per pixel of the map, along both axes."""


def choose_robots(terrain: GridTerrain) -> list[int]:
    """Robots to show: one per terrain family, on the hardest level it stands on."""
    levels = terrain.terrain_levels.numpy()
    families = [
        get_variant(terrain.variant_names[column]).family
        for column in terrain.terrain_types
    ]
    hardest: dict[str, int] = {}
    for robot in np.argsort(levels, kind="stable"):
        hardest[families[robot]] = int(robot)
    shown = [hardest[family] for family in FAMILIES if family in hardest]
    rest = [robot for robot in range(len(levels)) if robot not in shown]
    return (shown + rest)[:_NUM_PANELS]


def draw_scene(
    env: ManagerBasedRlEnv, rollout: Rollout, title: str, progress: Progress
) -> tuple[Image.Image, list[Image.Image]]:
    """Draw the sheet of close-ups at the end, and the frames of the turning view.

    Raises:
        NoGraphicsError: MuJoCo cannot draw on this machine.
    """
    terrain = grid_terrain(env)
    robots = choose_robots(terrain)
    turning = _turning_shots(terrain, rollout.qpos[:, robots[0]], env.step_dt)
    task = progress.add_task("drawing", total=len(robots) + len(turning))
    model = make_view_model(env.scene.spec, terrain.terrain_scene, _PANEL_PX)
    panels, frames = [], []
    shots = [_close_up(terrain, rollout.qpos[-1, robot]) for robot in robots]
    for image in render(model, shots, _PANEL_PX):
        panels.append(image)
        progress.advance(task)
    for image in render(model, turning, _MOVIE_PX):
        frames.append(Image.fromarray(image))
        progress.advance(task)
    captions = [_caption(terrain, robot) for robot in robots]
    return _join(panels, captions, title), frames


def draw_map(env: ManagerBasedRlEnv, rollout: Rollout, title: str, path: Path) -> None:
    """Draw the terrain from above with the robots on it; needs no OpenGL."""
    terrain = grid_terrain(env)
    scene = terrain.terrain_scene
    num_levels, num_columns = scene.origins_m.shape[:2]
    x_first, y_first = scene.patch_cells(0, 0)
    x_last, y_last = scene.patch_cells(num_levels - 1, num_columns - 1)
    grid = scene.grid.crop(
        slice(x_first.start, x_last.stop), slice(y_first.start, y_last.stop)
    )
    heights_m = grid.units[::_MAP_STEP, ::_MAP_STEP] * grid.unit_m  # [X, Y]
    spacing_m = _MAP_STEP * grid.cell_m
    shade = LightSource(azdeg=225, altdeg=50).hillshade(
        heights_m, vert_exag=1.5, dx=spacing_m, dy=spacing_m
    )
    colours = np.array([FAMILY_RGB[get_variant(n).family] for n in scene.cfg.variants])
    per_pixel = np.repeat(colours, heights_m.shape[1] // num_columns, axis=0)  # [Y, 3]
    image = np.clip(per_pixel[None] * (0.45 + 0.75 * shade[..., None]), 0.0, 1.0)

    low_x, low_y = grid.corner_xy_m
    size_x, size_y = grid.size_m
    figure = Figure(figsize=(15, 10.5), facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    extent = (low_y, low_y + size_y, low_x, low_x + size_x)
    axes.imshow(image, origin="lower", extent=extent)
    position = rollout.qpos[-1, :, :2]
    for fell, colour, label in (
        (False, "white", "standing"),
        (True, "red", "fell and started again"),
    ):
        chosen = position[(rollout.falls > 0) == fell]
        if len(chosen):
            axes.scatter(
                chosen[:, 1],
                chosen[:, 0],
                s=70,
                c=colour,
                edgecolors="black",
                linewidths=1.4,
                label=f"{label}: {len(chosen)}",
            )
    axes.set_title(title, fontsize=14)
    axes.set_xticks(scene.origins_m[0, :, 1], scene.cfg.variants, rotation=40)
    axes.set_yticks(
        scene.origins_m[:, 0, 0], [f"{value:.2f}" for value in scene.difficulties]
    )
    axes.set_xlabel("terrain")
    axes.set_ylabel("difficulty")
    figure.legend(loc="outside lower center", ncols=2, fontsize=12)
    figure.savefig(path, dpi=100, format="png")


def _close_up(terrain: GridTerrain, qpos: np.ndarray) -> Shot:
    return Shot(qpos[None], _view(terrain, qpos, _AZIMUTH_DEG))


def _turning_shots(terrain: GridTerrain, qpos: np.ndarray, step_s: float) -> list[Shot]:
    """Swing around one robot, in real time from the start."""
    stride = round(1 / (MOVIE_FPS * step_s))
    states = qpos[: round(_MOVIE_S / step_s) + 1 : stride]  # [T, nq]
    phase = np.cos(np.linspace(0.0, 2 * np.pi, len(states), endpoint=False))
    # There and back, so that the end of the loop meets its beginning.
    azimuths = _AZIMUTH_DEG + _TURN_DEG / 2 * phase
    views = [_view(terrain, states[-1], float(azimuth)) for azimuth in azimuths]
    lowest = min(view.elevation_deg for view in views)
    return [
        Shot(state[None], View(view.lookat_m, _DISTANCE_M, view.azimuth_deg, lowest))
        for state, view in zip(states, views, strict=True)
    ]


def _view(terrain: GridTerrain, qpos: np.ndarray, azimuth_deg: float) -> View:
    x, y, z = (float(value) for value in qpos[:3])
    return clear_view(terrain.grid, (x, y, z - 0.15), _DISTANCE_M, azimuth_deg)


def _caption(terrain: GridTerrain, robot: int) -> str:
    level = int(terrain.terrain_levels[robot])
    difficulty = terrain.terrain_scene.difficulties[level]
    name = terrain.variant_names[int(terrain.terrain_types[robot])]
    return f"{name}, difficulty {difficulty:.2f}"


def _join(
    panels: Sequence[np.ndarray], captions: Sequence[str], title: str
) -> Image.Image:
    """Put panels into rows under a title."""
    width, height = _PANEL_PX
    num_columns = min(_NUM_COLUMNS, len(panels))
    num_rows = -(-len(panels) // num_columns)
    size = (num_columns * width, _HEADER_PX + num_rows * height)
    sheet = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(sheet)
    title_font = _fitting_font(title, size[0] - 40, 30)
    draw.text((20, _HEADER_PX / 2), title, "black", title_font, anchor="lm")
    for index, (panel, caption) in enumerate(zip(panels, captions, strict=True)):
        row, column = divmod(index, num_columns)
        left, top = column * width, _HEADER_PX + row * height
        sheet.paste(Image.fromarray(panel), (left, top))
        draw.rectangle((left, top, left + width - 1, top + height - 1), outline="white")
        font = ImageFont.load_default(24)
        place = (left + 14, top + height - 42)
        draw.text(place, caption, "white", font, stroke_width=2, stroke_fill="black")
    return sheet


def _fitting_font(
    text: str, width_px: int, size: int
) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The largest font up to a size in which the text fits."""
    while size > 10 and ImageFont.load_default(size).getlength(text) > width_px:
        size -= 1
    return ImageFont.load_default(size)
