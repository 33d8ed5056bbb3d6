"""Isolated terrains and the course: protocols, steering, progress over elements."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from solo.errors import SoloError
from solo.evaluation.mdp import steer
from solo.evaluation.strips import COURSE, ISOLATED, count_progress, element_at
from solo.results import Outcome, Rollout
from solo.terrains.strips.strip import Element

ELEMENTS = (Element("stairs", 1.0, 2.0), Element("gap", 3.0, 3.5))


def steered(lateral_m: float, heading_deg: float):
    speed, heading = steer(
        torch.tensor([lateral_m]),
        torch.tensor([math.radians(heading_deg)]),
        torch.tensor([0.8]),
    )
    return speed.item(), math.degrees(heading.item())


def test_on_the_line_the_command_is_straight_ahead():
    assert steered(0.0, 0.0) == pytest.approx((0.8, 0.0), abs=1e-6)


@pytest.mark.parametrize(
    ("lateral_m", "expected_deg"), [(2.0, -45.0), (-2.0, 45.0), (100.0, -88.9)]
)
def test_off_the_line_the_robot_is_sent_back_to_it(lateral_m, expected_deg):
    _, heading = steered(lateral_m, 0.0)
    assert heading == pytest.approx(expected_deg, abs=0.1)


@pytest.mark.parametrize(
    ("heading_deg", "share"), [(60.0, 0.5), (-60.0, 0.5), (90.0, 0.0), (180.0, 0.0)]
)
def test_sharp_turns_are_made_slowly(heading_deg, share):
    speed, heading = steered(0.0, heading_deg)
    assert heading == 0.0
    assert speed == pytest.approx(0.8 * share, abs=1e-6)


def test_a_robot_that_obeys_comes_back_to_the_line():
    x, y, heading = 0.0, 1.0, math.radians(40.0)
    for _ in range(800):
        speed, wanted = steered(y, math.degrees(heading))
        heading += 0.02 * 0.5 * (math.radians(wanted) - heading)
        x += 0.02 * speed * math.cos(heading)
        y += 0.02 * speed * math.sin(heading)
    assert abs(y) < 0.1
    assert abs(heading) < 0.1
    assert x > 9.0


def test_a_place_is_named_by_its_element():
    names = [element_at(ELEMENTS, x) for x in (0.5, 1.0, 2.0, 2.5, 3.2, 4.0)]
    assert names == [
        "before stairs",
        "stairs",
        "stairs",
        "before gap",
        "gap",
        "after gap",
    ]


def test_progress_counts_who_reached_and_who_passed():
    rollouts = [
        Rollout(i, Outcome.FALL, 9, x, 0.0, 0.5, 0, {})
        for i, x in enumerate((0.9, 1.5, 2.0, 2.1, 3.2, 3.6))
    ]
    stairs, gap = count_progress(ELEMENTS, rollouts)
    assert (stairs.reached, stairs.passed) == (5, 3)
    assert (gap.reached, gap.passed) == (2, 1)


def test_isolated_is_the_papers():
    assert len(ISOLATED.cells) == 7
    assert ISOLATED.rollouts == 10
    assert ISOLATED.difficulties == (1.0,)
    gap = next(cell for cell in ISOLATED.cells if cell.terrain == "gap")
    assert gap.finish_m == 3.0
    assert gap.time_s == pytest.approx(2 * 3.0 / 0.4)
    assert gap.name == "gap-1.000"


def test_trials_on_random_strips_differ():
    scene = ISOLATED.scene(ISOLATED.cells[-1])
    assert len(scene.strips) == 10
    first, second = scene.strips[0].build(80), scene.strips[1].build(80)
    assert (first != second).any()
    assert (first == ISOLATED.scene(ISOLATED.cells[-1]).strips[0].build(80)).all()
    other = replace(ISOLATED, seed=1)
    assert (first != other.scene(other.cells[-1]).strips[0].build(80)).any()


def test_the_course_is_one_strip():
    (cell,) = COURSE.cells
    assert cell.finish_m == 17.25
    assert COURSE.scene(cell).strips[0].obstacle_at_m == 15.25


def test_protocols_refuse_unknown_strips():
    with pytest.raises(SoloError, match="Unknown strip 'lava'"):
        replace(ISOLATED, terrains=("lava",))
