"""A second robot is a new config: the worked example of docs/own-robot.md."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from mjlab.actuator import BuiltinPositionActuatorCfg
from mjlab.entity import Entity

from solo.cli.checks import check_robot
from solo.errors import SoloError
from solo.robots import get_robot
from solo.robots.build import build_spec, check_joint_order, make_entity_cfg
from solo.robots.robot_cfg import CollisionGeom, FootCfg, RobotCfg, scale_from_effort
from solo.robots.view import cells_in_view, standing_pose
from solo.sensors.depth.cfg import CameraMountCfg, CapsuleCfg

LEG = """
<body name="{side}_thigh" pos="0 {y} -0.1">
  <joint name="{side}_hip" axis="0 1 0" range="-1.5 1.5"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.05"/>
  <body name="{side}_shank" pos="0 0 -0.3">
    <joint name="{side}_knee" axis="0 1 0" range="0 2.5"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.04"/>
    <body name="{side}_foot" pos="0 0 -0.3">
      <joint name="{side}_ankle" axis="0 1 0" range="-1 1"/>
      <geom type="box" pos="0.03 0 -0.03" size="0.1 0.06 0.02"/>
    </body>
  </body>
</body>
"""

BIPED_XML = f"""
<mujoco model="biped">
  <worldbody>
    <body name="trunk" pos="0 0 0.75">
      <freejoint/>
      <site name="imu"/>
      <geom type="box" size="0.08 0.12 0.1" mass="8"/>
      {LEG.format(side="left", y=0.1)}
      {LEG.format(side="right", y=-0.1)}
      <body name="head" pos="0 0 0.2">
        <joint name="neck" axis="0 0 1" range="-1 1"/>
        <geom type="sphere" size="0.08" mass="2"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="neck"/><motor joint="left_hip"/></actuator>
  <sensor><jointpos joint="neck"/><gyro site="imu"/></sensor>
  <keyframe><key name="home" qpos="0 0 1 1 0 0 0 0 0 0 0 0 0 0"/></keyframe>
</mujoco>
"""

ACTUATORS = (
    BuiltinPositionActuatorCfg(
        target_names_expr=(".*_(hip|knee|ankle)",),
        stiffness=300.0,
        damping=10.0,
        effort_limit=100.0,
    ),
)


def biped_foot(side: str) -> FootCfg:
    return FootCfg(
        body=f"{side}_foot",
        site=f"{side}_sole",
        points={
            f"{part}_{edge}": (x, y)
            for part, x in (("heel", -0.06), ("mid", 0.03), ("toe", 0.12))
            for edge, y in (("left", 0.05), ("right", -0.05))
        },
        sole_z=-0.05,
        radius=0.02,
    )


BIPED = RobotCfg(
    name="biped",
    spec_fn=lambda: mujoco.MjSpec.from_string(BIPED_XML),
    joint_names=tuple(
        f"{s}_{j}" for s in ("left", "right") for j in ("hip", "knee", "ankle")
    ),
    welded_joints=("neck",),
    default_joint_pos={".*_hip": -0.2, ".*_knee": 0.4, ".*_ankle": -0.2},
    base_height_m=0.738040,
    actuators=ACTUATORS,
    action_scale=scale_from_effort(ACTUATORS),
    base_body="trunk",
    torso_body="trunk",
    termination_bodies=("trunk", "head"),
    feet=(biped_foot("left"), biped_foot("right")),
    hip_joints=(".*_hip",),
    upper_body_joints=(),
    leg_joints=(".*_knee", ".*_ankle"),
    collision=(
        CollisionGeom("trunk", "trunk", 0.1, pos=(0.0, 0.0, 0.0)),
        CollisionGeom("head", "head", 0.08, pos=(0.0, 0.0, 0.0)),
    ),
    self_view=(
        CapsuleCfg("left_thigh", ((0.0, 0.0, 0.0), (0.0, 0.0, -0.3)), 0.05),
        CapsuleCfg("right_thigh", ((0.0, 0.0, 0.0), (0.0, 0.0, -0.3)), 0.05),
    ),
    camera_mount=CameraMountCfg("trunk", (0.1, 0.0, 0.05), pitch_down_deg=45.0),
)


def test_a_robot_is_found_by_module_and_attribute_and_keeps_that_name():
    place = f"{__name__}:BIPED"
    robot = get_robot(place)
    assert robot == replace(BIPED, name=place)
    assert get_robot(robot.name) == robot


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:ROBOT", r"cannot be imported: No module named.*PYTHONPATH"),
        (f"{__name__}:NONE", r"'NONE' in the module .* is a NoneType, not a RobotCfg"),
        ("math:pi", "'pi' in the module 'math' is a float, not a RobotCfg"),
        (":", "Unknown robot ':'. Allowed: g1"),
    ],
)
def test_a_place_without_a_robot_is_refused(name, message):
    with pytest.raises(SoloError, match=message):
        get_robot(name)


def test_an_installed_package_registers_a_robot(tmp_path, monkeypatch):
    info = tmp_path / "biped-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: biped\nVersion: 1.0\n")
    place = f"[solo.robots]\nbiped = {__name__}:BIPED\n"
    (info / "entry_points.txt").write_text(place)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert get_robot("biped") == BIPED
    check_robot("biped")


def test_a_wrong_name_is_refused_before_anything_is_loaded():
    check_robot(f"{__name__}:BIPED")
    with pytest.raises(SoloError, match="finds no module 'no_such_module'"):
        check_robot("no_such_module:ROBOT")
    with pytest.raises(SoloError, match=r"Unknown robot 'h1'.*module:ATTRIBUTE"):
        check_robot("h1")


def test_biped_builds_with_its_mass_although_its_collision_geoms_go():
    raw = mujoco.MjModel.from_xml_string(BIPED_XML)
    spec = build_spec(BIPED, visual=False)
    model = spec.compile()
    check_joint_order(BIPED, model)
    np.testing.assert_allclose(model.body_mass, raw.body_mass, rtol=1e-12)
    np.testing.assert_allclose(model.body_inertia, raw.body_inertia, rtol=1e-9)
    np.testing.assert_allclose(model.body_ipos, raw.body_ipos, atol=1e-12)
    assert {model.geom(i).name for i in range(model.ngeom)} == {
        geom.name for geom in BIPED.all_geoms
    }


def test_what_the_config_takes_over_is_removed():
    model = build_spec(BIPED).compile()
    assert model.nu == model.nkey == 0
    assert model.nsensor == 0


def test_foot_site_is_made_at_the_centre_of_the_sole():
    model = build_spec(BIPED).compile()
    np.testing.assert_allclose(
        model.site("left_sole").pos, [0.03, 0.0, -0.05], atol=1e-12
    )


def test_biped_stands_on_its_lean_feet():
    _, data = standing_pose(BIPED)
    soles = [g for foot in BIPED.feet for g in foot.geoms()]
    lowest = min(data.geom(g.name).xpos[2] - g.radius for g in soles)
    assert lowest == pytest.approx(0.0, abs=1e-5)

    spec = Entity(make_entity_cfg(BIPED)).spec
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5.0, 5.0, 0.1])
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_step(model, data, nstep=int(2.0 / model.opt.timestep))
    assert data.qpos[2] > 0.65


def test_biped_sees_part_of_its_window():
    assert 0.3 < cells_in_view(BIPED).mean() < 0.9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"welded_joints": ("nek",)},
            r"biped: joint 'nek' is not in the model. The model has: left_hip, .*neck",
        ),
        (
            {"welded_joints": ()},
            r"joint 'neck' of the model is neither in joint_names nor in welded_joints",
        ),
        (
            {"torso_body": "torso"},
            r"body 'torso' is not in the model. The model has: trunk, left_thigh",
        ),
        (
            {"base_body": "head"},
            r"free joints are on bodies \['trunk'\]; expected exactly one, on base",
        ),
        (
            {"joint_names": BIPED.joint_names[3:] + BIPED.joint_names[:3]},
            r"the model's joint order is left_hip, .*List joint_names in the model's",
        ),
    ],
)
def test_config_that_does_not_fit_the_model_is_refused(change, message):
    with pytest.raises(SoloError, match=message):
        build_spec(replace(BIPED, **change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"leg_joints": (".*_kne",)},
            r"pattern '.\*_kne' in leg_joints matches no pol",
        ),
        (
            {"action_scale": {".*_hip": 0.3}},
            r"joint 'left_knee' is matched by 0 patter",
        ),
        (
            {"actuators": ACTUATORS * 2},
            r"'left_hip' is matched by 2 patterns in actuat",
        ),
        ({"welded_joints": ("left_hip",)}, r"'left_hip' appears twice"),
        (
            {"termination_bodies": ("left_thigh",)},
            r"'left_thigh' has no collision geom",
        ),
    ],
)
def test_config_that_contradicts_itself_is_refused(change, message):
    with pytest.raises(SoloError, match=message):
        replace(BIPED, **change)


def test_collision_geom_needs_a_shape():
    with pytest.raises(ValueError, match=r"give pos for a sphere or fromto for a caps"):
        CollisionGeom("trunk", "trunk", 0.1)
