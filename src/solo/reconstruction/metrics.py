"""Metrics of height-map reconstruction, as pure functions of maps and labels.

The paper's table counts terrain instances (one patch of one level in one held-out set),
so frames are averaged within an instance first, instances within a set second; mean and
standard deviation are over the sets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

EDGE_STEP_M = 0.05
"""A larger height step between neighbouring cells is an edge (issue and paper: F1 is
over instances with edges; the paper does not state the threshold)."""

HARD_LEVELS = (7, 8, 9)
"""Levels of the hard-traversability aggregate.

The paper does not define the aggregate. Its next appendix calls levels 7 to 9 hard, and
its numbers agree with that: 2.98 cm over ten levels and 3.93 cm over the last three
leave 2.57 cm for the first seven, while no set of twelve or more whole terrain columns
fits with what the table gives for rough ground.
"""

TOP_LEVEL = 9
"""Level of the per-terrain errors."""


@dataclass(frozen=True, eq=False)
class FrameScores:
    """Errors of F frames, and the edge counts F1 is made from; all [F]."""

    height_l1_m: np.ndarray
    """Mean absolute error over the cells, metres."""
    velocity_l1: np.ndarray
    """Mean absolute error over the three components, m/s."""
    true_edges: np.ndarray
    """Edges in the true map."""
    found_edges: np.ndarray
    """Of those, how many have a predicted edge within one cell."""
    predicted_edges: np.ndarray
    """Edges in the predicted map."""
    right_edges: np.ndarray
    """Of those, how many have a true edge within one cell."""


def score_frames(
    height: np.ndarray,
    true_height: np.ndarray,
    velocity: np.ndarray,
    true_velocity: np.ndarray,
) -> FrameScores:
    """Compare F predictions with the truth.

    Args:
        height: Predicted maps, [F, Y, X], metres.
        true_height: True maps, [F, Y, X], metres.
        velocity: Predicted velocities, [F, 3], m/s.
        true_velocity: True velocities, [F, 3], m/s.
    """
    counts = [edge_counts(p, t) for p, t in zip(height, true_height, strict=True)]
    columns = np.array(counts, dtype=np.int64).reshape(-1, 4).T
    return FrameScores(
        np.abs(height - true_height).mean(axis=(1, 2)),
        np.abs(velocity - true_velocity).mean(axis=1),
        *columns,
    )


def find_edges(height: np.ndarray) -> np.ndarray:
    """Cells [..., Y, X] that differ by more than `EDGE_STEP_M` from a neighbour.

    The higher cell of such a pair is the edge: where a foot would slip off. A step of
    exactly the limit is none, up to 0.1 mm of rounding.
    """
    edge = np.zeros(height.shape, dtype=bool)
    for axis in (-1, -2):
        first = np.moveaxis(height, axis, 0)
        marks = np.moveaxis(edge, axis, 0)  # A view, so that marks land in `edge`.
        rise = first[1:] - first[:-1]
        marks[1:] |= rise > EDGE_STEP_M + 1e-4
        marks[:-1] |= rise < -EDGE_STEP_M - 1e-4
    return edge


def edge_counts(height: np.ndarray, truth: np.ndarray) -> tuple[int, int, int, int]:
    """True edges, those found, predicted edges, those right; maps [Y, X]."""
    predicted, true = find_edges(height), find_edges(truth)
    found = true & _grow(predicted)
    right = predicted & _grow(true)
    return int(true.sum()), int(found.sum()), int(predicted.sum()), int(right.sum())


def edge_f1(true: int, found: int, predicted: int, right: int) -> float:
    """Harmonic mean of precision and recall; 0 if nothing was found."""
    if found == 0 or right == 0:
        return 0.0
    precision, recall = right / predicted, found / true
    return 2.0 * precision * recall / (precision + recall)


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
        ``l1_cm``, ``hard_l1_cm``, ``edge_f1``, ``velocity_l1`` and, for each, the
        standard deviation over the sets as ``*_std``; ``edge_instances``, the number of
        instances with edges; ``per_terrain_level9_cm`` by terrain.
    """
    sets = [_summarise_set(scores, labels, k) for k in np.unique(labels.held_out_set)]
    result: dict[str, object] = {}
    for key in ("l1_cm", "hard_l1_cm", "edge_f1", "velocity_l1"):
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
    l1, velocity, f1, levels, terrains = [], [], [], [], []
    in_set = labels.held_out_set == number
    keys = sorted(set(zip(labels.terrain[in_set], labels.level[in_set], strict=True)))
    for terrain, level in keys:
        rows = in_set & (labels.terrain == terrain) & (labels.level == level)
        l1.append(100.0 * scores.height_l1_m[rows].mean())
        velocity.append(scores.velocity_l1[rows].mean())
        counts = [
            int(column[rows].sum())
            for column in (
                scores.true_edges,
                scores.found_edges,
                scores.predicted_edges,
                scores.right_edges,
            )
        ]
        if counts[0]:
            f1.append(edge_f1(*counts))
        levels.append(level)
        terrains.append(str(terrain))
    errors, hard = np.array(l1), np.isin(levels, HARD_LEVELS)
    return {
        "l1_cm": errors.mean(),
        "hard_l1_cm": errors[hard].mean() if hard.any() else np.nan,
        "edge_f1": np.mean(f1) if f1 else np.nan,
        "edge_instances": len(f1),
        "velocity_l1": np.mean(velocity),
        "top": {
            t: e for t, e, k in zip(terrains, l1, levels, strict=True) if k == TOP_LEVEL
        },
    }


def _grow(mask: np.ndarray) -> np.ndarray:
    """Cells within one cell, diagonals included, of a marked one; [Y, X]."""
    padded = np.pad(mask, 1)
    height, width = mask.shape
    return np.any(
        [padded[y : y + height, x : x + width] for y in range(3) for x in range(3)],
        axis=0,
    )
