"""Variants, layout and independence of the patches in a scene."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from solo.errors import SoloError
from solo.terrains import VARIANTS, TerrainSceneCfg, build_scene, get_variant
from solo.terrains.scene import TerrainScene
from solo.terrains.variants import FAMILY_RGB


@pytest.fixture(scope="module")
def paper_scene() -> TerrainScene:
    return build_scene(TerrainSceneCfg())


def test_there_are_the_papers_17_variants() -> None:
    assert list(VARIANTS) == [
        "flat",
        "stairs_up_25",
        "stairs_up_30",
        "stairs_up_35",
        "stairs_down_25",
        "stairs_down_30",
        "stairs_down_35",
        "slope_up",
        "slope_down",
        "boxes",
        "pits",
        "random_grid",
        "rough_coarse",
        "rough_fine",
        "gap",
        "stones_aligned",
        "stones_staggered",
    ]


def test_family_shares_are_those_of_the_papers_table() -> None:
    counts = Counter(variant.family for variant in VARIANTS.values())
    shares = {family: round(100 * n / 17, 1) for family, n in counts.items()}
    assert shares == {
        "flat": 5.9,
        "stairs": 35.3,
        "slopes": 11.8,
        "boxes": 11.8,
        "random grid": 5.9,
        "rough": 11.8,
        "gap": 5.9,
        "stones": 11.8,
    }
    assert set(shares) == set(FAMILY_RGB)


def test_descriptions_give_the_curriculum_ranges() -> None:
    assert (
        get_variant("stairs_up_30").description
        == "step height 0.00 -> 0.25 m, tread 0.30 m, platform 2.50 m"
    )
    assert get_variant("gap").describe_at(0.5) == (
        "gap width 0.3 m, depth 0.55 m, platform 2.5 m"
    )


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(SoloError, match=r"'stair'.*stairs_up_25.*solo terrains list"):
        get_variant("stair")


def test_default_scene_has_the_papers_size(paper_scene: TerrainScene) -> None:
    # 10 * 160 + 2 * 400 and 17 * 160 + 2 * 400 cells.
    assert paper_scene.grid.units.shape == (2400, 3520)
    assert paper_scene.grid.corner_xy_m == (-60.0, -88.0)
    assert paper_scene.origins_m.shape == (10, 17, 3)
    np.testing.assert_allclose(paper_scene.difficulties, np.arange(10) / 9)


def test_border_is_at_zero(paper_scene: TerrainScene) -> None:
    is_border = np.ones(paper_scene.grid.units.shape, dtype=bool)
    is_border[400:-400, 400:-400] = False
    assert (paper_scene.grid.units[is_border] == 0).all()


def test_origins_are_patch_centres_at_ground_height(paper_scene: TerrainScene) -> None:
    origins = paper_scene.origins_m
    np.testing.assert_allclose(origins[0, 0], [-36.0, -64.0, 0.0])
    np.testing.assert_allclose(origins[9, 16, :2], [36.0, 64.0])
    # Level 9 of stairs_up_25 is a pit of 11 steps of 0.25 m.
    np.testing.assert_allclose(origins[9, 1], [36.0, -56.0, -2.75])
    heights = paper_scene.grid.height_at(origins[..., 0], origins[..., 1])
    np.testing.assert_allclose(heights, origins[..., 2])


def test_levels_run_along_x_and_variants_along_y() -> None:
    scene = build_scene(TerrainSceneCfg(("flat", "boxes"), num_levels=3, border_m=1.0))
    platform_m = scene.grid.height_at([-8.0, 0.0, 8.0], [4.0, 4.0, 4.0])
    np.testing.assert_allclose(platform_m, [0.0, 0.4, 0.8])
    np.testing.assert_allclose(scene.grid.height_at([-8.0, 0.0, 8.0], [-4.0] * 3), 0.0)


def test_patch_cells_index_the_patch_of_an_origin() -> None:
    scene = build_scene(TerrainSceneCfg(("flat", "pits"), num_levels=2, border_m=1.0))
    hardest = scene.grid.units[scene.patch_cells(1, 1)]
    assert hardest.shape == (160, 160)
    assert hardest[80, 80] == -160
    assert (hardest[0] == 0).all()


def test_patch_does_not_depend_on_the_other_patches() -> None:
    alone = build_scene(TerrainSceneCfg(("rough_fine",), num_levels=2, border_m=1.0))
    among = build_scene(
        TerrainSceneCfg(("random_grid", "rough_fine"), num_levels=4, border_m=2.0)
    )
    for level in range(2):
        np.testing.assert_array_equal(
            alone.grid.units[alone.patch_cells(level, 0)],
            among.grid.units[among.patch_cells(level, 1)],
        )


def test_seed_and_level_change_the_random_patches() -> None:
    first, second = (
        build_scene(TerrainSceneCfg(("rough_fine",), 2, border_m=1.0, seed=seed))
        for seed in (0, 1)
    )
    easy, hard = (first.grid.units[first.patch_cells(level, 0)] for level in (0, 1))
    assert not np.array_equal(easy, hard)
    assert not np.array_equal(first.grid.units, second.grid.units)


def test_one_difficulty_can_hold_for_all_levels() -> None:
    scene = build_scene(
        TerrainSceneCfg(("gap",), num_levels=3, border_m=1.0, difficulty=0.5)
    )
    np.testing.assert_allclose(scene.difficulties, 0.5)
    deepest = [scene.grid.units[scene.patch_cells(k, 0)].min() for k in range(3)]
    assert deepest == [-110, -110, -110]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"variants": ()}, "no variants"),
        ({"variants": ("flat", "flat")}, "twice"),
        ({"num_levels": 0}, "num_levels=0"),
        ({"patch_m": 2.0}, "2.0 m"),
        ({"patch_m": 8.01}, "8.01 m"),
        ({"border_m": 0.0}, "border is 0.0 m"),
        ({"difficulty": 1.5}, "difficulty is 1.5"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_impossible_scenes_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TerrainSceneCfg(**arguments)


def test_scene_with_unknown_variant_is_refused() -> None:
    with pytest.raises(SoloError, match="Unknown terrain 'lava'"):
        TerrainSceneCfg(variants=("flat", "lava"))
