"""Proprioception has the contract's order, units and signs."""

from __future__ import annotations

import numpy as np
import pytest

from solo.deploy.contract import JointContract, reorder
from solo.deploy.drivers.protocols import RobotState
from solo.deploy.observation import (
    TERMS,
    Window,
    assemble,
    projected_gravity,
    term_slices,
)
from solo.errors import SoloError

from .helpers import g1_contract, tiny_joints


def turned(axis: int, degrees: float) -> np.ndarray:
    half = np.radians(degrees) / 2
    quat = np.zeros(4)
    quat[0], quat[1 + axis] = np.cos(half), np.sin(half)
    return quat


@pytest.mark.parametrize(
    ("quat", "expected"),
    [
        (turned(0, 0.0), (0.0, 0.0, -1.0)),
        (turned(1, 30.0), (0.5, 0.0, -np.sqrt(0.75))),  # Nose down: gravity ahead.
        (turned(0, 30.0), (0.0, -0.5, -np.sqrt(0.75))),  # Right side down.
        (turned(2, 70.0), (0.0, 0.0, -1.0)),  # Heading does not matter.
        (2.0 * turned(1, 90.0), (1.0, 0.0, 0.0)),  # Nor does the norm.
    ],
)
def test_projected_gravity_of_known_rotations(quat, expected):
    assert projected_gravity(quat) == pytest.approx(expected, abs=1e-12)


def test_terms_stand_where_the_conventions_say():
    slices = term_slices(25)
    assert list(slices) == list(TERMS)
    assert [(s.start, s.stop) for s in slices.values()] == [
        (0, 3), (3, 6), (6, 9), (9, 34), (34, 59), (59, 84),
    ]  # fmt: skip


def test_each_number_comes_from_its_source():
    state = RobotState(
        time_s=0.0,
        joint_pos=np.array([1.1, 1.2, 1.3]),
        joint_vel=np.array([4.0, 5.0, 6.0]),
        quat_wxyz=turned(0, 0.0),
        ang_vel_b=np.array([0.1, 0.2, 0.3]),
    )
    values = assemble(state, np.array([7.0, 8.0, 9.0]), np.full(3, 2.0), tiny_joints())
    assert values.dtype == np.float32
    assert values == pytest.approx(
        [0.1, 0.2, 0.3, 0, 0, -1, 7, 8, 9, 1, 1, 1, 4, 5, 6, 2, 2, 2], abs=1e-6
    )


def test_window_is_filled_by_the_first_value_and_then_slides():
    window = Window(3, (1,))
    assert window.push(np.array([5.0])).ravel().tolist() == [5, 5, 5]
    first = window.push(np.array([6.0]))
    assert first.ravel().tolist() == [5, 5, 6]
    window.push(np.array([7.0]))
    assert first.ravel().tolist() == [5, 5, 6]  # A copy.
    window.reset()
    assert window.push(np.array([8.0])).ravel().tolist() == [8, 8, 8]


def test_missing_joint_is_refused_by_name():
    with pytest.raises(SoloError, match=r"'knee'.*'bot'"):
        reorder(("hip", "ankle"), ("hip", "knee"), "bot")
    assert reorder(("a", "b", "c"), ("c", "a"), "bot") == (2, 0)


def test_contract_refuses_wrong_lengths_and_poses():
    good = tiny_joints()
    values = {
        name: getattr(good, name)
        for name in (
            "default_pos", "action_scale", "kp", "kd", "pos_low", "pos_high",
            "vel_limit", "effort_limit",
        )
    }  # fmt: skip
    with pytest.raises(SoloError, match="kp has shape"):
        JointContract(good.names, **{**values, "kp": np.zeros(2)})
    with pytest.raises(SoloError, match="knee"):
        JointContract(good.names, **{**values, "default_pos": np.array([0, 2, 0])})


def test_g1_has_84_numbers():
    contract = g1_contract()
    assert term_slices(len(contract.joints.names))["last_action"].stop == 84
