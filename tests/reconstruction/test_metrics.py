"""Metrics against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from solo.reconstruction.metrics import (
    FrameScores,
    Labels,
    score_frames,
    summarise,
)


def test_errors_are_means_over_cells_and_components():
    truth = np.zeros((1, 2, 2))
    height = np.array([[[0.1, 0.0], [-0.3, 0.0]]])
    scores = score_frames(height, truth, np.array([[0.3, 0.0, -0.6]]), np.zeros((1, 3)))
    assert scores.height_l1_m.tolist() == pytest.approx([0.1])
    assert scores.velocity_l1.tolist() == pytest.approx([0.3])


def scores_of(errors_m: list[float], edges: list[tuple[int, ...]]) -> FrameScores:
    """Frames with these errors and covered edges; pairs are the true edges found."""
    covered, num = np.array(edges), len(errors_m)
    return FrameScores(
        np.array(errors_m), np.zeros(num), covered, covered[:, [0, 2, 1]]
    )


def test_instances_count_equally_and_sets_give_the_deviation():
    """Set 0: instance a (level 9) has frames of 1 and 3 cm, b (level 0) one of 6 cm.

    So the set is at (2 + 6) / 2 = 4 cm; set 1 at (4 + 8) / 2 = 6 cm: 5 +- 1 cm.
    """
    none, half = (0, 0, 0, 0), (4, 2, 4, 2)
    scores = scores_of([0.01, 0.03, 0.06, 0.04, 0.08], [half, half, none, half, none])
    labels = Labels(
        np.array([0, 0, 0, 1, 1]),
        np.array(["a", "a", "b", "a", "b"]),
        np.array([9, 9, 0, 9, 0]),
    )
    found = summarise(scores, labels)
    assert found["l1_cm"] == pytest.approx(5.0)
    assert found["l1_cm_std"] == pytest.approx(1.0)
    assert found["hard_l1_cm"] == pytest.approx(3.0)
    assert found["edge_f1"] == pytest.approx(0.5)
    assert found["edge_f1_std"] == pytest.approx(0.0)
    assert found["edge_instances"] == 2
    assert found["per_terrain_level9_cm"] == {"a": pytest.approx(3.0)}
    assert found["per_terrain_level9_cm_std"] == {"a": pytest.approx(1.0)}


def test_f1_pools_the_frames_of_an_instance():
    """One frame finds all 2 edges, one none of 6: recall 2 / 8, precision 2 / 2."""
    scores = scores_of([0.0, 0.0], [(2, 2, 2, 2), (6, 0, 0, 0)])
    labels = Labels(np.zeros(2), np.array(["a", "a"]), np.array([5, 5]))
    found = summarise(scores, labels)
    assert found["edge_f1"] == pytest.approx(2 * 0.25 / 1.25)
    assert found["matched_edge_f1"] == pytest.approx(2 * 0.25 / 1.25)
    assert found["matched_edge_precision"] == pytest.approx(1.0)
    assert found["matched_edge_recall"] == pytest.approx(0.25)
    assert found["hard_l1_cm"] is None
