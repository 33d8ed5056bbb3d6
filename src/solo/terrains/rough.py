"""Random rough ground: quantised random heights, joined linearly.

The paper's height range carries no arrow, unlike the other families, so the difficulty
does not change this one.
"""

from __future__ import annotations

import math

import numpy as np

from solo.terrains.patch import CELL_M, UNIT_M, Parameter, blank_patch, round_half_up

AMPLITUDE = Parameter("height ±", 0.10, 0.10)

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
    """Heights drawn on a coarse lattice and interpolated bilinearly to the cells.

    Lattice points lie on cell centres, one of them on cell (n / 2, n / 2). Those that
    frame the start pad share the height of that one, so the pad is flat and the ground
    leaves it without an edge.

    Args:
        difficulty: Only checked; the paper gives one range for all levels.
        rng: Draws the lattice heights.
        size_m: Side of the patch.
        step_m: Drawn heights are multiples of this.
        spacing_m: Distance between neighbouring lattice points, a multiple of the cell.
    """
    patch = blank_patch(difficulty, size_m)
    spacing_cells = lattice_spacing(spacing_m).count(difficulty)
    num_steps = math.floor(AMPLITUDE.at(difficulty) / step_m + 1e-9)
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
    heights_m = _interpolate(drawn * step_m, lattice)
    patch[:] = round_half_up(heights_m / UNIT_M)
    return patch


def _interpolate(values: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Bilinear interpolation of a square lattice at the fractional indices [n]."""
    low = np.minimum(index.astype(np.int64), len(values) - 2)
    weight = index - low
    along_x = values[low] * (1 - weight)[:, None] + values[low + 1] * weight[:, None]
    return along_x[:, low] * (1 - weight) + along_x[:, low + 1] * weight
