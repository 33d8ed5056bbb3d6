"""Metrics of height-map reconstruction, as pure functions of maps and labels.

The paper's table counts terrain instances (one patch of one level in one held-out set),
so frames are averaged within an instance first, instances within a set second; mean and
standard deviation are over the sets.

Edges are counted in two ways.

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

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import maximum_filter

HARD_LEVELS = (7, 8, 9)
"""Levels of the hard-traversability aggregate.

The paper does not define the aggregate. Its next appendix calls levels 7 to 9 hard, and
its numbers agree with that: 2.98 cm over ten levels and 3.93 cm over the last three
leave 2.57 cm for the first seven, while no set of twelve or more whole terrain columns
fits with what the table gives for rough ground.
"""

TOP_LEVEL = 9
"""Level of the per-terrain errors."""

EDGE_STEP_M = 0.05
"""A larger height step is an edge; the paper does not state the threshold."""

_ROUNDING_M = 1e-4
"""A step of exactly the limit is none, up to this."""


@dataclass(frozen=True, eq=False)
class FrameScores:
    """Errors of F frames, [F], and the edge counts F1 is made from."""

    height_l1_m: np.ndarray
    """Mean absolute error over the cells, metres."""
    velocity_l1: np.ndarray
    """Mean absolute error over the three components, m/s."""
    covered_edges: np.ndarray
    """Counts of `covered_edges`, [F, 4]."""
    matched_edges: np.ndarray
    """Counts of `matched_edges`, [F, 3]."""


def score_frames(
    height: np.ndarray,
    true_height: np.ndarray,
    velocity: np.ndarray,
    true_velocity: np.ndarray,
) -> FrameScores:
    """Compare F predictions of maps [F, Y, X], metres, and velocities [F, 3], m/s."""
    return FrameScores(
        np.abs(height - true_height).mean(axis=(1, 2)),
        np.abs(velocity - true_velocity).mean(axis=1),
        np.stack(covered_edges(height, true_height), axis=1),
        np.stack(matched_edges(height, true_height), axis=1),
    )


@dataclass(frozen=True, eq=False)
class Labels:
    """Where the F frames come from; all [F]."""

    held_out_set: np.ndarray
    """Number of the set."""
    terrain: np.ndarray
    """Name of the terrain."""
    level: np.ndarray
    """Level."""


def summarise(scores: FrameScores, labels: Labels) -> dict[str, object]:
    """The numbers of the table: means over the sets, and their deviations.

    Returns:
        ``l1_cm``, ``hard_l1_cm``, ``edge_f1`` (covered edges, the paper's reading),
        ``matched_edge_f1``, ``_precision`` and ``_recall``, ``velocity_l1`` and, for
        each, the standard deviation over the sets as ``*_std``; ``edge_instances``, the
        number of instances with edges; ``per_terrain_level9_cm`` by terrain.
    """
    sets = [_summarise_set(scores, labels, k) for k in np.unique(labels.held_out_set)]
    result: dict[str, object] = {}
    for key in ("l1_cm", "hard_l1_cm", "velocity_l1", *_EDGE_KEYS):
        values = np.array([found[key] for found in sets], dtype=np.float64)
        values = values[np.isfinite(values)]
        result[key] = float(values.mean()) if len(values) else None
        # As the paper's table: the spread of the sets themselves.
        result[f"{key}_std"] = float(values.std()) if len(values) else None
    result["edge_instances"] = sum(int(found["edge_instances"]) for found in sets)
    top = [found["top"] for found in sets]
    result["per_terrain_level9_cm"] = {
        name: float(np.mean([found[name] for found in top if name in found]))
        for name in dict.fromkeys(name for found in top for name in found)
    }
    result["per_terrain_level9_cm_std"] = {
        name: float(np.std([found[name] for found in top if name in found]))
        for name in result["per_terrain_level9_cm"]  # type: ignore[union-attr]
    }
    return result


def _summarise_set(scores: FrameScores, labels: Labels, number: int) -> dict:
    """One held-out set; instances count equally."""
    l1, velocity, edges, levels, terrains = [], [], [], [], []
    in_set = labels.held_out_set == number
    keys = sorted(set(zip(labels.terrain[in_set], labels.level[in_set], strict=True)))
    for terrain, level in keys:
        rows = in_set & (labels.terrain == terrain) & (labels.level == level)
        l1.append(100.0 * scores.height_l1_m[rows].mean())
        velocity.append(scores.velocity_l1[rows].mean())
        covered = scores.covered_edges[rows].sum(axis=0)
        if covered[0]:
            matched = scores.matched_edges[rows].sum(axis=0)
            edges.append(_edge_scores(covered, matched))
        levels.append(level)
        terrains.append(str(terrain))
    errors, hard = np.array(l1), np.isin(levels, HARD_LEVELS)
    return {
        "l1_cm": errors.mean(),
        "hard_l1_cm": errors[hard].mean() if hard.any() else np.nan,
        **dict(zip(_EDGE_KEYS, _column_means(edges), strict=True)),
        "edge_instances": len(edges),
        "velocity_l1": np.mean(velocity),
        "top": {
            t: e for t, e, k in zip(terrains, l1, levels, strict=True) if k == TOP_LEVEL
        },
    }


_EDGE_KEYS = (
    "edge_f1",
    "matched_edge_f1",
    "matched_edge_precision",
    "matched_edge_recall",
)


def _edge_scores(covered: np.ndarray, matched: np.ndarray) -> tuple[float, ...]:
    """The numbers of `_EDGE_KEYS` of an instance, from its counts.

    The mean of three boundaries can hide a step of 5 to 15 cm that is one cell wide, so
    an instance may have a covered edge and none to match: it has no matched scores.
    """
    true, found, predicted, right = (int(count) for count in covered)
    reading = f1(right / max(predicted, 1), found / true)
    true, predicted, pairs = (int(count) for count in matched)
    if true == 0:
        return reading, np.nan, np.nan, np.nan
    precision, recall = pairs / max(predicted, 1), pairs / true
    return reading, f1(precision, recall), precision, recall


def _column_means(rows: list[tuple[float, ...]]) -> list[float]:
    """Means of the finite values of each column; not a number if there is none."""
    columns = np.array(rows, dtype=np.float64).reshape(-1, len(_EDGE_KEYS)).T
    finite = [column[np.isfinite(column)] for column in columns]
    return [float(values.mean()) if len(values) else np.nan for values in finite]


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
    # Whether there is one within a cell, diagonals included.
    near_predicted, near_true = (
        maximum_filter(mark, size=(1, 3, 3)) for mark in (predicted, true)
    )
    marks = (true, true & near_predicted, predicted, predicted & near_true)
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
