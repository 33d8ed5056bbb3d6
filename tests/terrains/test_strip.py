"""Strips: known geometry of segments, the catalogue, and their place in the world."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from solo.errors import SoloError
from solo.terrains.patch import CELL_M, UNIT_M
from solo.terrains.strips.catalogue import COURSE, ISOLATED, get_strip
from solo.terrains.strips.segments import (
    Flat,
    Gap,
    ObstacleGround,
    Platform,
    Rough,
    Segment,
    Slope,
    Stairs,
    Stones,
)
from solo.terrains.strips.strip import StripSceneCfg, make_strip

WIDTH = 80


def heights(segment: Segment, seed: int = 0) -> np.ndarray:
    """In metres, [cells, WIDTH]."""
    units = segment.heights(np.random.default_rng(seed), WIDTH)
    assert units.shape == (segment.cells, WIDTH)
    assert units.dtype == np.int16
    return units * UNIT_M


@pytest.mark.parametrize("sign", [1, -1])
def test_stairs_have_equal_risers_and_treads(sign):
    stairs = Stairs(sign * 0.15, 0.30, 4)
    line = np.concatenate([[0.0], heights(stairs)[:, 7]])
    risers = np.flatnonzero(np.diff(line))
    np.testing.assert_array_equal(risers, [0, 6, 12, 18])
    np.testing.assert_allclose(np.diff(line)[risers], sign * 0.15)
    assert stairs.cells * CELL_M == pytest.approx(1.2)
    assert line[-1] == pytest.approx(sign * 0.60)
    assert stairs.rise_units * UNIT_M == pytest.approx(sign * 0.60)


@pytest.mark.parametrize("degrees", [20.0, -20.0])
def test_a_slope_of_20_degrees_rises_by_its_tangent(degrees):
    slope = Slope(degrees, 3.0)
    rise = math.tan(math.radians(degrees))
    assert slope.rise_units * UNIT_M == pytest.approx(3.0 * rise, abs=UNIT_M / 2)
    centres = (np.arange(60) + 0.5) * CELL_M
    np.testing.assert_allclose(
        heights(slope)[:, 0], rise * centres, atol=UNIT_M / 2 + 1e-9
    )


def test_a_platform_goes_up_and_down_again():
    platform = Platform(0.40, 1.5)
    np.testing.assert_allclose(heights(platform), 0.40)
    assert platform.cells == 30
    assert platform.rise_units == 0


def test_a_gap_is_as_deep_as_the_hardest_of_training():
    gap = Gap(0.50)
    assert gap.cells * CELL_M == pytest.approx(0.50)
    np.testing.assert_allclose(heights(gap), -1.0)


@pytest.mark.parametrize(("side_m", "count"), [(0.20, 5), (0.30, 4)])
def test_stones_are_square_with_a_row_on_the_centre_line(side_m, count):
    stones = Stones(side_m, 0.25, count)
    cells = heights(stones)
    is_stone = cells == 0.0
    side = round(side_m / CELL_M)
    for line in (is_stone[:, WIDTH // 2], is_stone[:, WIDTH // 2 - 1]):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], line, [False]])))
        first = 5 + (side + 5) * np.arange(count)
        np.testing.assert_array_equal(edges[::2], first)
        np.testing.assert_array_equal(edges[1::2], first + side)
    across = np.flatnonzero(np.diff(is_stone[6].astype(int)))
    assert set(np.diff(across).tolist()) == {side, 5}
    np.testing.assert_allclose(cells[~is_stone], -1.0)


def test_stones_differ_in_height_stone_by_stone():
    stones = Stones(0.20, 0.20, 6, jitter_m=0.02)
    cells = heights(stones)
    tops = cells[4:8, 38:42]
    assert len(np.unique(tops)) == 1
    of_all = np.unique(cells[cells > -0.5])
    assert len(of_all) > 3
    assert np.abs(of_all).max() <= 0.02 + 1e-9
    assert not np.array_equal(cells, heights(stones, seed=1))
    np.testing.assert_array_equal(cells, heights(stones, seed=0))


@pytest.mark.parametrize("spacing_m", [0.15, 0.50])
def test_rough_ground_begins_and_ends_level(spacing_m):
    rough = Rough(4.0, 0.08, spacing_m)
    cells = heights(rough)
    np.testing.assert_array_equal(cells[0], 0.0)
    assert 0.04 < np.abs(cells).max() <= 0.08
    step = 2 * 0.08 * CELL_M / spacing_m + 2 * UNIT_M
    assert np.abs(cells[-1]).max() <= step
    assert np.abs(np.diff(cells, axis=0)).max() <= step
    assert np.abs(np.diff(cells, axis=1)).max() <= step


@pytest.mark.parametrize(
    ("segment", "easier"),
    [
        (Stairs(0.16, 0.30, 4), Stairs(0.08, 0.30, 4)),
        (Platform(0.40, 1.5), Platform(0.20, 1.5)),
        (Gap(0.50), Gap(0.25, 0.5)),
        (Stones(0.2, 0.2, 5, 0.02), Stones(0.2, 0.1, 5, 0.01, 0.5)),
        (Rough(4.0, 0.08, 0.5), Rough(4.0, 0.04, 0.5)),
        (Flat(2.0), Flat(2.0)),
    ],
)
def test_half_the_difficulty(segment, easier):
    assert segment.scaled(0.5) == easier
    assert segment.scaled(1.0) == segment


def test_half_a_slope_has_half_the_rise():
    assert Slope(20.0, 4.0).scaled(0.5).rise_units == pytest.approx(
        Slope(20.0, 4.0).rise_units / 2, abs=1
    )


def test_the_isolated_terrains_are_the_papers():
    assert list(ISOLATED) == [
        "stairs_up",
        "stairs_down",
        "slope",
        "platform",
        "gap",
        "movable_obstacle",
        "stones",
    ]
    assert ISOLATED["slope"][0] == Slope(20.0, 3.0, "slope_up")
    assert ISOLATED["platform"] == (Platform(0.40, 1.5, "platform"),)
    assert ISOLATED["gap"][0].cells * CELL_M == pytest.approx(0.50)


def test_the_course_has_its_elements_in_order():
    course = get_strip("course")
    assert [element.name for element in course.elements] == [
        "stairs_up",
        "stones_20",
        "stones_30",
        "gap",
        "stairs_down",
        "movable_obstacle",
    ]
    assert [segment.name for segment in COURSE if segment.name] == [
        element.name for element in course.elements
    ]
    places = [(e.begin_m, e.end_m) for e in course.elements]
    # Steps of 0.3 m; stones of 0.2 and 0.3 m every 0.2 m; a metre between elements.
    assert places == [
        (1.5, 2.7),
        (3.7, 5.9),
        (6.9, 9.6),
        (10.6, 11.05),
        (12.05, 13.25),
        (14.25, 16.25),
    ]
    assert course.finish_m == 17.25
    assert course.obstacle_at_m == 15.25
    line = course.build(WIDTH)[:, WIDTH // 2] * UNIT_M
    x = (np.arange(len(line)) + 0.5) * CELL_M - course.start_m
    assert np.unique(line[(x > -1.5) & (x < 1.5)]).tolist() == [0.0]
    deck = line[(x > 9.6) & (x < 10.6)]
    np.testing.assert_allclose(deck, 0.60)
    np.testing.assert_allclose(line[(x > 10.6) & (x < 11.05)], -0.40)
    np.testing.assert_allclose(line[(x > 13.25)], 0.0)


def test_an_easier_course_keeps_its_finish_behind_the_last_element():
    course = get_strip("course", 0.5)
    assert course.finish_m == pytest.approx(course.elements[-1].end_m + 1.0)
    assert course.elements[0].begin_m == 1.5
    assert course.finish_m < get_strip("course").finish_m


def test_an_unknown_strip_is_told():
    with pytest.raises(SoloError, match="Unknown strip 'lava'"):
        get_strip("lava")


def test_strips_lie_side_by_side_with_the_lowest_level_at_0():
    pads: Any = {"approach_m": 1.0, "run_out_m": 0.5, "before_m": 1.0, "after_m": 1.0}
    down = make_strip((Stairs(-0.10, 0.30, 3, "down"),), **pads)
    long = make_strip((Platform(0.2, 3.0),), **pads)
    scene = StripSceneCfg(strips=(down, long), patch_m=4.0, border_m=2.0).build()
    grid = scene.grid
    # 1 + 1 + 3 + 0.5 + 1 m and two strips of 4 m, with the border around.
    assert grid.size_m == pytest.approx((6.5 + 4.0, 8.0 + 4.0))
    (x0, y0, z0), (x1, y1, z1) = scene.origins_m[:, 0]
    assert (x0, x1) == pytest.approx((-5.25 + 2.0 + 1.0,) * 2)
    assert (y0, y1) == pytest.approx((-2.0, 2.0))
    assert (z0, z1) == pytest.approx((0.30, 0.0))
    assert grid.height_at(x0 + 0.5, y0 - 1.9) == pytest.approx(0.30)
    assert grid.height_at(x0 + down.finish_m, y0) == pytest.approx(0.0)
    # The level of the end goes on to the end of the longest.
    assert grid.height_at(x0 + 5.4, y0) == pytest.approx(0.0)
    assert grid.height_at(x1 + 2.0, y1 + 1.9) == pytest.approx(0.20)
    assert grid.height_at(x0 - 1.5, y0) == pytest.approx(0.0)  # Border.
    block = grid.units[scene.patch_cells(1, 0)]
    np.testing.assert_array_equal(block, long.build(80))


def test_the_picture_on_the_ground_has_the_colours_of_the_segments():
    from solo.terrains.variants import FAMILY_RGB

    scene = StripSceneCfg(strips=(get_strip("gap"),)).build()
    image = scene.colours()
    cells = scene.patch_cells(0, 0)[0]
    assert image.shape[1] == -(-(cells.stop - cells.start) // 2)
    at_gap = image[0, round((1.5 + 1.75) / CELL_M / 2)]
    np.testing.assert_allclose(at_gap, FAMILY_RGB["gap"])


def test_a_scene_needs_a_strip():
    with pytest.raises(ValueError, match="num_levels=0"):
        StripSceneCfg(strips=())


def test_the_obstacle_is_in_the_middle_of_its_ground():
    strip = make_strip(
        (ObstacleGround(2.0),), approach_m=1.0, run_out_m=1.0, before_m=1.0, after_m=1.0
    )
    assert strip.obstacle_at_m == 2.0
    assert get_strip("gap").obstacle_at_m is None


def test_a_profile_is_drawn(tmp_path):
    from matplotlib.image import imread

    from solo.pictures.terrains import draw_strips

    path = tmp_path / "course.png"
    draw_strips({"course": get_strip("course")}, path)
    image = imread(path)
    assert image.shape[1] > 1000
    assert len(np.unique(image.reshape(-1, image.shape[2]), axis=0)) > 20
