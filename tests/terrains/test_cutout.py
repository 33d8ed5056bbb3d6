"""Cutouts: the same ground at the same place, in the colours of what it is made of."""

from __future__ import annotations

import numpy as np
import pytest

from solo.pictures.terrain_mesh import make_terrain_meshes
from solo.terrains.grid import HeightGrid
from solo.terrains.patch import CELL_M
from solo.terrains.scene import TerrainSceneCfg
from solo.terrains.strips.segments import Gap, Rough, Stairs
from solo.terrains.strips.strip import Cutout, StripSceneCfg, cut_out, make_strip
from solo.terrains.variants import FAMILY_RGB

PATCHES = TerrainSceneCfg(("stairs_up_25",), num_levels=2, difficulty=0.5).build()
STRIP = make_strip(
    (Stairs(0.15, 0.30, 4, "stairs"), Gap(0.5, name="gap"), Rough(3.0, 0.08, 0.5)),
    approach_m=1.5,
    run_out_m=1.0,
    before_m=1.5,
    after_m=2.0,
)
STRIPS = StripSceneCfg(strips=(STRIP, STRIP)).build()


@pytest.mark.parametrize("scene", [PATCHES, STRIPS])
def test_the_ground_is_the_scenes_own(scene):
    places = scene.origins_m[1, 0, :2] + np.array([[0.0, 0.0], [1.3, -0.4]])
    cut = cut_out(scene, 1, places, 2.0)
    assert cut.grid.size_m == pytest.approx((5.3 + CELL_M, 4.4 + CELL_M), abs=CELL_M)
    rng = np.random.default_rng(0)
    x, y = rng.uniform(places.min(axis=0) - 1.9, places.max(axis=0) + 1.9, (500, 2)).T
    np.testing.assert_array_equal(cut.grid.height_at(x, y), scene.grid.height_at(x, y))
    np.testing.assert_allclose(
        cut.grid.surface_at(x, y), scene.grid.surface_at(x, y), atol=1e-6
    )


def test_rows_have_the_family_of_what_lies_there():
    origin = STRIPS.origins_m[1, 0, :2]
    cut = cut_out(STRIPS, 1, origin[None] + [[2.0, 0.0]], 4.0)
    # From the start line: 1.5 m flat, 1.2 m of stairs, 0.5 m of gap, rough ground.
    expected = {-0.5: "flat", 1.4: "flat", 1.6: "stairs", 2.6: "stairs"}
    expected |= {2.8: "gap", 3.1: "gap", 3.3: "rough", 5.9: "rough"}
    for x_m, family in expected.items():
        row = int((origin[0] + x_m - cut.grid.corner_xy_m[0]) / CELL_M)
        assert cut.families[row] == family, x_m
    assert set(cut_out(PATCHES, 0, origin[None], 1.0).families) == {"stairs"}


def test_it_is_drawn_where_and_as_it_is():
    cut = cut_out(STRIPS, 0, STRIPS.origins_m[0, :, :2] + [[2.0, 0.0]], 3.0)
    meshes = {mesh.rgb: mesh for mesh in make_terrain_meshes(cut.scene())}
    assert set(meshes) == {FAMILY_RGB[f] for f in ("flat", "stairs", "gap", "rough")}
    vertices = np.concatenate([mesh.vertices for mesh in meshes.values()])
    rim = np.array(cut.grid.size_m) - np.ptp(vertices, axis=0)[:2]
    assert (rim > 0).all()
    assert (rim < 2 * CELL_M).all()
    # Away from risers, at which a millimetre decides, the mesh is the surface.
    rough = meshes[FAMILY_RGB["rough"]].vertices
    y0 = STRIPS.origins_m[0, 0, 1]
    inside = rough[
        (rough[:, 0] > rough[:, 0].min() + CELL_M) & (np.abs(rough[:, 1] - y0) < 1.9)
    ]
    assert len(inside) > 100
    heights = cut.grid.surface_at(inside[:, 0], inside[:, 1])
    np.testing.assert_allclose(inside[:, 2], heights, atol=0.005)


def test_whoever_left_the_grid_gets_its_edge():
    far = np.array([[1e6, 0.0]])
    cut = cut_out(PATCHES, 0, far, 2.0)
    assert cut.grid.size_m == pytest.approx((2.0 + CELL_M, 4.0 + CELL_M))
    assert cut.grid.corner_xy_m[0] + cut.grid.size_m[0] == pytest.approx(
        PATCHES.grid.size_m[0] / 2
    )


@pytest.mark.parametrize(
    ("shape", "families", "reason"),
    [
        ((4, 9), ("flat",) * 4, "5 x 5 are needed"),
        ((6, 9), ("flat",) * 5, "5 families for 6 rows"),
        ((6, 9), ("lava",) * 6, "unknown family 'lava'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(shape, families, reason):
    grid = HeightGrid(np.zeros(shape, np.int16), (0.0, 0.0))
    with pytest.raises(ValueError, match=reason):
        Cutout(grid, families)
