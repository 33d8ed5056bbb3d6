"""Edges of height maps, counted in two ways.

*Covered edges* are what the paper's "edge F1" most plainly reads as: cells beside a
step, right if there is any within one cell. Noise scores well by it: with enough edges
everywhere, one is near each true one. Flat ground with 3 cm of white noise has 0.5.

*Matched edges* are counted as boundary benchmarks count them: a step is taken across
the boundary of two cells, in one direction, as the mean of three boundaries side by
side; of a flight of steps in a row only the largest stays; and each predicted edge may
answer for one true edge, up to one cell along its direction, upward for upward. The
same noise has 0.07, as much as the map of another place.
"""

from __future__ import annotations

import numpy as np

EDGE_STEP_M = 0.05
"""A larger height step is an edge; the paper does not state the threshold."""

_ROUNDING_M = 1e-4
"""A step of exactly the limit is none, up to this."""


def find_edges(height: np.ndarray) -> np.ndarray:
    """Cells [..., Y, X] that differ by more than `EDGE_STEP_M` from a neighbour.

    The higher cell of such a pair is the edge: where a foot would slip off.
    """
    edge = np.zeros(height.shape, dtype=bool)
    for axis in (-1, -2):
        first = np.moveaxis(height, axis, 0)
        marks = np.moveaxis(edge, axis, 0)  # A view, so that marks land in `edge`.
        rise = first[1:] - first[:-1]
        marks[1:] |= rise > EDGE_STEP_M + _ROUNDING_M
        marks[:-1] |= rise < -EDGE_STEP_M - _ROUNDING_M
    return edge


def covered_edges(height: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, ...]:
    """True edges, those found, predicted edges, those right; each [F], maps [F, Y, X].

    Found and right are those with one of the other map within one cell.
    """
    predicted, true = find_edges(height), find_edges(truth)
    marks = (true, true & _grow(predicted), predicted, predicted & _grow(true))
    return tuple(mark.sum(axis=(-2, -1)) for mark in marks)


def matched_edges(height: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, ...]:
    """True edges, predicted edges and pairs of them; each [F], maps [F, Y, X]."""
    counts = np.zeros((3, len(truth)), dtype=np.int64)
    for across_y in (False, True):
        rises = [_rises(m.swapaxes(1, 2) if across_y else m) for m in (height, truth)]
        for sign in (1.0, -1.0):
            predicted, true = (_thinned(sign * rise) for rise in rises)
            for row, mark in enumerate((true, predicted, _pairs(true, predicted))):
                counts[row] += mark.sum(axis=(1, 2))
    return tuple(counts)


def f1(precision: float, recall: float) -> float:
    """Harmonic mean of precision and recall; 0 if nothing was found."""
    total = precision + recall
    return 2.0 * precision * recall / total if total > 0.0 else 0.0


def _rises(height: np.ndarray) -> np.ndarray:
    """Steps along x, each the mean of three side by side, [F, Y, X - 1]."""
    rise = np.pad(np.diff(height, axis=2), ((0, 0), (1, 1), (0, 0)), mode="edge")
    return (rise[:, :-2] + rise[:, 1:-1] + rise[:, 2:]) / 3.0


def _thinned(rise: np.ndarray) -> np.ndarray:
    """Steps up that are larger than both neighbours in their row, bool, same shape."""
    padded = np.pad(rise, ((0, 0), (0, 0), (1, 1)))
    is_top = (rise > padded[..., :-2]) & (rise >= padded[..., 2:])
    return is_top & (rise > EDGE_STEP_M + _ROUNDING_M)


def _pairs(true: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Which true edges have a predicted one for themselves, bool, same shape.

    In a row, taking the first free one from left to right pairs as many as possible.
    """
    found, free = np.zeros_like(true), predicted.copy()
    for column in range(true.shape[-1]):
        for near in range(max(column - 1, 0), min(column + 2, true.shape[-1])):
            pair = true[..., column] & ~found[..., column] & free[..., near]
            found[..., column] |= pair
            free[..., near] &= ~pair
    return found


def _grow(mask: np.ndarray) -> np.ndarray:
    """Cells within one cell, diagonals included, of a marked one; [..., Y, X]."""
    height, width = mask.shape[-2:]
    padded = np.pad(mask, [(0, 0)] * (mask.ndim - 2) + [(1, 1), (1, 1)])
    return np.any(
        [
            padded[..., y : y + height, x : x + width]
            for y in range(3)
            for x in range(3)
        ],
        axis=0,
    )
