"""The G1 with 25 joints is mjlab's G1 with the wrists held at zero."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from mjlab.asset_zoo.robots.unitree_g1 import g1_constants
from mjlab.entity import Entity
from mjlab.utils.string import resolve_expr

from solo.errors import SoloError
from solo.robots import get_robot
from solo.robots.build import check_joint_order
from solo.robots.g1 import G1
from solo.robots.view import self_view_w, standing_pose


@pytest.fixture(scope="module")
def g1() -> tuple[mujoco.MjModel, mujoco.MjData]:
    return standing_pose(G1)


@pytest.fixture(scope="module")
def full() -> tuple[mujoco.MjModel, mujoco.MjData]:
    """With the meshes, which take a second to compile."""
    return standing_pose(G1, visual=True)


@pytest.fixture(scope="module")
def mjlab_g1() -> tuple[mujoco.MjModel, mujoco.MjData]:
    """mjlab's 29-joint robot in our default pose."""
    model = Entity(g1_constants.get_g1_robot_cfg()).spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    data.qpos[2] = G1.base_height_m
    mujoco.mj_forward(model, data)
    return model, data


def composite_inertia(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Inertia of the whole robot about its centre of mass, world axes, (3, 3)."""
    total = np.zeros((3, 3))
    for body in range(1, model.nbody):
        rotation = data.ximat[body].reshape(3, 3)
        arm = data.xipos[body] - data.subtree_com[0]
        total += rotation @ np.diag(model.body_inertia[body]) @ rotation.T
        total += model.body_mass[body] * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return total


def test_25_joints_are_in_the_order_of_the_contract(g1):
    leg = ["hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll"]
    arm = ["shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll"]
    expected = [f"{side}_{j}" for side in ("left", "right") for j in leg]
    expected += ["waist_yaw", "waist_roll", "waist_pitch"]
    expected += [f"{side}_{j}" for side in ("left", "right") for j in arm]
    assert G1.joint_names == tuple(f"{j}_joint" for j in expected)
    assert len(G1.joint_names) == 25
    model, _ = g1
    check_joint_order(G1, model)
    assert model.nu == 25
    assert [model.actuator(i).name for i in range(25)] == list(G1.joint_names)


def test_no_welded_joint_is_left_but_its_links_are(g1):
    model, _ = g1
    joints = {model.joint(i).name for i in range(model.njnt)}
    assert len(G1.welded_joints) == 4
    assert not joints & set(G1.welded_joints)
    assert model.body("left_wrist_yaw_link").mass[0] > 0.25


def test_mass_com_and_inertia_are_those_of_mjlabs_robot(g1, mjlab_g1):
    (ours, our_data), (theirs, their_data) = g1, mjlab_g1
    assert ours.body_mass.sum() == pytest.approx(theirs.body_mass.sum(), abs=1e-12)
    np.testing.assert_allclose(
        our_data.subtree_com[0], their_data.subtree_com[0], atol=1e-10
    )
    np.testing.assert_allclose(
        composite_inertia(ours, our_data),
        composite_inertia(theirs, their_data),
        atol=1e-10,
    )


def test_gains_limits_and_armature_are_mjlabs_at_full_precision(g1, mjlab_g1):
    (ours, _), (theirs, _) = g1, mjlab_g1
    for name in G1.joint_names:
        a, b = ours.actuator(name), theirs.actuator(name)
        assert a.gainprm[0] == b.gainprm[0]
        np.testing.assert_array_equal(a.biasprm, b.biasprm)
        np.testing.assert_array_equal(a.forcerange, b.forcerange)
        assert ours.joint(name).armature[0] == theirs.joint(name).armature[0]
        np.testing.assert_array_equal(ours.joint(name).range, theirs.joint(name).range)


def test_default_pose_and_action_scale_are_mjlabs():
    pose = g1_constants.KNEES_BENT_KEYFRAME.joint_pos
    assert pose is not None
    assert G1.joint_values(G1.default_joint_pos) == resolve_expr(
        pose, G1.joint_names, 0.0
    )
    assert G1.joint_values(G1.action_scale) == resolve_expr(
        g1_constants.G1_ACTION_SCALE, G1.joint_names
    )


def test_soles_touch_the_ground_at_base_height(g1):
    model, data = g1
    soles = [g.name for foot in G1.feet for g in foot.geoms()]
    lowest = [data.geom(n).xpos[2] - model.geom(n).size[0] for n in soles]
    assert min(lowest) == pytest.approx(0.0, abs=1e-5)
    # The default ankle angle tilts the sole by 0.006 rad: toes 1 mm above the heels.
    assert max(lowest) < 1.1e-3


def test_sole_spheres_end_where_the_real_sole_ends(full):
    model, _ = full
    mesh = model.mesh("left_ankle_roll_link")
    geom = next(i for i in range(model.ngeom) if model.geom_dataid[i] == mesh.id)
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.geom_quat[geom])
    vertices = model.mesh_vert[mesh.vertadr[0] :][: mesh.vertnum[0]]
    foot_mesh = vertices @ rotation.reshape(3, 3).T + model.geom_pos[geom]
    foot = G1.feet[0]
    x = [point[0] for point in foot.points.values()]
    assert foot.sole_z == pytest.approx(foot_mesh[:, 2].min(), abs=1e-3)
    assert min(x) - foot.radius == pytest.approx(foot_mesh[:, 0].min(), abs=2e-3)
    assert max(x) + foot.radius == pytest.approx(foot_mesh[:, 0].max(), abs=2e-3)


def test_only_the_lean_set_collides_and_never_with_itself(g1):
    model, _ = g1
    colliding = [
        i
        for i in range(model.ngeom)
        if model.geom_contype[i] | model.geom_conaffinity[i]
    ]
    assert {model.geom(i).name for i in colliding} == {g.name for g in G1.all_geoms}
    assert not model.geom_contype.any()
    for i in colliding:
        is_sole = "_sole_" in model.geom(i).name
        assert model.geom_condim[i] == (3 if is_sole else 1)
        assert model.geom_priority[i] == int(is_sole)


def test_visual_geoms_do_not_change_physics(g1, full):
    (lean, _), (full, _) = g1, full
    assert full.nmesh == 35
    assert lean.nmesh == 0
    np.testing.assert_array_equal(full.body_mass, lean.body_mass)
    np.testing.assert_array_equal(full.body_inertia, lean.body_inertia)


def test_self_view_capsules_cover_the_meshes_of_their_links(full):
    model, data = full
    for capsule, (start, end, radius) in zip(
        G1.self_view, self_view_w(G1, data), strict=True
    ):
        body = model.body(capsule.body).id
        axis = end - start
        for geom in np.flatnonzero(model.geom_bodyid == body):
            if model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_MESH:
                continue
            mesh = model.mesh(model.geom_dataid[geom])
            points = model.mesh_vert[mesh.vertadr[0] :][: mesh.vertnum[0]]
            points = points @ data.geom_xmat[geom].reshape(3, 3).T
            points = points + data.geom_xpos[geom] - start
            along = np.clip(points @ axis / (axis @ axis), 0.0, 1.0)
            gap = np.linalg.norm(points - along[:, None] * axis, axis=1) - radius
            assert gap.max() < 0.02, (capsule.body, gap.max())


def test_reward_groups_hold_each_joint_once():
    hip = G1.find_joints(G1.hip_joints)
    upper = G1.find_joints(G1.upper_body_joints)
    legs = G1.find_joints(G1.leg_joints)
    assert (len(hip), len(upper), len(legs)) == (4, 13, 8)
    assert set(hip) | set(upper) | set(legs) == set(G1.joint_names)


def test_get_robot_lists_the_known_robots():
    assert get_robot("g1") is G1
    with pytest.raises(SoloError, match=r"Unknown robot 'h1'. Allowed: g1\."):
        get_robot("h1")
