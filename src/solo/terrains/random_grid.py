"""A floor of square blocks, each at its own random height."""

from __future__ import annotations

import numpy as np

from solo.terrains.patch import (
    CELL_M,
    PLATFORM_CELLS,
    Parameter,
    blank_patch,
    centre_square,
)

AMPLITUDE = Parameter("height ±", 0.0, 0.20)
"""Blocks lie between minus and plus this value.

The paper gives one number; that it bounds both directions is how Isaac Lab, from which
the family comes, reads it.
"""

BLOCK_WIDTH = Parameter("block", 0.45, 0.45, CELL_M)


def random_grid(
    difficulty: float, rng: np.random.Generator, size_m: float
) -> np.ndarray:
    """As many whole blocks as fit, centred, around a platform at the top height.

    Cells that are left over at the rim stay at 0. When their number is odd, the blocks
    are half a cell off the centre.

    Args:
        difficulty: Amplitude of the block heights from 0 m (0) to 0.20 m (1).
        rng: Draws the block heights.
        size_m: Side of the patch.
    """
    patch = blank_patch(difficulty, size_m)
    amplitude = AMPLITUDE.count(difficulty)
    block_cells = BLOCK_WIDTH.count(difficulty)
    num_blocks = len(patch) // block_cells
    heights = rng.integers(
        -amplitude, amplitude, size=(num_blocks, num_blocks), endpoint=True
    )
    cells = np.kron(heights, np.ones((block_cells, block_cells), dtype=np.int64))
    patch[centre_square(len(patch), len(cells))] = cells
    patch[centre_square(len(patch), PLATFORM_CELLS)] = amplitude
    return patch
