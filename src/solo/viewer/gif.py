"""Moving pictures as GIF files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from PIL import Image

MIN_FRAME_MS = 20
"""Shortest duration of a frame that browsers keep to."""


def save_gif(
    frames: Iterable[Image.Image], path: Path, frame_s: float, num_colours: int = 128
) -> None:
    """Write frames as an endless GIF, each with a palette of its own.

    Args:
        frames: At least one.
        path: The file.
        frame_s: Duration of each.
        num_colours: Of a palette, up to 256.
    """
    first, *others = [f.quantize(num_colours, dither=Image.Dither.NONE) for f in frames]
    first.save(
        path,
        format="GIF",
        save_all=True,
        append_images=others,
        duration=max(MIN_FRAME_MS, round(1000 * frame_s)),
        loop=0,
    )
