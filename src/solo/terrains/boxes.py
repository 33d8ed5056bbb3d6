"""Two boxes stacked under the platform, or two pits around it.

Boxes are descended twice on the way outwards, pits are climbed twice.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from solo.terrains.patch import (
    PLATFORM_CELLS,
    Parameter,
    blank_patch,
    rings_around_platform,
    round_half_up,
)

BOX_HEIGHT = Parameter("box height", 0.0, 0.40)
PIT_DEPTH = Parameter("pit depth", 0.0, 0.40)

LEDGE_RATIO = 0.6
"""Share of the way from platform to rim that the second obstacle covers.

Not stated in the paper; chosen because Isaac Lab, from which the family comes, uses it.
"""


def boxes(
    difficulty: float,
    rng: np.random.Generator,
    size_m: float,
    *,
    direction: Literal["up", "down"],
) -> np.ndarray:
    """Platform at twice the obstacle height, a ledge at once, then the ground.

    Args:
        difficulty: Height of each of the two obstacles from 0 m (0) to 0.40 m (1).
        rng: Not used; the patch is deterministic.
        size_m: Side of the patch.
        direction: What the robot does on its way outwards: `down` for boxes, `up` for
            pits.
    """
    del rng
    patch = blank_patch(difficulty, size_m)
    margin_cells = (len(patch) - PLATFORM_CELLS) // 2
    ledge_cells = int(round_half_up(LEDGE_RATIO * margin_cells))
    rings = rings_around_platform(len(patch))
    obstacles_left = (rings == 0).astype(np.int16) + (rings <= ledge_cells)
    if direction == "up":
        patch[:] = -PIT_DEPTH.count(difficulty) * obstacles_left
    else:
        patch[:] = BOX_HEIGHT.count(difficulty) * obstacles_left
    return patch
