"""Terrain that only evaluations have; training never sees it.

The variants are registered in `solo.terrains.variants.EVALUATION_VARIANTS`, so that a
scene takes them by name while the training set stays the paper's 17.
"""

from __future__ import annotations

import numpy as np

from solo.terrains.patch import CELL_M, PLATFORM_M, Parameter, blank_patch

PLANE_HEIGHT = Parameter("platform height", 0.0, 0.35 / 0.99)
"""0.35 m at 0.99, the difficulty of the paper's stress test."""

PLANE_DEPTH = Parameter("platform depth", 0.9, 0.9, CELL_M)
"""Along x. Not stated in the paper; room for a stride, so that each platform has to be
stood on."""

PLANE_SPACING = Parameter("between", 0.8, 0.8, CELL_M)
"""Ground between the platforms. Not stated in the paper; chosen as their depth was."""


def high_plane(
    difficulty: float, rng: np.random.Generator, size_m: float
) -> np.ndarray:
    """Two platforms across the way along +x, with ground before, between and behind.

    The paper says no more than that "High Plane contains two 0.35 m-high platforms".
    Training has boxes in a stack; here they stand one behind the other, so a robot
    climbs and descends twice. They reach over the whole width of the patch and begin
    where the start platform of the other families ends; in a row of such patches the
    first 5 m along +x from any origin hold exactly these two (on patches of 8 m and
    more).

    Args:
        difficulty: Height from 0 m (0) to 0.35 m (0.99).
        rng: Not used; the patch is deterministic.
        size_m: Side of the patch; at least 7.8 m hold both platforms.
    """
    del rng
    patch = blank_patch(difficulty, size_m)
    depth, between = PLANE_DEPTH.count(difficulty), PLANE_SPACING.count(difficulty)
    first = len(patch) // 2 + round(PLATFORM_M / 2 / CELL_M)
    if first + 2 * depth + between >= len(patch):
        raise ValueError(
            f"Terrain patch size is {size_m} m; high_plane needs at least 7.8 m for "
            "its two platforms. Use for example 8.0."
        )
    for start in (first, first + depth + between):
        patch[start : start + depth, :] = PLANE_HEIGHT.count(difficulty)
    return patch
