"""Protocols, starts and the terrain of evaluations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solo.errors import SoloError
from solo.evaluation.protocols import EXTENT, STRESS
from solo.terrains import VARIANTS, TerrainSceneCfg, build_scene
from solo.terrains.variants import EVALUATION_VARIANTS


def test_stress_is_the_papers():
    assert len(STRESS.cells) == 8
    assert {cell.difficulty for cell in STRESS.cells} == {0.99}
    assert STRESS.rollouts == 100
    assert STRESS.forward_m_s == (0.4, 1.0)
    assert (STRESS.limits.pass_m, STRESS.limits.time_s) == (5.0, 30.0)


def test_extent_has_both_scenes_at_every_difficulty():
    assert {cell.patch_m for cell in EXTENT.cells} == {8.0, 10.0}
    assert len({cell.name for cell in EXTENT.cells}) == 2 * len(EXTENT.difficulties)


def test_a_start_depends_on_seed_terrain_and_index_alone():
    cell = STRESS.cells[0]
    first = STRESS.draw_start(cell, 7, 25)
    more = replace(STRESS, rollouts=3, terrains=("gap",), difficulties=(0.3,))
    again = more.draw_start(more.cells[0], 7, 25)
    np.testing.assert_array_equal(first.offset_m, again.offset_m)
    np.testing.assert_array_equal(first.joint_scale, again.joint_scale)
    assert first.forward_m_s == again.forward_m_s
    for other in (
        STRESS.draw_start(cell, 8, 25),
        replace(STRESS, seed=1).draw_start(cell, 7, 25),
        STRESS.draw_start(STRESS.cells[1], 7, 25),
    ):
        assert other.forward_m_s != first.forward_m_s


def test_starts_are_within_the_protocols_ranges():
    starts = STRESS.starts(STRESS.cells[0], 25)
    commands = [start.forward_m_s for start in starts]
    assert min(commands) >= 0.4
    assert max(commands) <= 1.0
    assert max(commands) - min(commands) > 0.5
    assert all((start.offset_m == 0.0).all() for start in starts)  # The origin.
    spread = replace(STRESS, start=replace(STRESS.start, offset_m=0.5))
    offsets = [s.offset_m for s in spread.starts(spread.cells[0], 25)]
    assert 0.3 < np.abs(offsets).max() <= 0.5
    assert {start.patch for start in starts} == set(range(10))


def test_high_plane_has_two_platforms_on_the_way():
    scene = build_scene(
        TerrainSceneCfg(("high_plane",), num_levels=2, difficulty=0.99, border_m=4.0)
    )
    x0, y0, _ = scene.origins_m[0, 0]
    for side in (-3.9, 0.0, 3.9):
        x = x0 + np.arange(0.0, 5.0, 0.01) + 1e-4
        height = scene.grid.height_at(x, np.full_like(x, y0 + side))
        rises = np.flatnonzero(np.diff(height) > 0)
        assert len(rises) == 2
        np.testing.assert_allclose(np.unique(height), [0.0, 0.35])


def test_evaluation_terrain_is_not_in_the_training_set():
    assert not set(EVALUATION_VARIANTS) & set(VARIANTS)
    assert "high_plane" not in TerrainSceneCfg().variants


def test_protocols_refuse_nonsense():
    with pytest.raises(SoloError, match="Unknown terrain"):
        replace(STRESS, terrains=("lava",))
    with pytest.raises(SoloError, match=r"difficulty is 1\.5"):
        replace(STRESS, difficulties=(1.5,))
    with pytest.raises(SoloError, match="a job twice"):
        replace(STRESS, difficulties=(0.5, 0.5001))
    with pytest.raises(SoloError, match="rollouts is 0"):
        replace(STRESS, rollouts=0)
    with pytest.raises(SoloError, match="no job"):
        replace(STRESS, terrains=())
