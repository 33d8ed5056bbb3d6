"""Intervals, means and paired differences by hand."""

from __future__ import annotations

import pytest

from solo.evaluation.metrics import (
    paired_difference,
    success_rate,
    summarise,
    summarise_levels,
    wilson_interval,
)
from solo.evaluation.protocols import LEVELS
from solo.results import Job, Mean, Worst


def job(terrain: str, level: int, successes: int, of: int = 64, error: float = 0.5):
    rate, mean = success_rate(successes, of), Mean.of([error, error])
    measures = {"velocity_error": mean}
    return Job(f"{terrain}-{level}", rate, {}, measures, terrain, level=level)


def test_wilson_by_hand():
    # z = 2, 5 of 10: centre (0.5 + 4 / 20) / 1.4 = 0.5,
    # half 2 * sqrt(0.025 + 0.01) / 1.4 = 0.26726.
    low, high = wilson_interval(5, 10, z=2.0)
    assert low == pytest.approx(0.5 - 0.267261, abs=1e-6)
    assert high == pytest.approx(0.5 + 0.267261, abs=1e-6)


def test_wilson_of_known_tables():
    # 95 % of 96 of 100 and of 0 of 100.
    assert wilson_interval(96, 100) == pytest.approx((0.9016, 0.9843), abs=5e-5)
    assert wilson_interval(0, 100) == pytest.approx((0.0, 0.03699), abs=5e-5)


def test_wilson_stays_within_zero_and_one():
    assert wilson_interval(0, 5)[0] == 0.0
    assert wilson_interval(5, 5)[1] == 1.0
    assert wilson_interval(0, 0) == (0.0, 1.0)
    with pytest.raises(ValueError, match="impossible"):
        wilson_interval(3, 2)


def test_deviation_is_the_papers():
    # Its table has 97.92 +- 3.61 % for three seeds of 64 episodes.
    value = Mean.of([100.0, 100.0, 93.75])
    assert value.mean == pytest.approx(97.92, abs=0.005)
    assert value.std == pytest.approx(3.61, abs=0.005)
    assert Mean.of([1.0]).std is None


def test_summary_pools_jobs_and_names_the_worst():
    cells = [job("gap", 0, 64, error=0.2), job("pits", 0, 16, error=0.4)]
    summary = summarise(cells)
    assert summary.success.rate == 80 / 128
    assert summary.worst == Worst("pits-0", 0.25)
    assert summary.measures["velocity_error"] == pytest.approx(0.3)


def test_levels_are_grouped_as_in_the_paper():
    cells = [job("gap", level, 64 if level < 4 else 32) for level in range(10)]
    cells[9] = job("gap", 9, 0)
    groups = summarise_levels(cells)
    assert groups["easy"].rate == 1.0
    assert groups["easy"].rollouts == 4 * 64
    assert groups["medium"].rate == 0.5
    assert groups["hard"].rate == pytest.approx(1 / 3)
    assert groups["top/gap"].rate == 0.0


def test_part_of_the_levels_gives_part_of_the_groups():
    assert list(summarise_levels([job("gap", 2, 1)])) == ["easy"]


def test_differences_are_taken_seed_by_seed():
    def side(*rates: float):
        return [{"hard": success_rate(round(10 * rate), 10)} for rate in rates]

    row = paired_difference(side(0.5, 0.7, 0.9), side(0.6, 0.8, 1.0))["hard"]
    # The sets overlap widely; every seed gained exactly ten points.
    assert row.difference.mean == pytest.approx(10.0)
    assert row.difference.std == pytest.approx(0.0, abs=1e-9)
    assert row.first.mean == pytest.approx(70.0)
    assert row.second.std == pytest.approx(20.0)
    with pytest.raises(ValueError, match="no pairs"):
        paired_difference(side(0.5), side(0.5, 0.6))


def test_levels_protocol_is_the_papers():
    assert len(LEVELS.cells) == 17 * 10
    assert LEVELS.rollouts == 64
    assert LEVELS.difficulties[0] == 0.0
    assert LEVELS.difficulties[-1] == 1.0
