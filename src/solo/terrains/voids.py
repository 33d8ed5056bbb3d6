"""Holes that nobody may step into: where they are."""

from __future__ import annotations

import numpy as np

from solo.terrains.scene import TerrainScene

VOID_VARIANTS = ("gap", "stones_aligned", "stones_staggered")
"""Terrain variants whose cells below the ground are holes, not steps down."""


def void_mask(scene: TerrainScene) -> np.ndarray:
    """Which cells of the grid are holes, bool [X, Y]."""
    mask = np.zeros(scene.grid.units.shape, dtype=bool)
    for column, name in enumerate(scene.cfg.variants):
        if name in VOID_VARIANTS:
            for level in range(len(scene.difficulties)):
                cells = scene.patch_cells(level, column)
                mask[cells] = scene.grid.units[cells] < 0
    return mask
