"""The terrain families: each a function that draws one patch at a difficulty.

They are the rows of the paper's curriculum table, with its ranges as `Parameter`
constants; `solo.terrains.variants` names the columns made of them. All take a
difficulty from 0 to 1, a generator, which those that are the same every time leave
alone, and the side of the patch in metres. Their ``direction`` is what the robot does
on its way outwards.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from solo.terrains.patch import (
    CELL_M,
    PLATFORM_CELLS,
    PLATFORM_M,
    UNIT_M,
    Parameter,
    blank_patch,
    centre_square,
    interpolate,
    rings_around_platform,
    round_half_up,
)

Direction = Literal["up", "down"]
"""What the robot does on its way outwards."""


def flat(difficulty: float, rng: np.random.Generator, size_m: float) -> np.ndarray:
    """A planar patch at height 0, the same at every difficulty."""
    del rng
    return blank_patch(difficulty, size_m)


STEP_HEIGHT = Parameter("step height", 0.0, 0.25)


def tread_width(tread_m: float) -> Parameter:
    """The fixed tread of one stairs variant."""
    return Parameter("tread", tread_m, tread_m, CELL_M)


def stairs(
    difficulty: float,
    rng: np.random.Generator,
    size_m: float,
    *,
    direction: Direction,
    tread_m: float,
) -> np.ndarray:
    """Concentric square stairs with equal risers, as many as the patch has room for.

    The last tread is the rim at height 0, so a patch of 8 m with treads of 0.25 m has
    11 risers between platform and rim: (8.0 - 2.5) / 2 / 0.25 = 11. `up` puts the
    platform in a pit, `down` puts it on top.
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


SLOPE = Parameter("slope", 0.0, 0.5, resolution=None, suffix="")


def slope(
    difficulty: float,
    rng: np.random.Generator,
    size_m: float,
    *,
    direction: Direction,
) -> np.ndarray:
    """A square pyramid: constant slope from the platform to the rim at height 0.

    Each cell takes the height of the plane at its own centre.
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
    direction: Direction,
) -> np.ndarray:
    """Two boxes stacked under the platform (`down`), or two pits around it (`up`).

    The platform is at twice the obstacle height, the ledge at once, then comes the
    ground. Boxes are descended twice on the way outwards, pits are climbed twice.
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


BLOCK_HEIGHT = Parameter("height ±", 0.0, 0.20)
"""Blocks lie between minus and plus this value.

The paper gives one number; that it bounds both directions is how Isaac Lab, from which
the family comes, reads it.
"""

BLOCK_WIDTH = Parameter("block", 0.45, 0.45, CELL_M)


def random_grid(
    difficulty: float, rng: np.random.Generator, size_m: float
) -> np.ndarray:
    """Square blocks, each at a random height, around a platform at the top height.

    There are as many whole blocks as fit, centred. Cells that are left over at the rim
    stay at 0. When their number is odd, the blocks are half a cell off the centre.
    """
    patch = blank_patch(difficulty, size_m)
    amplitude = BLOCK_HEIGHT.count(difficulty)
    block_cells = BLOCK_WIDTH.count(difficulty)
    num_blocks = len(patch) // block_cells
    heights = rng.integers(
        -amplitude, amplitude, size=(num_blocks, num_blocks), endpoint=True
    )
    cells = np.kron(heights, np.ones((block_cells, block_cells), dtype=np.int64))
    patch[centre_square(len(patch), len(cells))] = cells
    patch[centre_square(len(patch), PLATFORM_CELLS)] = amplitude
    return patch


ROUGH_HEIGHT = Parameter("height ±", 0.10, 0.10)

START_PAD_M = 1.0
"""Least width of the flat square on which the robot starts.

Not stated in the paper; chosen because the robot must be able to stand, and its start
is randomised by half a metre. The paper's table gives this family no platform.
"""


def quantisation_step(step_m: float) -> Parameter:
    """The height step of one rough variant."""
    return Parameter("quantised by", step_m, step_m)


def lattice_spacing(spacing_m: float) -> Parameter:
    """The horizontal distance between drawn heights of one rough variant."""
    return Parameter("every", spacing_m, spacing_m, CELL_M)


def rough(
    difficulty: float,
    rng: np.random.Generator,
    size_m: float,
    *,
    step_m: float,
    spacing_m: float,
) -> np.ndarray:
    """Quantised heights drawn on a coarse lattice and joined bilinearly.

    Lattice points lie on cell centres, one of them on cell (n / 2, n / 2). Those that
    frame the start pad share the height of that one, so the pad is flat and the ground
    leaves it without an edge. The difficulty is only checked: the paper's height range
    carries no arrow, unlike those of the other families.
    """
    patch = blank_patch(difficulty, size_m)
    spacing_cells = lattice_spacing(spacing_m).count(difficulty)
    num_steps = math.floor(ROUGH_HEIGHT.at(difficulty) / step_m + 1e-9)
    centre = math.ceil(len(patch) / 2 / spacing_cells)
    drawn = rng.integers(
        -num_steps, num_steps, size=(2 * centre + 1,) * 2, endpoint=True
    )
    pad = math.ceil(START_PAD_M / 2 / CELL_M / spacing_cells)
    drawn[centre - pad : centre + pad + 1, centre - pad : centre + pad + 1] = drawn[
        centre, centre
    ]
    offset_cells = np.arange(len(patch)) - len(patch) // 2
    lattice = centre + offset_cells / spacing_cells  # [n], fractional lattice index
    heights_m = interpolate(drawn * step_m, lattice, lattice)
    patch[:] = round_half_up(heights_m / UNIT_M)
    return patch


GAP_WIDTH = Parameter("gap width", 0.10, 0.50, CELL_M)
GAP_DEPTH = Parameter("depth", 0.10, 1.00)


def gap(difficulty: float, rng: np.random.Generator, size_m: float) -> np.ndarray:
    """A square ring gap around the platform, to be crossed in any direction."""
    del rng
    patch = blank_patch(difficulty, size_m)
    rings = rings_around_platform(len(patch))
    is_gap = (rings >= 1) & (rings <= GAP_WIDTH.count(difficulty))
    patch[is_gap] = -GAP_DEPTH.count(difficulty)
    return patch


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
    """Square tops at height 0 in a field of holes, around the platform.

    The paper names two variants without describing them. Not stated in the paper;
    chosen because they are the two usual ones: `aligned` has rows and columns,
    `staggered` shifts every row along x by its own random amount.

    The lattice is strictly periodic. One row of stones is centred on y = 0, so that a
    straight walk along +x is possible. In `aligned` the platform's +x edge is the start
    of a gap, so that the first gap of that walk has the full width; towards the other
    sides the platform may cut the lattice, which makes the first gap shorter, never
    longer.
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

    Only evaluations have it; training never sees it.

    The paper says no more than that "High Plane contains two 0.35 m-high platforms".
    Training has boxes in a stack; here they stand one behind the other, so a robot
    climbs and descends twice. They reach over the whole width of the patch and begin
    where the start platform of the other families ends; in a row of such patches the
    first 5 m along +x from any origin hold exactly these two (on patches of 8 m and
    more).
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
