"""Stepping stones: square tops at height 0 in a field of holes.

The paper names two variants without describing them. Not stated in the paper; chosen
because they are the two usual ones: `aligned` has rows and columns, `staggered` shifts
every row along x by its own random amount.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from solo.terrains.patch import (
    CELL_M,
    PLATFORM_CELLS,
    Parameter,
    blank_patch,
    centre_square,
)

STONE_WIDTH = Parameter("stone", 0.40, 0.20, CELL_M)
STONE_GAP = Parameter("gap", 0.20, 0.30, CELL_M)
HOLE_DEPTH = Parameter("depth", 0.40, 1.00)


def stones(
    difficulty: float,
    rng: np.random.Generator,
    size_m: float,
    *,
    layout: Literal["aligned", "staggered"],
) -> np.ndarray:
    """A strictly periodic lattice of stones that the platform covers in the middle.

    One row of stones is centred on y = 0, so that a straight walk along +x is possible.
    In `aligned` the platform's +x edge is the start of a gap, so that the first gap of
    that walk has the full width; towards the other sides the platform may cut the
    lattice, which makes the first gap shorter, never longer.

    Args:
        difficulty: Stone width from 0.40 m (0) to 0.20 m (1), gap between stones from
            0.20 m to 0.30 m, depth of the holes from 0.40 m to 1.00 m.
        rng: Draws the shift of each row in `staggered`.
        size_m: Side of the patch.
        layout: Whether the rows are in line.
    """
    patch = blank_patch(difficulty, size_m)
    num_cells = len(patch)
    stone_cells = STONE_WIDTH.count(difficulty)
    pitch_cells = stone_cells + STONE_GAP.count(difficulty)

    index = np.arange(num_cells)
    from_row = index - (num_cells - stone_cells) // 2  # From the row on y = 0.
    row = from_row // pitch_cells
    is_stone_y = from_row % pitch_cells < stone_cells

    platform_end = (num_cells + PLATFORM_CELLS) // 2
    shift = np.zeros(num_cells, dtype=np.int64)  # [n], per cell along y
    if layout == "staggered":
        row -= row.min()
        shift = rng.integers(pitch_cells, size=row.max() + 1)[row]
    from_gap = (index[:, None] - platform_end - shift[None, :]) % pitch_cells
    is_stone = (from_gap >= pitch_cells - stone_cells) & is_stone_y[None, :]

    patch[~is_stone] = -HOLE_DEPTH.count(difficulty)
    patch[centre_square(num_cells, PLATFORM_CELLS)] = 0
    return patch
