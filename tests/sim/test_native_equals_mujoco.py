"""The native backend computes exactly what plain MuJoCo computes."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import torch
from mjlab.managers.event_manager import RecomputeLevel

from tests.sim.conftest import (
    HOPPER,
    assert_same_bits,
    exact_state,
    make_model,
    plain_copy,
)

STEPS = 200


def test_hopper_meets_the_floor(make_sim):
    """The other tests would be easy without contacts."""
    sim = make_sim(1)
    touched = False
    for _ in range(STEPS):
        sim.step()
        touched |= bool(sim.data.sensordata[0, 6] > 0)
    assert touched


def test_trajectory_is_plain_mujocos_to_the_bit(make_sim):
    sim = make_sim(3)
    plain = [plain_copy(sim, env) for env in range(3)]
    for _ in range(STEPS):
        sim.step()
        for data in plain:
            mujoco.mj_step(sim.mj_model, data)
    expected = np.stack([np.hstack([d.qpos, d.qvel]) for d in plain])
    np.testing.assert_array_equal(exact_state(sim), expected)


MOTION = ["xpos", "xquat", "xmat", "cvel", "subtree_com", "site_xpos", "geom_xpos"]
FORCES = ["qacc", "actuator_force", "qfrc_bias", "qfrc_constraint"]
GYRO = slice(0, 3)  # The rest of the sensor data is of forces and accelerations.


def assert_rounded(tensor, expected) -> None:
    np.testing.assert_array_equal(tensor.numpy().ravel(), np.float32(expected).ravel())


@pytest.mark.parametrize("field", MOTION)
def test_forward_refreshes_motion(make_sim, field):
    sim = make_sim(2)
    value = getattr(sim.data, field)
    for _ in range(20):
        sim.step()
    plain = plain_copy(sim, env=1)
    sim.forward()
    mujoco.mj_forward(sim.mj_model, plain)
    assert_rounded(value[1], getattr(plain, field))


@pytest.mark.parametrize("field", FORCES)
def test_forces_stay_those_of_the_last_step(make_sim, field):
    sim = make_sim(2)
    value = getattr(sim.data, field)
    plain = plain_copy(sim, env=1)
    for _ in range(20):
        sim.step()
        mujoco.mj_step(sim.mj_model, plain)
    sim.forward()
    assert_rounded(value[1], getattr(plain, field))


def test_sensors_of_motion_are_refreshed_and_those_of_forces_are_not(make_sim):
    sim = make_sim(5, num_threads=2)
    value = sim.data.sensordata
    plain = [plain_copy(sim, env) for env in range(5)]
    for _ in range(60):
        sim.step()
        for data in plain:
            mujoco.mj_step(sim.mj_model, data)
    of_step = [data.sensordata.copy() for data in plain]
    sim.forward()
    for env, data in enumerate(plain):
        mujoco.mj_forward(sim.mj_model, data)
        assert_rounded(value[env, GYRO], data.sensordata[GYRO])
        assert_rounded(value[env, GYRO.stop :], of_step[env][GYRO.stop :])


@pytest.mark.parametrize("field", [*MOTION, *FORCES, "sensordata"])
def test_forward_recomputes_everything_where_a_task_wrote(make_sim, field):
    sim = make_sim(3)
    value = getattr(sim.data, field)
    for _ in range(20):
        sim.step()
    plain = plain_copy(sim, env=1)
    sim.data.qvel[1, 0] = plain.qvel[0] = 0.5
    sim.forward()
    mujoco.mj_forward(sim.mj_model, plain)
    assert_rounded(value[1], getattr(plain, field))


def test_an_applied_force_acts_from_the_next_step_on(make_sim):
    sim = make_sim(2)
    force, position = sim.data.qacc, sim.data.xpos
    plain = plain_copy(sim, env=1)
    for _ in range(20):
        sim.step()
        mujoco.mj_step(sim.mj_model, plain)
    of_step = plain.qacc.copy()
    sim.data.xfrc_applied[1, 1, 2] = 50.0
    plain.xfrc_applied[1, 2] = 50.0
    sim.forward()
    assert_rounded(force[1], of_step)
    mujoco.mj_step(sim.mj_model, plain)
    sim.step()
    assert_rounded(force[1], plain.qacc)
    assert_rounded(position[1], plain.xpos)


def test_forward_recomputes_everything_after_a_reset(make_sim):
    sim = make_sim(3)
    force = sim.data.qfrc_bias
    for _ in range(20):
        sim.step()
    sim.reset(torch.tensor([2]))
    sim.forward()
    plain = mujoco.MjData(sim.mj_model)
    mujoco.mj_forward(sim.mj_model, plain)
    assert_rounded(force[2], plain.qfrc_bias)


def test_a_model_with_other_sensors_is_always_recomputed(make_sim):
    from solo.sim.fields import refresh_functions

    xml = HOPPER.replace("</sensor>", '<actuatorpos actuator="hip"/></sensor>')
    model = mujoco.MjModel.from_xml_string(xml)
    assert refresh_functions(model, has_sensors=True) == ()
    assert refresh_functions(model, has_sensors=False) != ()
    assert refresh_functions(make_sim(1).mj_model, has_sensors=True) != ()


def test_a_field_asked_for_late_is_current_and_changes_nothing(make_sim):
    asked, silent = make_sim(2), make_sim(2)
    for _ in range(50):
        asked.step()
        silent.step()
    before = asked.data.xpos.clone()  # First use of the field.
    asked.forward()
    assert torch.equal(asked.data.xpos, before)
    asked, silent = make_sim(2), make_sim(2)
    for k in range(100):
        if k == 50:
            assert asked.data.xipos.abs().sum() > 0
        asked.step()
        silent.step()
    np.testing.assert_array_equal(exact_state(asked), exact_state(silent))


def test_writes_to_tensors_reach_mujoco_and_the_rest_stays_exact(make_sim):
    """A push changes what it writes; what it does not write keeps all 53 bits."""
    sim = make_sim(2)
    for _ in range(30):
        sim.step()
    plain = plain_copy(sim, env=1)
    sim.data.qvel[1, 0] += 0.75
    plain.qvel[0] = sim.data.qvel[1, 0].item()
    sim.data.xfrc_applied[1, 1, 2] = 25.0
    plain.xfrc_applied[1, 2] = 25.0
    for _ in range(STEPS):
        sim.step()
        mujoco.mj_step(sim.mj_model, plain)
    np.testing.assert_array_equal(sim.data.state["qpos"].exact[1], plain.qpos)


def test_reset_restores_the_chosen_environments_alone(make_sim):
    sim, untouched = make_sim(3), make_sim(3)
    for _ in range(40):
        sim.step()
        untouched.step()
    sim.reset(torch.tensor([1]))
    default = mujoco.MjData(sim.mj_model)
    np.testing.assert_array_equal(sim.data.qpos[1].numpy(), np.float32(default.qpos))
    assert sim.data.qvel[1].abs().sum() == 0
    assert sim.data.ctrl[1].abs().sum() == 0
    for _ in range(40):
        sim.step()
        untouched.step()
    assert_same_bits(sim, untouched, 0, 2)
    for _ in range(40):
        mujoco.mj_step(sim.mj_model, default)
    np.testing.assert_array_equal(sim.data.state["qpos"].exact[1], default.qpos)


def _changed(sim, name: str, index, value: float) -> mujoco.MjModel:
    model = make_model()
    sim.cfg.mujoco.apply(model)
    model.opt.disableflags = sim.mj_model.opt.disableflags
    getattr(model, name)[index] = value
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


@pytest.mark.parametrize(
    ("field", "index", "value", "level"),
    [
        ("geom_friction", (3, 0), 2.5, RecomputeLevel.none),
        ("body_mass", 1, 3.5, RecomputeLevel.set_const),
        ("body_ipos", (1, 0), 0.0625, RecomputeLevel.set_const),
        ("dof_armature", 6, 0.25, RecomputeLevel.set_const_0),
        ("actuator_gainprm", (0, 0), 12.5, RecomputeLevel.none),
        ("dof_damping", 7, 1.5, RecomputeLevel.none),
    ],
)
def test_randomised_env_behaves_like_a_model_built_that_way(
    make_sim, field, index, value, level
):
    """Env 1 is changed; envs 0 and 2 must not notice. Bit for bit."""
    sim, untouched = make_sim(3), make_sim(3)
    derived = ("body_subtreemass", "dof_invweight0", "body_invweight0",
               "tendon_length0", "tendon_invweight0", "actuator_acc0")  # fmt: skip
    sim.expand_model_fields((field, *(() if level == 0 else derived)))
    row = (index,) if isinstance(index, int) else index
    getattr(sim.model, field)[(1, *row)] = value
    sim.recompute_constants(level)
    own = _changed(sim, field, index, value)
    plain = plain_copy(sim, env=1)
    for _ in range(STEPS):
        sim.step()
        untouched.step()
        mujoco.mj_step(own, plain)
    np.testing.assert_array_equal(sim.data.state["qpos"].exact[1], plain.qpos)
    assert_same_bits(sim, untouched, 0, 2)
    changed = np.abs(exact_state(sim)[1] - exact_state(untouched)[1]).max()
    assert changed > 1e-6, "the change had no effect, the test proves nothing"


def test_moving_a_centre_of_mass_leaves_the_geometry(make_sim):
    """The thigh's capsule sits in the inertial frame of its body."""
    sim = make_sim(2)
    before = sim.data.geom_xpos
    sim.forward()
    place = before[1, 2].clone()
    sim.expand_model_fields(("body_ipos",))
    sim.model.body_ipos[1, 2, 0] += 0.0625
    sim.forward()
    assert torch.equal(before[1, 2], place)
    assert not torch.equal(sim.data.xipos[0, 2], sim.data.xipos[1, 2])


def test_model_fields_have_mujoco_warps_shapes(make_sim):
    sim = make_sim(4)
    assert sim.model.body_mass.shape == (4, 4)
    assert sim.model.geom_friction.shape == (4, 4, 3)
    assert sim.model.actuator_gainprm.shape == (4, 2, 10)
    assert sim.model.geom_bodyid.shape == (4,)
    assert sim.data.xmat.shape == (4, 4, 3, 3)
    assert sim.data.time.shape == (4,)
    assert sim.get_default_field("body_mass").shape == (4,)
