"""Concentric square stairs around the platform, climbed or descended outwards.

The last tread is the rim at height 0, so a patch of 8 m with treads of 0.25 m has 11
risers between platform and rim: (8.0 - 2.5) / 2 / 0.25 = 11.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from solo.terrains.patch import (
    CELL_M,
    PLATFORM_CELLS,
    Parameter,
    blank_patch,
    rings_around_platform,
)

STEP_HEIGHT = Parameter("step height", 0.0, 0.25)


def tread_width(tread_m: float) -> Parameter:
    """The fixed tread of one stairs variant."""
    return Parameter("tread", tread_m, tread_m, CELL_M)


def stairs(
    difficulty: float,
    rng: np.random.Generator,
    size_m: float,
    *,
    direction: Literal["up", "down"],
    tread_m: float,
) -> np.ndarray:
    """Stairs with equal risers and as many steps as the patch has room for.

    Args:
        difficulty: Step height from 0 m (0) to 0.25 m (1).
        rng: Not used; the patch is deterministic.
        size_m: Side of the patch.
        direction: What the robot does on its way outwards. `up` puts the platform in
            a pit, `down` puts it on top.
        tread_m: Depth of one step, a multiple of the cell.
    """
    del rng
    patch = blank_patch(difficulty, size_m)
    tread_cells = tread_width(tread_m).count(difficulty)
    num_steps = (len(patch) - PLATFORM_CELLS) // 2 // tread_cells
    # Ring 1 is the first cell past the platform, where the first riser was just taken.
    taken = -(-rings_around_platform(len(patch)) // tread_cells)
    remaining = num_steps - np.minimum(taken, num_steps)
    # The step is rounded once, so that no riser differs from the others.
    step_units = STEP_HEIGHT.count(difficulty)
    sign = -1 if direction == "up" else 1
    patch[:] = sign * step_units * remaining
    return patch
