"""The feet carry the robot: on flat ground and across an edge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from mjlab.entity import Entity

from solo.robots.build import make_entity_cfg
from solo.robots.g1 import G1
from solo.robots.robot_cfg import RobotCfg

CONTROL_STEPS_PER_S = 50
PHYSICS_STEPS = 4


def scene(cfg: RobotCfg, **ground) -> mujoco.MjModel:
    """The robot on one ground geom, with the physics settings of training."""
    spec = Entity(make_entity_cfg(cfg, visual=False)).spec
    spec.worldbody.add_geom(name="ground", **ground)
    spec.option.timestep = 0.005
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.iterations, spec.option.ls_iterations = 10, 20
    return spec.compile()


def balance(model: mujoco.MjModel, data: mujoco.MjData, default: np.ndarray) -> None:
    """Position targets that keep the centre of mass 2 cm ahead of the ankles.

    mjlab's gains cannot stand without feedback: tipping over the ankles takes
    33.3 kg * 9.81 * 0.67 m = 219 Nm/rad, both ankles give 2 * 28.5 = 57 Nm/rad.
    """
    feet = np.mean([data.site(foot.site).xpos for foot in G1.feet], axis=0)
    aim = feet[:2] - [0.02, 0.0]  # The foot sites are 4 cm ahead of the ankles.
    lean = 12.0 * (data.subtree_com[0, :2] - aim) + 2.0 * data.qvel[:2]
    torso = data.body(G1.torso_body).xmat.reshape(3, 3)
    targets = dict(zip(G1.joint_names, default, strict=True))
    for side in ("left", "right"):
        targets[f"{side}_ankle_pitch_joint"] += lean[0]
        targets[f"{side}_ankle_roll_joint"] -= 0.5 * lean[1]
    targets["waist_pitch_joint"] += 2.0 * torso[2, 0]
    targets["waist_roll_joint"] -= 2.0 * torso[2, 1]
    data.ctrl[:] = list(targets.values())


def stand(model: mujoco.MjModel, seconds: float) -> tuple[float, float, Mapping]:
    """Lowest base height [m], largest tilt [deg], mean force per sole sphere [N]."""
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    default = data.ctrl.copy()
    heights, tilts = [], []
    forces = {geom.name: 0.0 for foot in G1.feet for geom in foot.geoms()}
    force = np.zeros(6)
    num_steps = int(seconds * CONTROL_STEPS_PER_S)
    for _ in range(num_steps):
        balance(model, data, default)
        for _ in range(PHYSICS_STEPS):
            mujoco.mj_step(model, data)
        heights.append(data.qpos[2])
        upright = data.body(G1.base_body).xmat[8]
        tilts.append(np.degrees(np.arccos(np.clip(upright, -1.0, 1.0))))
        for index in range(data.ncon):
            mujoco.mj_contactForce(model, data, index, force)
            name = model.geom(max(data.contact[index].geom)).name
            forces[name] = forces.get(name, 0.0) + force[0] / num_steps
    return min(heights), max(tilts), forces


def test_stands_for_five_seconds_on_a_plane():
    model = scene(G1, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5.0, 5.0, 0.1])
    height, tilt, forces = stand(model, 5.0)
    assert height > 0.7
    assert tilt < 8.0
    assert sum(forces.values()) == pytest.approx(33.34 * 9.81, rel=0.02)


def test_stands_on_a_height_field_of_training_resolution():
    spec = Entity(make_entity_cfg(G1, visual=False)).spec
    spec.add_hfield(
        name="flat",
        size=[2.0, 2.0, 0.05, 0.5],
        nrow=161,
        ncol=161,
        userdata=[0.0] * 161**2,
    )
    spec.worldbody.add_geom(
        name="ground", type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname="flat"
    )
    spec.option.timestep = 0.005
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    height, tilt, _ = stand(spec.compile(), 5.0)
    assert height > 0.7
    assert tilt < 8.0


def test_mid_foot_carries_the_robot_with_its_toes_over_an_edge():
    # The step ends at x = 0.08 m, between the mid-foot (0.04) and toe (0.12) spheres;
    # the centre of mass is at x = 0.03 m, ahead of the heels (-0.05).
    edge = {"type": mujoco.mjtGeom.mjGEOM_BOX, "size": [0.5, 1.0, 0.5]}
    pos = [0.08 - 0.5, 0.0, -0.5]
    height, tilt, forces = stand(scene(G1, pos=pos, **edge), 2.0)
    assert height > 0.7
    assert tilt < 10.0
    carried = {
        part: sum(f for name, f in forces.items() if f"sole_{part}" in name)
        for part in ("heel", "mid", "toe")
    }
    assert carried["mid"] > 100.0
    assert carried["toe"] == 0.0

    corners = {k: v for k, v in G1.feet[0].points.items() if "mid" not in k}
    left, right = (replace(foot, points=corners) for foot in G1.feet)
    height, _, _ = stand(scene(replace(G1, feet=(left, right)), pos=pos, **edge), 2.0)
    assert height < 0.5
