"""Metrics of height-map reconstruction, as pure functions of maps and labels.

The paper's table counts terrain instances (one patch of one level in one held-out set),
so frames are averaged within an instance first, instances within a set second; mean and
standard deviation are over the sets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solo.reconstruction.edges import covered_edges, f1, matched_edges

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
    """Errors of F frames, [F], and the edge counts F1 is made from."""

    height_l1_m: np.ndarray
    """Mean absolute error over the cells, metres."""
    velocity_l1: np.ndarray
    """Mean absolute error over the three components, m/s."""
    covered_edges: np.ndarray
    """Counts of `solo.reconstruction.edges.covered_edges`, [F, 4]."""
    matched_edges: np.ndarray
    """Counts of `solo.reconstruction.edges.matched_edges`, [F, 3]."""


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
