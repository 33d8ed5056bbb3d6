"""Cut the surface of a strip at the ends of its segments, to colour each."""

from __future__ import annotations

import numpy as np

from solo.terrains.patch import CELL_M
from solo.terrains.strip import StripScene


def cut_strip(
    quads: np.ndarray, scene: StripScene, level: int
) -> list[tuple[str, np.ndarray]]:
    """Pieces of a surface by the family of the segment they lie on.

    Args:
        quads: Corners of rectangles, [Q, 4, 3]: the first and the last at the lower x,
            the others at the upper.
        scene: The strips.
        level: Which strip it is.

    Returns:
        Family and its quads, one entry per segment that has any.
    """
    strip = scene.cfg.strips[level]
    begin_m = scene.origins_m[level, 0, 0] - strip.start_m
    lengths_m = [segment.cells * CELL_M for segment in strip.segments]
    ends_m = begin_m + np.cumsum(lengths_m)
    ends_m[-1] = np.inf  # The last goes on to the end of the longest strip.
    pieces = []
    for segment, end_m in zip(strip.segments, ends_m, strict=True):
        inside, quads = cut_at(quads, float(end_m))
        if len(inside):
            pieces.append((segment.family, inside))
    return pieces


def cut_at(quads: np.ndarray, x_m: float) -> tuple[np.ndarray, np.ndarray]:
    """Quads in front of and behind a plane of constant x; those across it are cut."""
    low, high = quads[:, 0, 0], quads[:, 1, 0]
    across = quads[(low < x_m) & (high > x_m)]
    front, behind = quads[high <= x_m], quads[low >= x_m]
    if len(across):
        share = (x_m - across[:, 0, 0]) / (across[:, 1, 0] - across[:, 0, 0])  # [Q]
        share = share[:, None]
        near = across[:, 0] + share * (across[:, 1] - across[:, 0])
        far = across[:, 3] + share * (across[:, 2] - across[:, 3])
        first = np.stack([across[:, 0], near, far, across[:, 3]], axis=1)
        second = np.stack([near, across[:, 1], across[:, 2], far], axis=1)
        front = np.concatenate([front, first])
        behind = np.concatenate([behind, second])
    return front, behind
