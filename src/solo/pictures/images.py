"""What a robot perceives as images: depth, height maps and attention in colour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from PIL import Image, ImageDraw, ImageFont

from solo.robots.robot_cfg import RobotCfg
from solo.sensors.depth.cfg import DepthCameraCfg
from solo.sensors.height_map import HeightMapCfg

DEPTH_COLOURS = "viridis_r"
"""Colour map of depth: near is bright."""
HEIGHT_COLOURS = "magma"
"""Colour map of heights: high is bright. Another one, lest it be taken for depth."""
HEIGHT_SPAN_M = 0.4
"""How far above and below the level a standing robot is on the colours reach."""

ATTENTION_COLOURS = "YlGnBu_r"
"""Colour map of attention: where the policy looks is bright."""

_CAPTION_PX = 18
_BAR_PX = 39


def colour(values: np.ndarray, limits: tuple[float, float], colours: str) -> np.ndarray:
    """Values [...] as uint8 [..., 3]; those beyond the limits take the end colours."""
    low, high = limits
    return colormaps[colours]((values - low) / (high - low), bytes=True)[..., :3]


def depth_image(depth_m: np.ndarray, camera: DepthCameraCfg, width: int) -> np.ndarray:
    """An image [H, W], metres, in the raw stream's proportions; black where it is 0."""
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

    The map [Y, X] is relative to the base, which stands ``base_height_m`` high; its
    cells become squares of ``cell_px``.
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


@dataclass(frozen=True, eq=False)
class Perception:
    """What a robot perceives in one control step, and what its policy makes of it."""

    depth_m: np.ndarray
    """Newest depth image as the policy gets it, [H, W]; 0 is invalid."""
    true_m: np.ndarray
    """Ground relative to the base, [Y, X]."""
    points_w: np.ndarray
    """Where the cells of the map acted on are in the world, [Y, X, 3]."""
    seen_m: np.ndarray | None = None
    """The ground as reconstructed, [Y, X]; None for policies that get the true map."""
    attention: np.ndarray | None = None
    """How much the policy looks at each cell or block of cells, [Y', X']; None for
    policies without attention."""
    clean_depth_m: np.ndarray | None = None
    """The image without camera errors, [H, W], if there are errors."""


@dataclass(frozen=True)
class Easel:
    """How to draw the perception of one robot."""

    robot: RobotCfg
    map_cfg: HeightMapCfg
    width_px: int
    """Width of each picture."""
    cell_px: int
    """Side of a cell of a map."""

    def depth(self, perception: Perception) -> Image.Image:
        """The newest depth image; if it has camera errors, one without on its right."""
        images = [perception.depth_m]
        if perception.clean_depth_m is not None:
            images.append(perception.clean_depth_m)
        camera, width = self.robot.depth_camera, self.width_px // len(images)
        pixels = [depth_image(image, camera, width) for image in images]
        return Image.fromarray(np.concatenate(pixels, axis=1))

    def maps(self, perception: Perception) -> Image.Image:
        """Reconstructed ground, true ground and attention, as far as there are."""
        height_m = self.robot.base_height_m
        maps = {"reconstructed": perception.seen_m, "true ground": perception.true_m}
        images = {
            caption: height_image(map_m, self.map_cfg, height_m, self.cell_px)
            for caption, map_m in maps.items()
            if map_m is not None
        }
        if perception.attention is not None:
            cells = attention_colours(perception)
            images["attention"] = map_image(cells, self.map_cfg, self.cell_px)
        height, width = images["true ground"].shape[:2]
        sheet = Image.new("RGB", (self.width_px, height + _CAPTION_PX), "white")
        draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(11)
        step = (self.width_px - width) / 2  # There is room for three.
        for index, (caption, image) in enumerate(images.items()):
            left = round(index * step)
            draw.text((left, 0), caption, "black", font)
            sheet.paste(Image.fromarray(image), (left, _CAPTION_PX))
        return sheet

    def legend(self) -> Image.Image:
        """What the colours of maps and depth mean."""
        camera = self.robot.depth_camera
        width = (self.width_px - 16) // 2
        height_m = height_limits(self.robot.base_height_m)
        depth_m = (camera.min_range_m, camera.max_range_m)
        sheet = Image.new("RGB", (self.width_px, _BAR_PX), "white")
        rows = (
            (height_m, HEIGHT_COLOURS, "ground below the base"),
            (depth_m, DEPTH_COLOURS, "depth, black: none"),
        )
        for index, (limits, colours, title) in enumerate(rows):
            bar = colour_bar(limits, colours, title, (width, _BAR_PX))
            sheet.paste(bar, (index * (width + 16), 0))
        return sheet

    def cell_colours(self, perception: Perception) -> np.ndarray:
        """Colour of each cell in the scene, uint8 [Y, X, 3]: attention, else height."""
        if perception.attention is None:
            return height_colours(perception.true_m, self.robot.base_height_m)
        return attention_colours(perception)


def attention_colours(perception: Perception) -> np.ndarray:
    """Colour of each cell of the map, uint8 [Y, X, 3].

    The brightest is the maximum, or three times the mean where all are much the same.
    """
    attention, (rows, columns) = perception.attention, perception.true_m.shape
    assert attention is not None
    blocks = attention.repeat(-(-rows // attention.shape[0]), axis=0)
    blocks = blocks.repeat(-(-columns // attention.shape[1]), axis=1)
    cells = blocks[:rows, :columns]
    highest = max(float(cells.max()), 3.0 * float(cells.mean()), 1e-9)
    return colour(cells, (0.0, highest), ATTENTION_COLOURS)


def cell_points_w(
    map_m: np.ndarray, centres_h: np.ndarray, qpos: np.ndarray
) -> np.ndarray:
    """Where the cells of a height map [Y, X] are in the world, [Y, X, 3].

    ``centres_h`` are the cells' places ahead and to the left of the base, whose
    position and orientation wxyz ``qpos`` begins with.
    """
    px, py, pz, w, x, y, z = qpos[:7]
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    ahead, left = centres_h[..., 0], centres_h[..., 1]
    return np.stack(
        [
            px + np.cos(yaw) * ahead - np.sin(yaw) * left,
            py + np.sin(yaw) * ahead + np.cos(yaw) * left,
            pz + map_m,
        ],
        axis=-1,
    )
