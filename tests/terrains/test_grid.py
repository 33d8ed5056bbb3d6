"""Height lookup and the physical surface, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from solo.terrains.grid import HeightGrid


def make_strip(*units: int) -> HeightGrid:
    """A grid that varies along x only, two cells wide along y."""
    return HeightGrid(np.array([[u, u] for u in units]), corner_xy_m=(0.0, 0.0))


def test_height_is_that_of_the_cell_which_contains_the_point() -> None:
    grid = make_strip(0, 10, 20)
    x = np.array([0.001, 0.049, 0.051, 0.099, 0.101])
    heights = grid.height_at(x, np.full(5, 0.02))
    np.testing.assert_allclose(heights, [0.0, 0.0, 0.05, 0.05, 0.10])


def test_points_outside_read_the_nearest_border_cell() -> None:
    grid = HeightGrid(np.array([[1, 2], [3, 4]]), corner_xy_m=(-0.05, -0.05))
    x, y = np.array([-9.0, -9.0, 9.0, 9.0]), np.array([-9.0, 9.0, -9.0, 9.0])
    np.testing.assert_allclose(grid.height_at(x, y), [0.005, 0.010, 0.015, 0.020])
    np.testing.assert_allclose(
        grid.surface_at(x, y), grid.surface_vertices()[[0, 0, -1, -1], [0, -1, 0, -1]]
    )


def test_ramp_below_the_slope_threshold_is_linear() -> None:
    # 4 units = 0.02 m per cell of 0.05 m is a slope of 0.4. Vertices lie a quarter of a
    # cell from the centres, so inside they rise by half of 0.02 m each.
    vertices = make_strip(0, 4, 8).surface_vertices()
    expected = [0.0, 0.005, 0.015, 0.025, 0.035, 0.040]
    np.testing.assert_allclose(vertices[:, 0], expected, atol=1e-7)
    np.testing.assert_allclose(vertices, vertices[:, :1].repeat(4, axis=1))


def test_threshold_lies_between_seven_and_eight_units() -> None:
    # 0.75 * 0.05 m = 0.0375 m = 7.5 units.
    joined = make_strip(0, 7).surface_vertices()[:, 0]
    np.testing.assert_allclose(joined, [0.0, 0.00875, 0.02625, 0.035], atol=1e-7)
    riser = make_strip(0, 8).surface_vertices()[:, 0]
    np.testing.assert_allclose(riser, [0.0, 0.0, 0.04, 0.04], atol=1e-7)


def test_riser_spans_half_a_cell_around_the_boundary() -> None:
    grid = make_strip(0, 40)  # A step of 0.2 m at x = 0.05.
    x = np.array([0.0, 0.0374, 0.0375, 0.05, 0.0625, 0.0626, 0.1])
    surface = grid.surface_at(x, np.full(7, 0.05))
    np.testing.assert_allclose(surface, [0, 0, 0, 0.1, 0.2, 0.2, 0.2], atol=1e-6)


def test_rule_applies_along_both_axes() -> None:
    # Along x the cells rise by 4 units (linear), along y by 40 (riser).
    grid = HeightGrid(np.array([[0, 40], [4, 44]]), corner_xy_m=(0.0, 0.0))
    column = np.array([0.0, 0.005, 0.015, 0.020])
    expected = np.stack([column, column, column + 0.2, column + 0.2], axis=1)
    np.testing.assert_allclose(grid.surface_vertices(), expected, atol=1e-6)


def test_surface_equals_height_where_cells_are_level() -> None:
    grid = HeightGrid(np.full((6, 8), 13), corner_xy_m=(-0.15, -0.2))
    x, y = np.meshgrid(np.linspace(-0.2, 0.2, 9), np.linspace(-0.3, 0.3, 9))
    np.testing.assert_allclose(grid.surface_at(x, y), 0.065, atol=1e-7)
    np.testing.assert_allclose(grid.height_at(x, y), 0.065)


def test_crop_stays_at_its_place_in_the_world() -> None:
    units = np.arange(48).reshape(6, 8)
    grid = HeightGrid(units, corner_xy_m=(-1.0, 2.0))
    part = grid.crop(slice(2, 5), slice(1, 4))
    np.testing.assert_allclose(part.corner_xy_m, (-0.9, 2.05))
    assert part.height_at(-0.88, 2.06) == grid.height_at(-0.88, 2.06)


def test_units_are_a_read_only_copy() -> None:
    units = np.zeros((2, 2), dtype=np.int16)
    grid = HeightGrid(units, corner_xy_m=(0.0, 0.0))
    units[0, 0] = 5
    assert grid.units[0, 0] == 0
    with pytest.raises(ValueError, match="read-only"):
        grid.units[0, 0] = 1
    with pytest.raises(ValueError, match="not int16"):
        HeightGrid(np.array([[40000]]), corner_xy_m=(0.0, 0.0))
