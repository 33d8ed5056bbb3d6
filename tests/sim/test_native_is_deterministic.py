"""The result depends neither on threads nor on the company of other environments."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.conftest import exact_state

STEPS = 150


@pytest.fixture(scope="module")
def reference_states():
    return {}


@pytest.mark.parametrize("num_threads", [1, 2, 3, 64])
def test_same_bits_for_any_number_of_threads(make_sim, num_threads, reference_states):
    sim = make_sim(64, num_threads=num_threads)
    for _ in range(STEPS):
        sim.step()
    sim.forward()
    reference = reference_states.setdefault("states", exact_state(sim))
    np.testing.assert_array_equal(exact_state(sim), reference)


def test_one_env_alone_equals_the_same_env_among_64(make_sim):
    alone, among = make_sim(1), make_sim(64)
    for _ in range(STEPS):
        alone.step()
        among.step()
    np.testing.assert_array_equal(exact_state(alone)[0], exact_state(among)[0])


def test_all_cores_are_used_by_default(make_sim):
    from solo.sim.threads import available_cores

    assert make_sim(1).num_threads == available_cores()


def test_more_threads_than_environments(make_sim):
    few, one = make_sim(3, num_threads=8), make_sim(3, num_threads=1)
    for _ in range(STEPS):
        few.step()
        one.step()
    np.testing.assert_array_equal(exact_state(few), exact_state(one))
