"""Contacts of boxes with height fields, at known places, and boxes that stay put."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

from solo.envs.grid_terrain import add_terrain
from solo.sim.height_field.box import find_box_contacts
from solo.sim.height_field.collision import direct_contacts
from solo.sim.height_field.triangle import make_field
from solo.terrains.scene import TerrainSceneCfg, build_scene

SPACING = 0.025
NUM = 61
HALF = np.array([0.2, 0.3, 0.1])
ROUNDING = 0.01


def rotation_of(yaw: float = 0.0, tilt: float = 0.0) -> np.ndarray:
    """Tilted about its own y axis, then turned about the vertical."""
    c, s, a, b = math.cos(yaw), math.sin(yaw), math.cos(tilt), math.sin(tilt)
    yawed = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return yawed @ np.array([[a, 0.0, b], [0.0, 1.0, 0.0], [-b, 0.0, a]])


def contacts_on(heights, centre, rotation=None, half=HALF, margin=0.0) -> np.ndarray:
    """Distance, point and normal of each contact; vertices are indexed [x, y]."""
    extent = (NUM - 1) / 2 * SPACING
    low, high = heights.min(), max(heights.max(), heights.min() + 1.0)
    scaled = ((heights - low) / (high - low)).T.astype(np.float32).ravel()
    out = np.empty((40, 7))
    local = np.array(centre, dtype=float) - [0.0, 0.0, low]
    axes = np.eye(3) if rotation is None else rotation
    size = np.array([extent, extent, high - low, 0.5])
    field = make_field(scaled, size, NUM, NUM)
    num = find_box_contacts(local, axes, half, margin, field, out)
    out[:, 3] += low
    return out[:num]


def flat() -> np.ndarray:
    return np.zeros((NUM, NUM))


@pytest.mark.parametrize("yaw", [0.0, 0.4, -2.0])
def test_on_flat_ground_the_four_lower_corners_touch(yaw):
    rotation = rotation_of(yaw)
    found = contacts_on(flat(), [0.013, -0.007, 0.0995], rotation)
    assert len(found) == 4
    np.testing.assert_allclose(found[:, 0], -0.0005, atol=1e-9)
    np.testing.assert_allclose(found[:, 4:], [[0, 0, 1]] * 4, atol=1e-9)
    # Under the centres of the rounded corners.
    local = (found[:, 1:3] - [0.013, -0.007]) @ rotation[:2, :2]
    np.testing.assert_allclose(np.abs(local), [HALF[:2] - ROUNDING] * 4, atol=1e-9)
    assert len(np.unique(np.sign(local), axis=0)) == 4


def test_above_the_ground_there_is_nothing_unless_the_margin_reaches_it():
    assert len(contacts_on(flat(), [0, 0, 0.11])) == 0
    found = contacts_on(flat(), [0, 0, 0.11], margin=0.02)
    np.testing.assert_allclose(found[:, 0], 0.01, atol=1e-9)


def test_on_a_slope_normals_are_the_slopes():
    """A plane of 1 : 2, the box lying in it: still four corners and no more."""
    x = (np.arange(NUM) - NUM // 2) * SPACING
    heights = np.repeat(0.5 * x[:, None], NUM, axis=1)
    normal = np.array([-0.5, 0.0, 1.0]) / math.hypot(0.5, 1.0)
    rotation = rotation_of(tilt=-math.atan(0.5))
    found = contacts_on(heights, 0.0995 * normal, rotation)
    assert len(found) == 4
    np.testing.assert_allclose(found[:, 4:], [normal] * 4, atol=1e-5)
    np.testing.assert_allclose(found[:, 0], -0.0005, atol=1e-6)


def test_over_a_ridge_the_face_rests_on_the_ridge():
    """A ridge of one row of vertices, 5 cm high along y, under the middle of the box.

    It also crosses the two rounded edges that are 0.3 m from the middle.
    """
    heights = flat()
    heights[NUM // 2] = 0.05
    found = contacts_on(heights, [0.0, 0.0, 0.149])
    np.testing.assert_allclose(found[:, 0], -0.001, atol=1e-6)
    np.testing.assert_allclose(found[:, 1], 0.0, atol=1e-9)
    np.testing.assert_allclose(found[:, 4:], [[0, 0, 1]] * len(found), atol=1e-9)
    assert found[:, 2].min() == pytest.approx(ROUNDING - 0.3, abs=1e-9)
    assert found[:, 2].max() == pytest.approx(0.3 - ROUNDING, abs=1e-9)


def test_a_single_bump_is_found_wherever_it_is():
    for i, j in [(24, 30), (30, 20), (36, 38)]:
        heights = flat()
        heights[i, j] = 0.02
        found = contacts_on(heights, [0.0, 0.0, 0.118])
        assert len(found) == 1
        bump = [(i - NUM // 2) * SPACING, (j - NUM // 2) * SPACING, 0.02]
        np.testing.assert_allclose(found[0], [-0.002, *bump, 0, 0, 1], atol=1e-6)


def test_an_edge_across_a_ridge_touches_between_its_ends():
    """The long lower edge, ends above ground, lies across a ridge along x."""
    heights = flat()
    heights[:, NUM // 2] = 0.1
    # On an edge: turned by 45 deg about y, the lowest edge is parallel to y.
    rotation = rotation_of(tilt=math.pi / 4)
    reach = (HALF[0] + HALF[2]) / math.sqrt(2)
    lower = reach - ROUNDING * (math.sqrt(2) - 1)  # It is rounded.
    found = contacts_on(heights, [0.0, 0.0, 0.1 + lower - 0.001], rotation)
    edge = found[np.abs(found[:, 6] - 1.0) < 1e-6]
    assert len(edge) >= 1
    assert edge[:, 0].min() == pytest.approx(-0.001, abs=1e-5)
    np.testing.assert_allclose(edge[:, 2], 0.0, atol=1e-6)


def test_pushed_against_a_riser_it_is_held_from_ahead_and_from_below():
    """The riser runs from (0, 0) to (0.025, 0.25); the corners touch it near z = 0."""
    heights = flat()
    heights[NUM // 2 + 1 :] = 0.25
    found = contacts_on(heights, [-HALF[0] + 0.001, 0.0, 0.0995])
    up, ahead = found[found[:, 6] > 0.9], found[found[:, 4] < -0.9]
    assert len(up) == 4
    assert len(ahead) == 2
    assert (up[:, 0] > -0.002).all()
    assert (ahead[:, 0] > -0.003).all()


def test_outside_the_field_there_is_nothing():
    assert len(contacts_on(flat(), [2.0, 0, 0.05])) == 0
    assert len(contacts_on(flat(), [0, -2.0, 0.05])) == 0


def make_scene(name: str):
    scene = build_scene(TerrainSceneCfg((name,), 1, border_m=4.0, difficulty=0.5))
    spec = mujoco.MjSpec()
    spec.option.timestep = 0.005
    add_terrain(spec, scene)
    body = spec.worldbody.add_body()
    body.add_freejoint()
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=HALF, mass=4.0, priority=1,
        friction=[0.5, 0.005, 0.0001], solimp=[0.99, 0.99, 0.001, 0.5, 2],
    )  # fmt: skip
    model = spec.compile()
    return scene, model, mujoco.MjData(model)


def run(model, data, seconds: float) -> None:
    with direct_contacts(model, data, mujoco.mjtGeom.mjGEOM_BOX)():
        for _ in range(round(seconds / model.opt.timestep)):
            mujoco.mj_step(model, data)


@pytest.mark.parametrize("yaw", [0.0, 0.4])
def test_put_down_on_flat_ground_it_stays(yaw):
    _, model, data = make_scene("flat")
    data.qpos[:7] = [1.013, 0.21, 0.1, math.cos(yaw / 2), 0, 0, math.sin(yaw / 2)]
    start = data.qpos.copy()
    run(model, data, 5.0)
    assert np.abs(data.qpos[:2] - start[:2]).max() < 1e-6
    assert -2e-5 < data.qpos[2] - 0.1 < 0.0
    np.testing.assert_allclose(data.qpos[3:], start[3:], atol=1e-6)
    assert data.ncon == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["boxes", "random_grid", "slope_up", "stairs_down_30", "stones_staggered"]
)
def test_dropped_anywhere_it_comes_to_rest_on_the_ground(name):
    """From 10 cm above the highest ground below it, tilted; then less than 1 mm in 5 s.

    Three of four, because friction gives way slowly on steep ground.
    """
    scene, model, data = make_scene(name)
    rng = np.random.default_rng(0)
    rested = 0
    for _ in range(4):
        mujoco.mj_resetData(model, data)
        x, y = rng.uniform(-3.0, 3.0, 2)
        i, j = np.meshgrid(np.linspace(-0.4, 0.4, 17), np.linspace(-0.4, 0.4, 17))
        data.qpos[:3] = x, y, scene.grid.height_at(x + i, y + j).max() + 0.2
        data.qpos[3:] = rng.normal([5, 0, 0, 5], [0, 0.3, 0.3, 0])
        run(model, data, 4.0)
        before = data.qpos.copy()
        run(model, data, 5.0)
        assert np.isfinite(data.qpos).all()
        # Not in the ground: no corner of the box is deeper than 2 mm.
        rotation = data.xmat[-1].reshape(3, 3)
        signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
        corners = data.qpos[:3] + (signs * (HALF - ROUNDING)) @ rotation.T
        depth = scene.grid.surface_at(corners[:, 0], corners[:, 1]) - corners[:, 2]
        assert depth.max() < 0.002
        rested += np.abs(data.qpos[:3] - before[:3]).max() < 1e-3
    assert rested >= 3
