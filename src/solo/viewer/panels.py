"""What a robot perceives as images: depth and the height map in colour."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from PIL import Image, ImageDraw, ImageFont

from solo.sensors.perception_cfg import DepthCameraCfg, HeightMapCfg

DEPTH_COLOURS = "viridis_r"
"""Colour map of depth: near is bright."""
HEIGHT_COLOURS = "magma"
"""Colour map of heights: high is bright. Another one, lest it be taken for depth."""
HEIGHT_SPAN_M = 0.4
"""How far above and below the level a standing robot is on the colours reach."""


def colour(values: np.ndarray, limits: tuple[float, float], colours: str) -> np.ndarray:
    """Values [...] as uint8 [..., 3]; those beyond the limits take the end colours."""
    low, high = limits
    return colormaps[colours]((values - low) / (high - low), bytes=True)[..., :3]


def depth_image(depth_m: np.ndarray, camera: DepthCameraCfg, width: int) -> np.ndarray:
    """A depth image with the raw stream's proportions; black where there is no depth.

    Args:
        depth_m: Metres along the optical axis [H, W], 0 = invalid.
        camera: Where it comes from.
        width: Columns of the result.

    Returns:
        Image uint8 [height, width, 3].
    """
    limits = (camera.min_range_m, camera.max_range_m)
    pixels = colour(depth_m, limits, DEPTH_COLOURS)
    pixels[depth_m <= 0.0] = 0
    height = round(width * camera.height / camera.width)
    picture = Image.fromarray(pixels).resize((width, height), Image.Resampling.NEAREST)
    return np.asarray(picture)


def height_limits(base_height_m: float) -> tuple[float, float]:
    """Heights relative to the base at the two ends of the colours."""
    return -base_height_m - HEIGHT_SPAN_M, -base_height_m + HEIGHT_SPAN_M


def height_colours(map_m: np.ndarray, base_height_m: float) -> np.ndarray:
    """Colour of each cell, uint8 [Y, X, 3]."""
    return colour(map_m, height_limits(base_height_m), HEIGHT_COLOURS)


def height_image(
    map_m: np.ndarray, cfg: HeightMapCfg, base_height_m: float, cell_px: int
) -> np.ndarray:
    """The height map from above: ahead is up, left is left, a triangle is the robot.

    Args:
        map_m: Ground relative to the base [Y, X], metres.
        cfg: The map's window.
        base_height_m: Height of the base of a standing robot.
        cell_px: Pixels along the edge of a cell.

    Returns:
        Image uint8 [X * cell_px, Y * cell_px, 3].
    """
    return map_image(height_colours(map_m, base_height_m), cfg, cell_px)


def map_image(cells: np.ndarray, cfg: HeightMapCfg, cell_px: int) -> np.ndarray:
    """Coloured cells uint8 [Y, X, 3] from above; see `height_image`."""
    ahead_up = cells.transpose(1, 0, 2)[::-1, ::-1]  # Rows from ahead, then from left.
    pixels = ahead_up.repeat(cell_px, axis=0).repeat(cell_px, axis=1)
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    x = cfg.y_range_m[1] / cfg.cell_m * cell_px
    y = cfg.x_range_m[1] / cfg.cell_m * cell_px
    corners = [(x, y - cell_px), (x - 0.7 * cell_px, y + cell_px)]
    corners += [(x + 0.7 * cell_px, y + cell_px)]
    ImageDraw.Draw(picture).polygon(corners, fill="white", outline="black")
    return np.asarray(picture)


def colour_bar(
    limits: tuple[float, float], colours: str, title: str, size_px: tuple[int, int]
) -> Image.Image:
    """A legend: the colours from the lower to the upper limit, with the numbers."""
    width, height = size_px
    bar = Image.new("RGB", size_px, "white")
    ramp = colour(np.linspace(*limits, width)[None], limits, colours)
    strip = Image.fromarray(np.ascontiguousarray(ramp)).resize((width, height // 3))
    bar.paste(strip, (0, height // 3))
    draw, font = ImageDraw.Draw(bar), ImageFont.load_default(height // 3 - 2)
    draw.text((width / 2, 0), title, "black", font, anchor="ma")
    draw.text((0, height), f"{limits[0]:.1f} m", "black", font, anchor="ld")
    draw.text((width, height), f"{limits[1]:.1f} m", "black", font, anchor="rd")
    return bar
