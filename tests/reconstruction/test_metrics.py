"""Metrics against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from solo.reconstruction.metrics import (
    FrameScores,
    Labels,
    edge_counts,
    edge_f1,
    find_edges,
    score_frames,
    summarise,
)


def step_at(column: int, height: float = 0.2) -> np.ndarray:
    """A map of 4 x 8 cells that rises before one column."""
    ground = np.zeros((4, 8))
    ground[:, column:] = height
    return ground


def test_an_edge_is_the_higher_cell_of_a_step():
    edges = find_edges(step_at(3))
    assert edges[:, 3].all()
    assert edges.sum() == 4
    assert not find_edges(step_at(3, 0.05)).any()
    assert find_edges(step_at(3, 0.051)).sum() == 4
    pit = np.zeros((3, 3))
    pit[1, 1] = -0.3
    assert find_edges(pit).tolist() == [
        [False, True, False],
        [True, False, True],
        [False, True, False],
    ]


def test_an_edge_one_cell_off_counts_and_two_cells_off_does_not():
    assert edge_counts(step_at(4), step_at(3)) == (4, 4, 4, 4)
    assert edge_counts(step_at(5), step_at(3)) == (4, 0, 4, 0)
    assert edge_counts(step_at(5, 0.04), step_at(3)) == (4, 0, 0, 0)


def test_f1_by_hand():
    # 3 of 4 true edges found, 3 of 6 predicted ones right: 2 * .75 * .5 / 1.25.
    assert edge_f1(4, 3, 6, 3) == pytest.approx(0.6)
    assert edge_f1(4, 0, 6, 0) == 0.0
    assert edge_f1(4, 0, 0, 0) == 0.0


def test_errors_are_means_over_cells_and_components():
    truth = np.zeros((1, 2, 2))
    height = np.array([[[0.1, 0.0], [-0.3, 0.0]]])
    scores = score_frames(height, truth, np.array([[0.3, 0.0, -0.6]]), np.zeros((1, 3)))
    assert scores.height_l1_m.tolist() == pytest.approx([0.1])
    assert scores.velocity_l1.tolist() == pytest.approx([0.3])


def scores_of(errors_m: list[float], edges: list[tuple[int, ...]]) -> FrameScores:
    columns = np.array(edges).T
    return FrameScores(np.array(errors_m), np.zeros(len(errors_m)), *columns)


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
    assert found["hard_l1_cm"] is None
