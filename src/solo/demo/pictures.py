"""What the policy perceives as pictures, for the page and for the movie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from solo.demo.moment import Perception
from solo.robots.robot_cfg import RobotCfg
from solo.sensors.perception_cfg import HeightMapCfg
from solo.viewer import panels

ATTENTION_COLOURS = "YlGnBu_r"
"""Colour map of attention: where the policy looks is bright."""

_CAPTION_PX = 18
_BAR_PX = 39


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
        """The newest depth image."""
        camera = self.robot.depth_camera
        pixels = panels.depth_image(perception.depth_m, camera, self.width_px)
        return Image.fromarray(pixels)

    def maps(self, perception: Perception) -> Image.Image:
        """Reconstructed map, true map and attention, side by side with captions."""
        height_m = self.robot.base_height_m
        images = {
            "reconstructed": panels.height_image(
                perception.seen_m, self.map_cfg, height_m, self.cell_px
            ),
            "true": panels.height_image(
                perception.true_m, self.map_cfg, height_m, self.cell_px
            ),
            "looks at": panels.map_image(
                attention_colours(perception), self.map_cfg, self.cell_px
            ),
        }
        pixels = next(iter(images.values()))
        sheet = Image.new(
            "RGB", (self.width_px, pixels.shape[0] + _CAPTION_PX), "white"
        )
        draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(11)
        gap = (self.width_px - len(images) * pixels.shape[1]) / (len(images) - 1)
        for index, (caption, image) in enumerate(images.items()):
            left = round(index * (pixels.shape[1] + gap))
            draw.text((left, 0), caption, "black", font)
            sheet.paste(Image.fromarray(image), (left, _CAPTION_PX))
        return sheet

    def legend(self) -> Image.Image:
        """What the colours of maps and depth mean."""
        camera = self.robot.depth_camera
        width = (self.width_px - 16) // 2
        height_m = panels.height_limits(self.robot.base_height_m)
        depth_m = (camera.min_range_m, camera.max_range_m)
        sheet = Image.new("RGB", (self.width_px, _BAR_PX), "white")
        rows = (
            (height_m, panels.HEIGHT_COLOURS, "ground below the base"),
            (depth_m, panels.DEPTH_COLOURS, "depth, black: none"),
        )
        for index, (limits, colours, title) in enumerate(rows):
            bar = panels.colour_bar(limits, colours, title, (width, _BAR_PX))
            sheet.paste(bar, (index * (width + 16), 0))
        return sheet


def attention_colours(perception: Perception) -> np.ndarray:
    """Colour of each cell of the map, uint8 [Y, X, 3].

    The brightest is the maximum, or three times the mean where all are much the same.
    """
    attention, (rows, columns) = perception.attention, perception.seen_m.shape
    blocks = attention.repeat(-(-rows // attention.shape[0]), axis=0)
    blocks = blocks.repeat(-(-columns // attention.shape[1]), axis=1)
    cells = blocks[:rows, :columns]
    highest = max(float(cells.max()), 3.0 * float(cells.mean()), 1e-9)
    return panels.colour(cells, (0.0, highest), ATTENTION_COLOURS)
