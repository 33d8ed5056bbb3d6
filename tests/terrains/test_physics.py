"""One grid serves physics, height map and depth: MuJoCo feels what the grid says."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import mujoco
import numpy as np
import pytest

from solo.envs.grid_terrain import (
    GridTerrain,
    GridTerrainCfg,
    add_terrain,
    robot_shares,
)
from solo.errors import SoloError
from solo.sim.height_field.collision import direct_contacts
from solo.terrains import VARIANTS, TerrainSceneCfg, build_scene
from solo.terrains.scene import TerrainScene

RADIUS_M = 0.02


@pytest.fixture(scope="module")
def scene() -> TerrainScene:
    """All variants next to each other at difficulty 0.99."""
    return build_scene(TerrainSceneCfg(num_levels=1, difficulty=0.99, border_m=2.0))


@pytest.fixture(scope="module")
def model(scene: TerrainScene) -> mujoco.MjModel:
    spec = mujoco.MjSpec()
    add_terrain(spec, scene)
    return spec.compile()


def cast_down(model: mujoco.MjModel, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Height of the first thing below each point, nan if there is none."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    direction, geom = np.array([0.0, 0.0, -1.0]), np.zeros(1, dtype=np.int32)
    distances = np.array(
        [
            mujoco.mj_ray(
                model, data, np.array([*xy, 10.0]), direction, None, 1, -1, geom
            )
            for xy in zip(x, y, strict=True)
        ]
    )
    return np.where(distances >= 0, 10.0 - distances, np.nan)


def heights_around(
    scene: TerrainScene, x: np.ndarray, y: np.ndarray, reach: int
) -> np.ndarray:
    """Cell heights in a square around each point, [N, 4 reach + 1, 4 reach + 1].

    Sampled every half cell, so that rounding on a cell boundary skips no cell.
    """
    offset = scene.grid.cell_m / 2 * np.arange(-2 * reach, 2 * reach + 1)
    return scene.grid.height_at(
        x[:, None, None] + offset[None, :, None],
        y[:, None, None] + offset[None, None, :],
    )


def is_away_from_risers(
    scene: TerrainScene, x: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Whether no riser is within 5 cm, by the cells around each point."""
    grid = scene.grid
    around = heights_around(scene, x, y, reach=1)
    steepest = np.maximum(
        np.abs(np.diff(around, axis=1)).max(axis=(1, 2)),
        np.abs(np.diff(around, axis=2)).max(axis=(1, 2)),
    )
    return steepest <= grid.slope_threshold * grid.cell_m


def drop_balls(
    scene: TerrainScene, x: np.ndarray, y: np.ndarray, direct: bool
) -> np.ndarray:
    """Height of the lowest point of each ball after it came to rest.

    Balls move along z only, so that they stay where they were dropped. Their contacts
    are those of the native backend (`direct`) or MuJoCo's own.
    """
    spec = mujoco.MjSpec()
    spec.option.timestep = 0.005
    add_terrain(spec, scene)
    for xy in zip(x, y, strict=True):
        start_m = float(scene.grid.surface_at(*xy)) + 0.03 + RADIUS_M
        ball = spec.worldbody.add_body(pos=[*xy, start_m])
        ball.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 0, 1])
        ball.add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE,
            size=[RADIUS_M, 0, 0],
            contype=2,
            conaffinity=1,
        )
    model = spec.compile()
    data = mujoco.MjData(model)
    contacts: AbstractContextManager[None] = nullcontext()
    if direct:
        contacts = direct_contacts(model, data, mujoco.mjtGeom.mjGEOM_SPHERE)()
    with contacts:
        for _ in range(200):
            mujoco.mj_step(model, data)
    assert np.abs(data.qvel).max() < 0.05
    return data.geom_xpos[-len(x) :, 2] - RADIUS_M


def sample_points(
    scene: TerrainScene, column: int, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Random points of one column, at least 5 cm from its risers."""
    rng = np.random.default_rng([seed, column])
    origin = scene.origins_m[0, column]
    xy = origin[:2] + rng.uniform(-3.95, 3.95, size=(50 * count, 2))
    xy = xy[is_away_from_risers(scene, xy[:, 0], xy[:, 1])][:count]
    assert len(xy) == count
    return xy[:, 0], xy[:, 1]


@pytest.mark.parametrize("direct", [True, False])
def test_balls_rest_on_the_surface_of_every_variant(
    scene: TerrainScene, direct: bool
) -> None:
    points = [sample_points(scene, c, 15, seed=0) for c in range(len(VARIANTS))]
    x, y = (np.concatenate(axis) for axis in zip(*points, strict=True))
    rest_m = drop_balls(scene, x, y, direct)
    np.testing.assert_allclose(rest_m, scene.grid.surface_at(x, y), atol=0.01)
    is_level = np.ptp(heights_around(scene, x, y, reach=1), axis=(1, 2)) == 0
    assert is_level.sum() > 150
    np.testing.assert_allclose(
        rest_m[is_level], scene.grid.height_at(x, y)[is_level], atol=0.005
    )


@pytest.mark.parametrize("direct", [True, False])
def test_balls_between_patches_do_not_fall_through(
    scene: TerrainScene, direct: bool
) -> None:
    # Patches meet at y = -60, -52, ...; the rim of all of them is at x = +-4 and
    # y = +-68, where the border's boxes begin one cell further out.
    rng = np.random.default_rng(0)
    seams = np.arange(-60.0, 61.0, 8.0)
    x = np.concatenate(
        [rng.uniform(-4, 4, 32), [4.0, -4.0, 4.05, -4.05] * 8, [4.05, 4]]
    )
    y = np.concatenate([seams, seams, rng.uniform(-68, 68, 32), [68.05, -68.0]])
    rest_m = drop_balls(scene, x, y, direct)
    around = heights_around(scene, x, y, reach=1)
    assert (rest_m > around.min(axis=(1, 2)) - 0.01).all()
    assert (rest_m < around.max(axis=(1, 2)) + 0.01).all()


@pytest.mark.parametrize("column", range(len(VARIANTS)))
def test_rays_hit_the_surface(
    scene: TerrainScene, model: mujoco.MjModel, column: int
) -> None:
    x, y = sample_points(scene, column, 300, seed=1)
    surface = scene.grid.surface_at(x, y)
    np.testing.assert_allclose(cast_down(model, x, y), surface, atol=0.002)


def test_rays_across_a_riser_see_its_ramp(
    scene: TerrainScene, model: mujoco.MjModel
) -> None:
    # The first riser of stairs_up_25 is 1.25 m from the centre, from -2.75 to -2.50 m.
    origin = scene.origins_m[0, 1]
    x = origin[0] + 1.25 + np.array([-0.02, -0.0125, 0.0, 0.00625, 0.0125, 0.02])
    hits = cast_down(model, x, np.full(6, origin[1]))
    expected = [-2.75, -2.75, -2.625, -2.5625, -2.5, -2.5]
    np.testing.assert_allclose(hits, expected, atol=1e-4)


def test_there_is_ground_everywhere(scene: TerrainScene, model: mujoco.MjModel) -> None:
    rng = np.random.default_rng(2)
    x, y = rng.uniform(-5.99, 5.99, 2000), rng.uniform(-69.99, 69.99, 2000)
    x[:500] = rng.choice([-4.0, -4.05, -4.0625, 4.0, 4.05, 4.0625], 500)
    hits = cast_down(model, x, y)
    around = heights_around(scene, x, y, reach=1)
    assert (hits >= around.min(axis=(1, 2)) - 1e-6).all()
    assert (hits <= around.max(axis=(1, 2)) + 1e-6).all()


def test_all_patches_are_one_height_field(model: mujoco.MjModel) -> None:
    names = [model.geom(i).name for i in range(model.ngeom)]
    assert names == ["terrain", *(f"terrain_border_{k}" for k in range(4))]
    # Two vertices per cell, and three on either side for the first cells of border.
    assert model.hfield_ncol.tolist() == [2 * 160 + 6]
    assert model.hfield_nrow.tolist() == [2 * 160 * len(VARIANTS) + 6]


def test_entity_places_environments_on_all_variants_equally() -> None:
    cfg = GridTerrainCfg(
        scene=TerrainSceneCfg(("flat", "boxes", "gap"), num_levels=2, border_m=1.0),
        num_envs=30,
        debug_vis=True,
    )
    terrain = GridTerrain(cfg, device="cpu")
    assert terrain.variant_names == ("flat", "boxes", "gap")
    assert terrain.terrain_types.bincount().tolist() == [10, 10, 10]
    assert terrain.max_terrain_level == 2
    assert terrain.flat_patches == {}
    origins = terrain.env_origins.numpy()
    heights = terrain.grid.height_at(origins[:, 0], origins[:, 1])
    np.testing.assert_allclose(origins[:, 2], heights, atol=1e-6)
    assert terrain.terrain_origins is not None
    np.testing.assert_allclose(
        terrain.terrain_origins.numpy(), terrain.terrain_scene.origins_m, atol=1e-6
    )
    assert terrain.spec.compile().ngeom == 5  # One height field, four border boxes.


def test_terrains_can_have_more_robots_than_others() -> None:
    np.testing.assert_allclose(
        robot_shares(("flat", "boxes", "gap"), {"gap": 2.0, "flat": 0.5}),
        [1 / 7, 2 / 7, 4 / 7],
    )
    with pytest.raises(SoloError, match="Unknown terrain 'lava'"):
        robot_shares(("flat",), {"lava": 1.0})
    for weight in (0.0, -1.0, float("nan")):
        with pytest.raises(SoloError, match="above 0"):
            robot_shares(("flat",), {"flat": weight})
    cfg = GridTerrainCfg(
        scene=TerrainSceneCfg(("flat", "boxes", "gap"), num_levels=1, border_m=1.0),
        weights={"gap": 2.0, "flat": 0.5},
        num_envs=24,
    )
    terrain = GridTerrain(cfg, device="cpu")
    # mjlab gives one to each, and shares the other 21.
    assert terrain.terrain_types.bincount().tolist() == [1 + 3, 1 + 6, 1 + 12]
