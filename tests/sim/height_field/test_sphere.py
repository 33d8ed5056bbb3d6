"""Contacts of spheres with height fields, at known places."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from solo.sim.height_field.collision import direct_contacts
from solo.sim.height_field.sphere import find_contacts
from solo.sim.height_field.triangle import make_field

SPACING = 0.025
NUM = 41
RADIUS = 0.02


def contacts_on(heights, centre, radius=RADIUS, margin=0.0):
    """Distance, point and normal of each contact; vertices are indexed [x, y]."""
    half = (NUM - 1) / 2 * SPACING
    low, high = heights.min(), max(heights.max(), heights.min() + 1.0)
    scaled = ((heights - low) / (high - low)).T.astype(np.float32).ravel()
    out = np.empty((3, 7))
    local = np.array(centre, dtype=float) - [0.0, 0.0, low]
    size = np.array([half, half, high - low, 0.5])
    field = make_field(scaled, size, NUM, NUM)
    num = find_contacts(local, radius, margin, field, out)
    out[:, 3] += low
    return out[:num]


def flat() -> np.ndarray:
    return np.zeros((NUM, NUM))


def step(height: float) -> np.ndarray:
    """Ground at 0 for x < 0, at ``height`` from x = 0.025 m on."""
    heights = flat()
    heights[NUM // 2 + 1 :] = height
    return heights


def test_a_sphere_on_flat_ground_has_one_upright_contact_anywhere():
    rng = np.random.default_rng(0)
    for depth in (1e-4, 0.002, 0.008):
        for x, y in rng.uniform(-0.4, 0.4, size=(200, 2)):
            found = contacts_on(flat(), [x, y, RADIUS - depth])
            assert len(found) == 1
            np.testing.assert_allclose(found[0], [-depth, x, y, 0, 0, 0, 1], atol=1e-12)


def test_a_sphere_above_the_ground_has_none_unless_the_margin_reaches_it():
    assert len(contacts_on(flat(), [0, 0, 0.03])) == 0
    found = contacts_on(flat(), [0, 0, 0.03], margin=0.02)
    assert found[0, 0] == pytest.approx(0.01)


def test_normal_on_a_slope_is_the_slopes():
    x = (np.arange(NUM) - NUM // 2) * SPACING
    heights = np.repeat(0.5 * x[:, None], NUM, axis=1)
    normal = np.array([-0.5, 0.0, 1.0]) / np.hypot(0.5, 1.0)
    found = contacts_on(heights, 0.017 * normal + [0.11, 0.07, 0.055])
    assert len(found) == 1
    np.testing.assert_allclose(found[0, 4:], normal, atol=1e-6)
    assert found[0, 0] == pytest.approx(0.017 - RADIUS, abs=1e-6)


def test_a_sphere_against_a_riser_touches_ground_and_wall():
    # The riser runs from (0, 0) to (0.025, 0.25): its normal is (-0.25, 0, 0.025).
    wall = np.array([-0.25, 0.0, 0.025]) / np.hypot(0.25, 0.025)
    z = RADIUS - 0.001
    x = -(0.018 - z * wall[2]) / -wall[0]  # 18 mm from the wall's plane.
    found = contacts_on(step(0.25), [x, 0.003, z])
    assert len(found) == 2
    np.testing.assert_allclose(sorted(found[:, 0]), [-0.002, -0.001], atol=1e-6)
    normals = found[np.argsort(found[:, 6]), 4:]
    np.testing.assert_allclose(normals, [wall, [0, 0, 1]], atol=1e-6)


def test_a_sphere_on_the_nose_of_a_step_is_pushed_away_from_the_nose():
    nose = np.array([0.025, 0.0, 0.25])
    direction = np.array([-0.6, 0.0, 0.8])
    found = contacts_on(step(0.25), nose + 0.015 * direction)
    assert len(found) == 1
    np.testing.assert_allclose(found[0, 1:4], nose, atol=1e-6)
    np.testing.assert_allclose(found[0, 4:], direction, atol=1e-6)


def test_a_sphere_whose_centre_is_below_is_pushed_to_the_nearest_surface():
    found = contacts_on(flat(), [0.1, 0.1, -0.01])
    np.testing.assert_allclose(found, [[-0.03, 0.1, 0.1, 0, 0, 0, 1]], atol=1e-9)
    # Pushed 1 cm into a riser: out of the wall, not up to the tread 20 cm above.
    found = contacts_on(step(0.25), [0.014, 0.1, 0.05])
    assert len(found) == 1
    assert found[0, 4] < -0.99
    assert -0.04 < found[0, 0] < -RADIUS


def test_a_sphere_deep_in_the_ground_is_pushed_up_until_the_base_ends():
    found = contacts_on(flat(), [0.1, 0.1, -0.3])
    np.testing.assert_allclose(found, [[-0.32, 0.1, 0.1, 0, 0, 0, 1]], atol=1e-9)
    assert len(contacts_on(flat(), [0.1, 0.1, -0.6])) == 0


def test_outside_the_field_there_is_nothing():
    assert len(contacts_on(flat(), [0.6, 0, 0.01])) == 0
    assert len(contacts_on(flat(), [0, -0.6, 0.01])) == 0


@pytest.fixture
def bumpy() -> mujoco.MjModel:
    """A ball above gently uneven ground, the field turned and moved."""
    rng = np.random.default_rng(3)
    heights = rng.uniform(size=(NUM, NUM))
    for _ in range(3):
        heights = (heights + np.roll(heights, 1, 0) + np.roll(heights, 1, 1)) / 3
    spec = mujoco.MjSpec()
    spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_MIDPHASE
    spec.add_hfield(
        name="ground", size=[0.5, 0.5, 0.02, 0.1], nrow=NUM, ncol=NUM,
        userdata=heights.ravel(),
    )  # fmt: skip
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname="ground", pos=[1.0, 2.0, 0.3],
        quat=[0.96, 0.1, 0.05, 0.25],
    )  # fmt: skip
    ball = spec.worldbody.add_body()
    ball.add_freejoint()
    ball.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[RADIUS, 0, 0])
    return spec.compile()


def test_depth_is_mujocos(bumpy):
    """MuJoCo's convex routine finds the same depth where slopes are gentle.

    On steep ground it pushes spheres out through the sides of its prisms.
    """
    data = mujoco.MjData(bumpy)
    contacts = direct_contacts(bumpy, data, mujoco.mjtGeom.mjGEOM_SPHERE)
    rng = np.random.default_rng(4)
    compared = 0
    for _ in range(400):
        data.qpos[:3] = [1, 2, 0.33] + rng.uniform(-1, 1, 3) * [0.3, 0.3, 0.08]
        mujoco.mj_forward(bumpy, data)
        own = [contact.dist for contact in data.contact]
        with contacts():
            mujoco.mj_forward(bumpy, data)
        ours = [contact.dist for contact in data.contact]
        if ours and min(ours) > -0.5 * RADIUS:
            assert min(ours) == pytest.approx(min(own), abs=1e-5)
            compared += 1
    assert compared > 20


def test_mujocos_function_is_back_after_the_block(bumpy):
    data = mujoco.MjData(bumpy)
    contacts = direct_contacts(bumpy, data, mujoco.mjtGeom.mjGEOM_SPHERE)
    data.qpos[:3] = [1.0, 2.0, 0.35]

    def count() -> int:
        mujoco.mj_forward(bumpy, data)
        return data.ncon

    before = count()
    with pytest.raises(KeyError), contacts():
        raise KeyError
    assert count() == before
