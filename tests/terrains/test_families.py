"""Geometry of each family, measured from the grid at difficulty 0.99 and 1."""

from __future__ import annotations

import numpy as np
import pytest

from solo.terrains.patch import CELL_M, UNIT_M
from solo.terrains.variants import VARIANTS

RANDOM = {"random_grid", "rough_coarse", "rough_fine", "stones_staggered"}


def make_patch(
    name: str, difficulty: float = 0.99, size_m: float = 8.0, seed: int = 0
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return VARIANTS[name].function(difficulty, rng, size_m)


def profile(patch: np.ndarray) -> np.ndarray:
    """Units along +x from the centre to the rim."""
    half = len(patch) // 2
    return patch[half:, half].astype(int)


def runs(values: np.ndarray) -> list[tuple[int, int]]:
    """(value, length in cells) of each stretch of equal values."""
    starts = np.flatnonzero(np.diff(values, prepend=values[0] - 1))
    lengths = np.diff(np.append(starts, len(values)))
    return [(int(values[s]), int(n)) for s, n in zip(starts, lengths, strict=True)]


@pytest.mark.parametrize(
    ("tread_cm", "size_m", "num_steps"),
    # (8 - 2.5) / 2 = 2.75 m holds 11.0, 9.2 and 7.9 treads, and 3.75 m holds 15.0,
    # 12.5 and 10.7.
    [
        (25, 8.0, 11),
        (30, 8.0, 9),
        (35, 8.0, 7),
        (25, 10.0, 15),
        (30, 10.0, 12),
        (35, 10.0, 10),
    ],
)
@pytest.mark.parametrize(("direction", "sign"), [("up", 1), ("down", -1)])
def test_stairs_have_equal_risers_and_treads(
    direction: str, sign: int, tread_cm: int, size_m: float, num_steps: int
) -> None:
    patch = make_patch(f"stairs_{direction}_{tread_cm}", size_m=size_m)
    stretches = runs(profile(patch))
    heights = [value for value, _ in stretches]
    # 0.99 * 0.25 m = 49.5 units, rounded once to 50 = 0.25 m.
    assert set(np.diff(heights)) == {sign * 50}
    assert len(heights) - 1 == num_steps
    assert heights[0] == -sign * num_steps * 50
    assert heights[-1] == 0
    assert stretches[0][1] == 25  # Half of the 2.5 m platform.
    assert {length * 5 for _, length in stretches[1:-1]} == {tread_cm}


@pytest.mark.parametrize("name", [n for n in VARIANTS if n not in RANDOM])
def test_patch_is_the_same_towards_minus_y_and_plus_y(name: str) -> None:
    patch = make_patch(name)
    np.testing.assert_array_equal(patch, patch[:, ::-1])


@pytest.mark.parametrize(("name", "sign"), [("slope_up", 1), ("slope_down", -1)])
@pytest.mark.parametrize("size_m", [8.0, 10.0])
def test_slopes_rise_evenly(name: str, sign: int, size_m: float) -> None:
    run_m = (size_m - 2.5) / 2
    height_m = sign * profile(make_patch(name, size_m=size_m)) * UNIT_M
    np.testing.assert_allclose(height_m[:25], -0.495 * run_m, atol=UNIT_M / 2 + 1e-9)
    centre_m = (np.arange(round(run_m / CELL_M)) + 0.5) * CELL_M
    expected = 0.495 * (centre_m - run_m)
    np.testing.assert_allclose(height_m[25:], expected, atol=UNIT_M / 2 + 1e-9)


@pytest.mark.parametrize(("name", "sign"), [("boxes", 1), ("pits", -1)])
def test_boxes_and_pits_have_two_equal_obstacles(name: str, sign: int) -> None:
    # 0.99 * 0.40 m = 79.2 units. The ledge is 0.6 * 55 = 33 cells wide.
    stretches = runs(profile(make_patch(name)))
    assert stretches == [(sign * 158, 25), (sign * 79, 33), (0, 22)]


def test_random_grid_has_blocks_of_45_cm_within_the_range() -> None:
    # 0.99 * 0.20 m = 39.6 units, rounded to 40. 17 blocks of 9 cells leave 3 + 4 cells.
    patch = make_patch("random_grid")
    assert np.abs(patch).max() <= 40
    assert patch.min() < -30
    blocks = patch[3:156, 3:156].reshape(17, 9, 17, 9).transpose(0, 2, 1, 3)
    is_level = np.ptp(blocks, axis=(2, 3)) == 0
    # The platform covers cells 55 to 104: blocks 5 to 11, the outer ones in part.
    is_level[5:12, 5:12] = True
    assert is_level.all()
    assert len(np.unique(blocks[:, :, 0, 0])) > 40
    assert (patch[55:105, 55:105] == 40).all()
    outside = np.ones_like(patch, dtype=bool)
    outside[3:156, 3:156] = False
    assert (patch[outside] == 0).all()


@pytest.mark.parametrize(
    ("name", "step_units", "spacing_cells"),
    [("rough_coarse", 10, 10), ("rough_fine", 4, 4)],
)
def test_rough_is_quantised_on_its_lattice_and_linear_between(
    name: str, step_units: int, spacing_cells: int
) -> None:
    patch = make_patch(name).astype(int)
    assert (patch.min(), patch.max()) == (-20, 20)
    lattice = patch[::spacing_cells, ::spacing_cells]  # Passes through cell 80.
    assert (lattice % step_units == 0).all()
    assert set(np.unique(lattice)) == set(range(-20, 21, step_units))
    half = spacing_cells // 2
    between = patch[half::spacing_cells, ::spacing_cells][: len(lattice) - 1]
    mean = (lattice[:-1] + lattice[1:]) / 2
    assert np.abs(between - mean).max() <= 0.5
    pad = patch[70:90, 70:90]
    assert (pad == lattice[80 // spacing_cells, 80 // spacing_cells]).all()


def test_rough_does_not_depend_on_the_difficulty() -> None:
    easy, hard = make_patch("rough_fine", 0.0), make_patch("rough_fine", 1.0)
    np.testing.assert_array_equal(easy, hard)


def test_gap_has_its_width_and_depth_all_around() -> None:
    # Width 0.496 m = 9.92 cells, so 10. Depth 0.991 m = 198.2 units, so 198.
    patch = make_patch("gap")
    assert runs(profile(patch)) == [(0, 25), (-198, 10), (0, 45)]
    assert (patch == -198).sum() == 70**2 - 50**2
    np.testing.assert_array_equal(patch, patch.T)


def test_aligned_stones_have_their_width_gap_and_depth() -> None:
    # Stone 0.202 m = 4 cells, gap 0.299 m = 6 cells, depth 0.994 m = 199 units.
    patch = make_patch("stones_aligned")
    stretches = runs(profile(patch))
    assert stretches[:5] == [(0, 25), (-199, 6), (0, 4), (-199, 6), (0, 4)]
    # Across the first column of stones, cells 111 to 114, one is centred on y = 0.
    across = runs(patch[112].astype(int))[1:-1]
    assert set(across) == {(0, 4), (-199, 6)}
    assert (patch[112, 78:82] == 0).all()
    assert (patch[112, [77, 82]] == -199).all()
    assert (patch[55:105, 55:105] == 0).all()


def test_staggered_stones_differ_from_row_to_row_only_by_a_shift() -> None:
    patch = make_patch("stones_staggered").astype(int)
    # Rows of stones begin at cell 78 + 10 k; those beyond the platform are whole.
    rows = [patch[:, first] for first in range(108, 160, 10)]
    starts = set()
    for row in rows:
        assert set(runs(row)[1:-1]) == {(0, 4), (-199, 6)}
        starts.add(int(np.flatnonzero(np.diff(row) > 0)[0]) % 10)
    assert len(starts) > 1
    across = runs(patch[3])
    assert {length for value, length in across[1:-1] if value == 0} == {4}


@pytest.mark.parametrize("name", ["stones_aligned", "stones_staggered"])
def test_no_gap_along_a_row_is_wider_than_its_difficulty_allows(name: str) -> None:
    for difficulty in (0.0, 0.25, 0.5, 0.75, 1.0):
        # 0.20 m + 0.10 m * difficulty in cells: 4, 4.5, 5, 5.5, 6, halves up.
        widest = int(4 + 2 * difficulty + 0.5)
        row = make_patch(name, difficulty)[:, 80].astype(int)
        assert max(length for value, length in runs(row) if value < 0) == widest


@pytest.mark.parametrize(
    "name",
    [
        n
        for n, v in VARIANTS.items()
        if v.family in {"flat", "stairs", "slopes", "boxes", "random grid"}
    ],
)
def test_easiest_level_is_flat(name: str) -> None:
    assert (make_patch(name, 0.0) == 0).all()


def test_end_points_of_the_table_are_reached_exactly() -> None:
    hardest = {name: profile(make_patch(name, 1.0)) for name in VARIANTS}
    assert np.diff(hardest["stairs_up_30"]).max() * UNIT_M == pytest.approx(0.25)
    assert np.diff(hardest["slope_up"])[30] * UNIT_M / CELL_M == pytest.approx(0.50)
    assert hardest["slope_up"][0] * UNIT_M == pytest.approx(-0.5 * 2.75)
    assert hardest["boxes"][0] * UNIT_M == pytest.approx(0.80)
    assert hardest["pits"][0] * UNIT_M == pytest.approx(-0.80)
    assert hardest["random_grid"][0] * UNIT_M == pytest.approx(0.20)
    assert runs(hardest["gap"])[1] == (-200, 10)
    assert runs(hardest["stones_aligned"])[1:3] == [(-200, 6), (0, 4)]
    easiest = {name: profile(make_patch(name, 0.0)) for name in VARIANTS}
    assert runs(easiest["gap"])[1] == (-20, 2)
    assert runs(easiest["stones_aligned"])[1:3] == [(-80, 4), (0, 8)]


@pytest.mark.parametrize("size_m", [8.0, 10.0])
@pytest.mark.parametrize("difficulty", [0.0, 0.5, 0.99])
@pytest.mark.parametrize("name", list(VARIANTS))
def test_start_is_flat_for_a_metre(name: str, difficulty: float, size_m: float) -> None:
    patch = make_patch(name, difficulty, size_m)
    centre = len(patch) // 2
    assert patch.shape == (round(size_m / CELL_M),) * 2
    assert patch.dtype == np.int16
    assert np.ptp(patch[centre - 10 : centre + 10, centre - 10 : centre + 10]) == 0


@pytest.mark.parametrize("name", list(VARIANTS))
def test_same_seed_gives_the_same_patch(name: str) -> None:
    first, again = make_patch(name, seed=3), make_patch(name, seed=3)
    np.testing.assert_array_equal(first, again)
    other = make_patch(name, seed=4)
    assert np.array_equal(first, other) == (name not in RANDOM)


@pytest.mark.parametrize("name", list(VARIANTS))
@pytest.mark.parametrize("difficulty", [-0.01, 1.01, float("nan")])
def test_difficulty_outside_zero_to_one_is_refused(
    name: str, difficulty: float
) -> None:
    with pytest.raises(ValueError, match="allowed are numbers from 0 to 1"):
        make_patch(name, difficulty)


@pytest.mark.parametrize("size_m", [2.5, 8.03, 8.05, float("inf")])
def test_patch_size_must_fit_platform_and_cells(size_m: float) -> None:
    with pytest.raises(ValueError, match="patch size"):
        make_patch("flat", size_m=size_m)
