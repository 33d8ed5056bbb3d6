"""An environment that breaks restarts alone, is counted, and says so."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.sim.conftest import assert_same_bits, exact_state


def _break_position(sim):
    sim.data.qpos[2, 7] = float("nan")


def _break_velocity(sim):
    sim.data.qvel[2, 1] = float("inf")


def _break_control(sim):
    sim.data.ctrl[2, 0] = float("nan")


def _explode(sim):
    """Finite, but so fast that MuJoCo's accelerations leave its allowed range."""
    sim.data.qvel[2, 3:6] = 1e9


@pytest.mark.parametrize(
    "fault", [_break_position, _break_velocity, _break_control, _explode]
)
def test_one_bad_env_restarts_and_the_others_do_not_notice(make_sim, fault, capfd):
    sim, healthy = make_sim(4), make_sim(4)
    for _ in range(10):
        sim.step()
        healthy.step()
    fault(sim)
    for _ in range(50):
        sim.step()
        healthy.step()
    assert sim.divergence_count >= 1
    assert sim.diverged.tolist() == [False, False, True, False]
    assert np.isfinite(exact_state(sim)).all()
    assert_same_bits(sim, healthy, 0, 1, 3)
    assert "WARNING" not in "".join(capfd.readouterr())


def test_forward_notices_a_bad_state_too(make_sim):
    sim = make_sim(3)
    position = sim.data.xpos
    _break_position(sim)
    sim.forward()
    assert sim.diverged.tolist() == [False, False, True]
    assert torch.isfinite(position).all()


def test_resetting_the_env_clears_its_mark(make_sim):
    sim = make_sim(3)
    _break_position(sim)
    sim.step()
    sim.reset(torch.tensor([0, 2]))
    assert not sim.diverged.any()
    assert sim.divergence_count == 1


def test_the_restarted_env_is_at_the_default_state(make_sim):
    sim = make_sim(3)
    _break_position(sim)
    sim.step()
    np.testing.assert_array_equal(
        sim.data.qpos[2].numpy(), np.float32(sim.mj_model.qpos0)
    )


def test_healthy_envs_are_not_counted(make_sim):
    sim = make_sim(8)
    for _ in range(100):
        sim.step()
    assert sim.divergence_count == 0
    assert not sim.diverged.any()
