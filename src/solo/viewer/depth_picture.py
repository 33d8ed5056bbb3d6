"""One picture of clean against corrupted depth images, like the paper's figure.

Each row is the view of a robot in mid-stride on one terrain. Single corruptions are
shown at the strong end of their ranges; "together" are draws as training sees them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from solo.robots.robot_cfg import RobotCfg
from solo.sensors.depth_corruption import DepthCorruptor
from solo.sensors.depth_corruption_cfg import (
    CORRUPTIONS,
    DepthCorruptionCfg,
    SideMaskCfg,
)
from solo.viewer.depth_views import STRIDES, render_view

SINGLES = {
    "value noise": ("value_noise",),
    "edge noise and holes": ("edge_noise", "edge_holes"),
    "missing pixels": ("missing",),
    "blind regions": ("close_blocks", "left_band", "shadow", "side_masks"),
    "blur": ("blur",),
}
"""The paper's kinds of corruption and the ones of ours that make them up."""
NUM_TOGETHER = 2

_CELL_INCHES = (1.9, 1.425)  # 4:3, the raw stream's shape.
_HEADER_INCHES, _FOOTER_INCHES, _LABEL_INCHES = 0.95, 0.75, 1.25


def draw_depth_picture(
    robot: RobotCfg,
    terrains: Sequence[str],
    difficulty: float,
    output: Path,
    seed: int = 0,
    cfg: DepthCorruptionCfg | None = None,
) -> dict[str, float]:
    """Render the views, corrupt them and draw a PNG file.

    Args:
        robot: Whose camera and links to use.
        terrains: Names of the variants, one row each.
        difficulty: Difficulty of all patches, in [0, 1].
        output: File to write.
        seed: Seed of terrain and corruption.
        cfg: The corruptions; the defaults if None.

    Returns:
        Share of invalid pixels in each column.
    """
    cfg = cfg or DepthCorruptionCfg()
    clean = torch.cat(
        [
            render_view(robot, name, STRIDES[(k + 1) % len(STRIDES)], difficulty, seed)
            for k, name in enumerate(terrains)
        ]
    )
    columns = corrupt_columns(clean, robot, cfg, seed)
    _draw(columns, terrains, difficulty, robot.depth_camera.max_range_m, output)
    return {
        title: (images == 0.0).float().mean().item()
        for title, images in columns.items()
    }


def corrupt_columns(
    clean: torch.Tensor, robot: RobotCfg, cfg: DepthCorruptionCfg, seed: int
) -> dict[str, torch.Tensor]:
    """Title to images [B, H, W]: clean, each kind alone, and all together."""
    strong = strong_end(cfg)
    recipes = {"clean": cfg.only()}
    recipes |= {title: strong.only(*names) for title, names in SINGLES.items()}
    recipes |= {f"together, episode {k + 1}": cfg for k in range(NUM_TOGETHER)}
    columns = {}
    for k, (title, recipe) in enumerate(recipes.items()):
        corrupt = DepthCorruptor(
            recipe, robot.depth_camera, len(clean), "cpu", seed=1000 * seed + k
        )
        columns[title] = corrupt(clean.clone())
    return columns


def strong_end(cfg: DepthCorruptionCfg) -> DepthCorruptionCfg:
    """The same with every range at its upper end, and both sides masked."""
    parts = {name: getattr(cfg, name) for name in CORRUPTIONS}
    ends = {name: _upper(part) for name, part in parts.items() if part is not None}
    if cfg.side_masks is not None:
        ends["side_masks"] = SideMaskCfg((1.0, 1.0), cfg.side_masks.max_width)
    return replace(cfg, **ends)


def _upper(part: Any) -> Any:
    spans = {f.name: getattr(part, f.name) for f in fields(part)}
    return replace(
        part, **{n: (s[1], s[1]) for n, s in spans.items() if isinstance(s, tuple)}
    )


def _draw(
    columns: dict[str, torch.Tensor],
    terrains: Sequence[str],
    difficulty: float,
    max_m: float,
    output: Path,
) -> None:
    cell_w, cell_h = _CELL_INCHES
    width = _LABEL_INCHES + len(columns) * cell_w + 0.15
    height = _HEADER_INCHES + len(terrains) * cell_h + _FOOTER_INCHES
    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    colors = colormaps["viridis_r"].with_extremes(bad="black")
    title = f"Depth of the chest camera at difficulty {difficulty:g}"
    figure.text(0.5, 1 - 0.28 / height, title, ha="center", size=15, weight="bold")
    subtitle = "Each kind alone at the strong end of its range. Black: no depth."
    figure.text(0.5, 1 - 0.52 / height, subtitle, ha="center", size=10, c="0.35")
    image = None
    for i, (name, images) in enumerate(columns.items()):
        left = (_LABEL_INCHES + i * cell_w) / width
        middle = left + 0.5 * (cell_w - 0.08) / width
        figure.text(middle, 1 - 0.84 / height, name, ha="center", size=11)
        for j, depth in enumerate(images.numpy()):
            bottom = (height - _HEADER_INCHES - (j + 1) * cell_h + 0.06) / height
            axes = figure.add_axes(
                (left, bottom, (cell_w - 0.08) / width, (cell_h - 0.06) / height)
            )
            image = axes.imshow(
                np.ma.masked_equal(depth, 0.0),
                cmap=colors,
                vmin=0.3,
                vmax=max_m,
                aspect="auto",
                interpolation="nearest",
            )
            axes.set_axis_off()
            if i == 0:
                label = name_in_lines(terrains[j])
                y = bottom + 0.5 * (cell_h - 0.06) / height
                figure.text(left - 0.1 / width, y, label, ha="right", va="center")
    assert image is not None
    bar = figure.add_axes((0.3, 0.42 / height, 0.4, 0.14 / height))
    figure.colorbar(image, cax=bar, orientation="horizontal")
    bar.set_xlabel("metres along the optical axis", size=9)
    bar.tick_params(labelsize=8)
    figure.savefig(output, dpi=110, format="png")


def name_in_lines(name: str) -> str:
    """A terrain's name with one word per line."""
    return name.replace("_", "\n")
