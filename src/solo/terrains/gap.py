"""A square ring gap around the platform, to be crossed in any direction."""

from __future__ import annotations

import numpy as np

from solo.terrains.patch import CELL_M, Parameter, blank_patch, rings_around_platform

GAP_WIDTH = Parameter("gap width", 0.10, 0.50, CELL_M)
GAP_DEPTH = Parameter("depth", 0.10, 1.00)


def gap(difficulty: float, rng: np.random.Generator, size_m: float) -> np.ndarray:
    """Platform and ground at height 0 with a gap between them.

    Args:
        difficulty: Width from 0.10 m (0) to 0.50 m (1), depth from 0.10 m to 1.00 m.
        rng: Not used; the patch is deterministic.
        size_m: Side of the patch.
    """
    del rng
    patch = blank_patch(difficulty, size_m)
    rings = rings_around_platform(len(patch))
    is_gap = (rings >= 1) & (rings <= GAP_WIDTH.count(difficulty))
    patch[is_gap] = -GAP_DEPTH.count(difficulty)
    return patch
