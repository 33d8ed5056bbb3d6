"""Pictures of a played task: the robot in 3-D beside its depth images and its map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from mjlab.envs import ManagerBasedRlEnv
from PIL import Image, ImageDraw, ImageFont

from solo.envs.depth_sensor_cfg import DepthSensorCfg
from solo.envs.mdp.terrain import grid_terrain
from solo.viewer import panels
from solo.viewer.offscreen import Shot, clear_view, make_view_model, render
from solo.viewer.play_run import Moment
from solo.viewer.sight import Eyes

VIEW_PX = (480, 360)
"""Width and height of the 3-D view."""

_DEPTH_PX = 200
_CELL_PX = 10
_GAP_PX = 12
_TEXT_PX = 16
_LINE_PX = 22
_TITLE_PX = 40
_BAR_PX = (200, 45)
_DISTANCE_M = 3.0
_SIDE_DEG = 35.0
"""Angle between the robot's heading and the direction of view."""


def draw_views(env: ManagerBasedRlEnv, moments: Sequence[Moment]) -> list[np.ndarray]:
    """The robot at each moment, images uint8 [H, W, 3], from behind on its right.

    The direction is that of the first moment, so that a movie does not sway.

    Raises:
        NoGraphicsError: MuJoCo cannot draw on this machine.
    """
    terrain = grid_terrain(env)
    model = make_view_model(env.scene.spec, terrain.terrain_scene, VIEW_PX)
    w, x, y, z = moments[0].qpos[3:7]
    yaw_deg = np.degrees(np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z)))
    shots = []
    for moment in moments:
        x, y, z = (float(value) for value in moment.qpos[:3])
        target, azimuth_deg = (x, y, z - 0.15), float(yaw_deg) + _SIDE_DEG
        view = clear_view(terrain.grid, target, _DISTANCE_M, azimuth_deg, -22.0)
        shots.append(Shot(moment.qpos[None], view))
    return list(render(model, shots, VIEW_PX))


def draw_rows(
    eyes: Eyes,
    base_height_m: float,
    moments: Sequence[Moment],
    views: Sequence[np.ndarray] | None,
) -> list[Image.Image]:
    """One picture per moment: 3-D view, depth window, height map, and words.

    Args:
        eyes: What perceived.
        base_height_m: Height of the base of a standing robot.
        moments: What to draw.
        views: From `draw_views`; None leaves the 3-D view out.
    """
    rows = []
    for index, moment in enumerate(moments):
        words = [_draw_words(moment), _draw_legend(eyes, base_height_m)]
        parts = [_draw_map(eyes, base_height_m, moment)]
        if eyes.sensor is None:
            parts.append(_stack(words))
        else:
            parts.insert(0, _draw_depth(eyes.sensor, moment, _beside(words)))
        if views is not None:
            parts.insert(0, Image.fromarray(views[index]))
        rows.append(_beside(parts))
    return rows


def join_rows(rows: Sequence[Image.Image], title: str) -> Image.Image:
    """Pictures under each other, with a title above."""
    width, size = rows[0].width, 24
    while size > 10 and ImageFont.load_default(size).getlength(title) > width - 24:
        size -= 1
    header = Image.new("RGB", (width, _TITLE_PX), "white")
    draw, font = ImageDraw.Draw(header), ImageFont.load_default(size)
    draw.text((_GAP_PX, _TITLE_PX / 2), title, "black", font, anchor="lm")
    return _stack([header, *rows])


def _draw_depth(
    sensor: DepthSensorCfg, moment: Moment, words: Image.Image
) -> Image.Image:
    """The window above, oldest first; the clean image and the words below."""
    window_m, clean_m = moment.sight.window_m, moment.sight.clean_m
    assert window_m is not None
    assert clean_m is not None
    ages = [(sensor.frames - 1 - k) * sensor.stride for k in range(sensor.frames)]
    captions = [f"network's, {age} steps old" for age in ages[:-1]]
    captions += [f"network's newest, {(window_m[-1] <= 0.0).mean():.0%} black"]
    cells = zip(window_m, captions, strict=True)
    above = _beside([_depth_cell(depth, sensor, text) for depth, text in cells])
    below = _beside([_depth_cell(clean_m, sensor, "now, without errors"), words])
    return _stack([above, below])


def _depth_cell(
    depth_m: np.ndarray, sensor: DepthSensorCfg, caption: str
) -> Image.Image:
    pixels = panels.depth_image(depth_m, sensor.camera, _DEPTH_PX)
    return _captioned(Image.fromarray(pixels), caption)


def _draw_map(eyes: Eyes, base_height_m: float, moment: Moment) -> Image.Image:
    pixels = panels.height_image(
        moment.sight.map_m, eyes.map_cfg, base_height_m, _CELL_PX
    )
    return _captioned(Image.fromarray(pixels), "height map")


def _draw_words(moment: Moment) -> Image.Image:
    forward, left, turn = moment.command
    lines = (
        f"step {moment.step}, {moment.seconds:.2f} s",
        f"falls: {moment.falls}",
        "command:",
        f"  forward {forward:+.2f} m/s",
        f"  left {left:+.2f} m/s",
        f"  turn {turn:+.2f} rad/s",
    )
    words = Image.new("RGB", (_BAR_PX[0], (len(lines) + 1) * _LINE_PX), "white")
    draw, font = ImageDraw.Draw(words), ImageFont.load_default(_TEXT_PX)
    for index, line in enumerate(lines):
        draw.text((0, (index + 1) * _LINE_PX), line, "black", font)
    return words


def _draw_legend(eyes: Eyes, base_height_m: float) -> Image.Image:
    """What the colours mean."""
    bars = [
        panels.colour_bar(
            panels.height_limits(base_height_m),
            panels.HEIGHT_COLOURS,
            "height relative to the base",
            _BAR_PX,
        )
    ]
    if eyes.sensor is not None:
        limits = (eyes.sensor.camera.min_range_m, eyes.sensor.camera.max_range_m)
        title = "depth (black: none)"
        bars += [panels.colour_bar(limits, panels.DEPTH_COLOURS, title, _BAR_PX)]
    return _stack([Image.new("RGB", (1, _GAP_PX), "white"), *bars])


def _captioned(picture: Image.Image, caption: str) -> Image.Image:
    cell = Image.new("RGB", (picture.width, picture.height + _LINE_PX), "white")
    draw, font = ImageDraw.Draw(cell), ImageFont.load_default(_TEXT_PX - 2)
    draw.text((0, _LINE_PX / 2), caption, "black", font, anchor="lm")
    cell.paste(picture, (0, _LINE_PX))
    return cell


def _beside(pictures: Sequence[Image.Image]) -> Image.Image:
    """Pictures from left to right, with gaps between them."""
    width = sum(p.width for p in pictures) + _GAP_PX * (len(pictures) - 1)
    row = Image.new("RGB", (width, max(p.height for p in pictures)), "white")
    left = 0
    for picture in pictures:
        row.paste(picture, (left, 0))
        left += picture.width + _GAP_PX
    return row


def _stack(pictures: Sequence[Image.Image]) -> Image.Image:
    """Pictures from top to bottom, with gaps between them."""
    height = sum(p.height for p in pictures) + _GAP_PX * (len(pictures) - 1)
    column = Image.new("RGB", (max(p.width for p in pictures), height), "white")
    top = 0
    for picture in pictures:
        column.paste(picture, (0, top))
        top += picture.height + _GAP_PX
    return column
