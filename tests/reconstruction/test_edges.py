"""Edges against numbers worked out by hand, and what noise is worth."""

from __future__ import annotations

import numpy as np
import pytest

from solo.reconstruction.metrics import covered_edges, f1, find_edges, matched_edges


def step_at(column: int, height: float = 0.2) -> np.ndarray:
    """A map of 4 x 8 cells that rises before one column."""
    ground = np.zeros((4, 8))
    ground[:, column:] = height
    return ground


def covered(height: np.ndarray, truth: np.ndarray) -> list[int]:
    return [int(n[0]) for n in covered_edges(height[None], truth[None])]


def matched(height: np.ndarray, truth: np.ndarray) -> list[int]:
    return [int(n[0]) for n in matched_edges(height[None], truth[None])]


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


def test_an_edge_one_cell_off_is_covered_and_two_cells_off_is_not():
    assert covered(step_at(4), step_at(3)) == [4, 4, 4, 4]
    assert covered(step_at(5), step_at(3)) == [4, 0, 4, 0]
    assert covered(step_at(5, 0.04), step_at(3)) == [4, 0, 0, 0]


def test_a_step_matches_up_to_one_cell_off_and_only_the_same_way_up():
    assert matched(step_at(4), step_at(3)) == [4, 4, 4]
    assert matched(step_at(5), step_at(3)) == [4, 4, 0]
    assert matched(-step_at(3), step_at(3)) == [4, 4, 0]
    assert matched(step_at(3).T, step_at(3).T) == [4, 4, 4]
    assert matched(step_at(3, 0.05), step_at(3)) == [4, 0, 0]


def test_a_flight_of_steps_counts_once_and_answers_once():
    """0.1, 0.2 and 0.1 m in a row: one edge where 0.2 m is, not three."""
    flight = step_at(2, 0.1) + step_at(3, 0.2) + step_at(4, 0.1)
    assert matched(flight, step_at(3)) == [4, 4, 4]
    assert covered(flight, step_at(3)) == [4, 4, 12, 12]
    # Steps before columns 3 and 5, both within one cell of the one at 4.
    two = step_at(3) + step_at(5)
    assert matched(two, step_at(4)) == [4, 8, 4]
    assert covered(two, step_at(4)) == [4, 4, 8, 8]


def test_pairs_are_as_many_as_there_can_be():
    """True at 2 and 4, predicted at 1 and 3: taking 3 for 2 would leave 4 alone."""
    true = np.zeros((4, 8))
    true[:, 2:], true[:, 4:] = 0.2, 0.4
    predicted = np.zeros((4, 8))
    predicted[:, 1:], predicted[:, 3:] = 0.2, 0.4
    assert matched(predicted, true) == [8, 8, 8]


def test_f1_by_hand():
    # 3 of 4 true edges found, 3 of 6 predicted ones right: 2 * .75 * .5 / 1.25.
    assert f1(0.5, 0.75) == pytest.approx(0.6)
    assert f1(0.0, 0.0) == 0.0


def test_noise_covers_edges_and_matches_hardly_any():
    """Stairs of 30 cm treads against flat ground with 3 cm of white noise."""
    stairs = np.broadcast_to(np.arange(32) // 6 * 0.15, (200, 16, 32))
    noise = np.random.default_rng(0).normal(0.0, 0.03, stairs.shape)
    true, found, predicted, right = map(np.sum, covered_edges(noise, stairs))
    assert f1(right / predicted, found / true) > 0.4
    true, predicted, pairs = map(np.sum, matched_edges(noise, stairs))
    assert f1(pairs / predicted, pairs / true) < 0.1
    true, predicted, pairs = map(np.sum, matched_edges(stairs + noise / 3, stairs))
    assert f1(pairs / predicted, pairs / true) > 0.95
