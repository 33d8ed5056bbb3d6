"""The walk as a GIF: the robot from behind, and what it perceives beside it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from rich.progress import Progress

from solo.demo.body import body_qpos, make_body
from solo.demo.moment import Moment, Perception
from solo.demo.pictures import ATTENTION_COLOURS, Easel
from solo.demo.walk import Walk
from solo.evaluation.strips import element_at
from solo.files import written_aside
from solo.terrains.grid import HeightGrid
from solo.viewer import panels
from solo.viewer.offscreen import Shot, View, clear_view, make_view_model, render

MAX_BYTES = 3_000_000
"""Size of the file, at most, so that a README can show it."""

_VIEW_PX = (452, 394)
_PANEL_PX = 228
_GAP_PX = 8
_CELL_PX = 4
_FRAME_MS = 100
_TRIES = ((1, 128), (1, 64), (2, 64), (3, 48), (4, 32))
"""Take every n-th frame, in so many colours; the first that is small enough is kept."""
_DISTANCE_M = 3.2
_AZIMUTH_DEG = 40.0
"""From behind on the right; the line to walk is along +x."""
_AHEAD_M = 0.5
"""How far ahead of the robot the camera looks."""
_FOLLOW_S = 0.5
"""How fast the camera follows: time to make up for 63 % of the distance."""

_RAMP_PX = 60
"""Rows of each colour map beside the pictures that the palette is made of."""

Frame = tuple[Moment, Perception]


def draw_movie(
    walk: Walk, frames: Sequence[Frame], progress: Progress
) -> list[Image.Image]:
    """One picture per frame.

    Raises:
        NoGraphicsError: MuJoCo cannot draw on this machine.
    """
    robot, terrain = walk.source.robot, walk.terrain
    task = progress.add_task("drawing", total=len(frames))
    model = make_view_model(make_body(robot), terrain, _VIEW_PX)
    views = _following_views(terrain.grid, [moment for moment, _ in frames])
    shots = [
        Shot(body_qpos(robot, moment.qpos)[None], view)
        for (moment, _), view in zip(frames, views, strict=True)
    ]
    easel = Easel(robot, walk.map_cfg, _PANEL_PX, _CELL_PX)
    pictures = []
    for (moment, perception), view in zip(
        frames, render(model, shots, _VIEW_PX), strict=True
    ):
        words = describe(walk, moment)
        pictures.append(_join(Image.fromarray(view), easel, perception, words))
        progress.advance(task)
    return pictures


def describe(walk: Walk, moment: Moment) -> list[str]:
    """Time, place and error in words."""
    ground, x = walk.ground, float(moment.position_m[0])
    place = element_at(ground.elements, x) if ground.elements else ground.name
    error = f"{100 * moment.map_error_m:.1f} cm"
    return [
        f"{moment.seconds:.1f} s   {x:.1f} of {ground.finish_m:.1f} m",
        place.replace("_", " "),
        f"map error {error if np.isfinite(moment.map_error_m) else '-'}",
    ]


def save_movie(
    pictures: Sequence[Image.Image], path: Path, max_bytes: int = MAX_BYTES
) -> None:
    """Write an endless GIF of a limited size, with fewer frames and colours if need be.

    It plays in the same time, whatever was left out.
    """
    data = b""
    for stride, colours in _TRIES:
        data = _encode(pictures[::stride], colours, stride * _FRAME_MS)
        if len(data) <= max_bytes:
            break
    with written_aside(path) as unfinished:
        unfinished.write_bytes(data)


def _encode(pictures: Sequence[Image.Image], num_colours: int, frame_ms: int) -> bytes:
    """A GIF with one palette for all, so that what stands still costs nothing."""
    palette = _sample(pictures).quantize(num_colours, dither=Image.Dither.NONE)
    first, *others = [
        picture.quantize(palette=palette, dither=Image.Dither.NONE)
        for picture in pictures
    ]
    stream = io.BytesIO()
    first.save(
        stream,
        format="GIF",
        save_all=True,
        append_images=others,
        duration=frame_ms,
        loop=0,
        optimize=False,
    )
    return stream.getvalue()


def _sample(pictures: Sequence[Image.Image]) -> Image.Image:
    """Some pictures under each other, and the brighter colours of the maps.

    Where they are rare in the pictures, as those of high ground, they would otherwise
    not be in the palette.
    """
    chosen = [np.asarray(p) for p in pictures[:: max(1, len(pictures) // 8)]]
    width, limits = chosen[0].shape[1], (0.0, 1.0)
    for colours in (panels.HEIGHT_COLOURS, ATTENTION_COLOURS):
        ramp = panels.colour(np.linspace(0.35, 1.0, width), limits, colours)
        chosen.append(np.repeat(ramp[None], _RAMP_PX, axis=0))
    return Image.fromarray(np.concatenate(chosen))


def _following_views(grid: HeightGrid, moments: Sequence[Moment]) -> list[View]:
    """A camera that glides after the robot, as high as the terrain demands."""
    views, target, elevation = [], moments[0].qpos[:3], None
    seconds = moments[0].seconds
    for moment in moments:
        share = 1.0 - np.exp(-(moment.seconds - seconds) / _FOLLOW_S)
        seconds = moment.seconds
        target = target + share * (moment.qpos[:3] - target)
        x, y, z = (float(v) for v in target + np.array([_AHEAD_M, 0.0, -0.2]))
        wanted = clear_view(grid, (x, y, z), _DISTANCE_M, _AZIMUTH_DEG).elevation_deg
        if elevation is None:
            elevation = wanted
        elevation += share * (wanted - elevation)
        views.append(View((x, y, z), _DISTANCE_M, _AZIMUTH_DEG, elevation))
    return views


def _join(
    view: Image.Image, easel: Easel, perception: Perception, words: list[str]
) -> Image.Image:
    """The view on the left, perception under each other on the right, words below."""
    depth, maps = easel.depth(perception), easel.maps(perception)
    width = view.width + _PANEL_PX + 2 * _GAP_PX
    sheet = Image.new("RGB", (width, view.height), "white")
    sheet.paste(view, (0, 0))
    left = view.width + _GAP_PX
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(12)
    draw.text((left, 2), "depth", "black", font)
    sheet.paste(depth, (left, 18))
    top = 18 + depth.height + _GAP_PX
    sheet.paste(maps, (left, top))
    top += maps.height + 4
    draw.text((left, top), "\n".join(words), "black", font, spacing=2)
    return sheet
