"""Square pyramids with straight flanks, climbed or descended outwards."""

from __future__ import annotations

from typing import Literal

import numpy as np

from solo.terrains.patch import (
    CELL_M,
    PLATFORM_CELLS,
    UNIT_M,
    Parameter,
    blank_patch,
    rings_around_platform,
    round_half_up,
)

SLOPE = Parameter("slope", 0.0, 0.5, resolution=None, suffix="")


def slope(
    difficulty: float,
    rng: np.random.Generator,
    size_m: float,
    *,
    direction: Literal["up", "down"],
) -> np.ndarray:
    """A flank of constant slope from the platform to the rim at height 0.

    Each cell takes the height of the plane at its own centre.

    Args:
        difficulty: Rise over run from 0 (0) to 0.5 (1).
        rng: Not used; the patch is deterministic.
        size_m: Side of the patch.
        direction: What the robot does on its way outwards.
    """
    del rng
    patch = blank_patch(difficulty, size_m)
    run_m = (len(patch) - PLATFORM_CELLS) / 2 * CELL_M
    rings = rings_around_platform(len(patch))
    walked_m = np.where(rings > 0, (rings - 0.5) * CELL_M, 0.0)
    height_m = SLOPE.at(difficulty) * (run_m - walked_m)
    sign = -1 if direction == "up" else 1
    patch[:] = sign * round_half_up(height_m / UNIT_M)
    return patch
