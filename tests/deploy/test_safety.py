"""Each check finds its fault and nothing else."""

from __future__ import annotations

import re

import numpy as np
import pytest

from solo.deploy.drivers.protocols import RobotState
from solo.deploy.phase import Phase, Request, next_phase
from solo.deploy.safety import (
    FAULTS,
    Reaction,
    SafetyCfg,
    check_action,
    check_ages,
    check_health,
    check_state,
    fault_bits,
    worst,
)
from solo.deploy.watches import StateWatch

from .helpers import healthy, tiny_joints

CFG, JOINTS = SafetyCfg(), tiny_joints()


def state(**changes) -> RobotState:
    values = {
        "time_s": 0.0,
        "joint_pos": np.zeros(3),
        "joint_vel": np.zeros(3),
        "quat_wxyz": np.array([1.0, 0.0, 0.0, 0.0]),
        "ang_vel_b": np.zeros(3),
    }
    return RobotState(**{**values, **changes})


def tilted(degrees: float) -> np.ndarray:
    half = np.radians(degrees) / 2
    return np.array([np.cos(half), 0.0, np.sin(half), 0.0])


def names(faults) -> list[str]:
    return [fault.name for fault in faults]


def test_a_sound_tick_has_no_faults():
    assert not check_ages(CFG, 0.01, 0.03, 0.1)
    assert not check_state(CFG, JOINTS, state())
    assert not check_action(CFG, JOINTS, np.array([1.0, -2.0, 0.0]), np.zeros(3))


@pytest.mark.parametrize(
    ("ages", "expected"),
    [
        ((0.2, 0.0, 0.0), "stale_state"),
        ((np.inf, 0.0, 0.0), "stale_state"),
        ((np.nan, 0.0, 0.0), "stale_state"),
        ((0.0, 0.5, 0.0), "stale_depth"),
        ((0.0, 5.0, 0.0), "lost_depth"),
        ((0.0, 0.0, 1.0), "stale_command"),
        ((0.0, 0.0, 5.1), "lost_command"),
    ],
)
def test_old_data_is_found(ages, expected):
    assert names(check_ages(CFG, *ages)) == [expected]


def test_depth_that_is_not_needed_is_not_checked():
    assert not check_ages(CFG, 0.0, None, 0.0)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"joint_pos": np.array([0.0, 1.3, 0.0])}, "joint_position"),
        ({"joint_pos": np.array([-1.2, 0.0, 0.0])}, "joint_position"),
        ({"joint_vel": np.array([0.0, 0.0, -11.0])}, "joint_velocity"),
        ({"joint_vel": np.array([np.nan, 0.0, 0.0])}, "nan_state"),
        ({"quat_wxyz": np.zeros(4)}, "nan_state"),
        ({"quat_wxyz": tilted(75.0)}, "tilt"),
    ],
)
def test_bad_states_are_found(changes, expected):
    assert names(check_state(CFG, JOINTS, state(**changes))) == [expected]


@pytest.mark.parametrize(
    ("changes", "expected", "words"),
    [
        ({"errors": np.array([0, 0, 0x200])}, "motor_error", "ankle reports .* 0x200"),
        ({"winding_c": np.array([0, 121, 0])}, "overheat", "winding of knee has 121"),
        ({"casing_c": np.array([86, 0, 0])}, "overheat", "casing of hip has 86 C"),
        ({"voltage": np.array([50, 38.5, 50])}, "bus_voltage", "38.5 V .allowed 39"),
        ({"voltage": np.array([50, 61.0, 50])}, "bus_voltage", "61.0 V .* to 60"),
        ({"battery": 19.0}, "low_battery", "19 % .at least 20"),
    ],
)
def test_a_sick_robot_is_found(changes, expected, words):
    found = check_health(CFG, healthy(**changes))
    assert names(found) == [expected]
    assert re.search(words, found[0].message)


def test_what_is_not_reported_is_not_judged():
    unknown = healthy(battery=float("nan"), voltage=np.zeros(3))
    assert not check_health(CFG, unknown)


@pytest.mark.parametrize(
    ("clocks_ms", "is_fault"),
    [
        (range(0, 200, 20), False),
        ([0, 20, 40, 40, 40, 40, 40, 40], False),  # 0.1 s: as long as allowed.
        ([0, 20, 40, 40, 40, 40, 40, 40, 40], True),
        ([100, 120, 60], True),
        ([2**32 - 10, 10, 30], False),  # Its 32 bits are full.
    ],
)
def test_a_robot_whose_clock_stands_or_goes_back_is_found(clocks_ms, is_fault):
    watch, found = StateWatch(CFG), []
    for tick, clock_ms in enumerate(clocks_ms):
        moving = np.full(3, 1e-6 * tick)
        health = healthy(clock_ms=clock_ms)
        now = 0.02 * tick
        found = watch.check(state(time_s=now, ang_vel_b=moving, health=health))
    assert names(found) == (["frozen_state"] if is_fault else [])


def test_a_state_that_is_only_old_is_not_frozen():
    watch, old = StateWatch(CFG), state()
    assert not any(watch.check(old) for _ in range(50))


def test_limits_leave_room_for_what_is_normal():
    assert not check_state(CFG, JOINTS, state(joint_pos=np.array([1.1, 0.0, 0.0])))
    assert not check_state(CFG, JOINTS, state(quat_wxyz=tilted(45.0)))


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (np.array([0.0, np.nan, 0.0]), "nan_action"),
        (np.array([0.0, np.inf, 0.0]), "nan_action"),
        (np.array([0.0, 0.0, -20.0]), "action_range"),
        (np.array([0.0, 0.0, -6.1]), "action_rate"),
        (np.zeros(4), "policy_error"),
    ],
)
def test_bad_actions_are_found(action, expected):
    assert names(check_action(CFG, JOINTS, action, np.zeros(3))) == [expected]


def test_messages_name_the_joint_and_the_limit():
    fault = check_state(CFG, JOINTS, state(joint_vel=np.array([0.0, 12.0, 0.0])))[0]
    assert "knee" in fault.message
    assert "12.0" in fault.message
    assert "10" in fault.message


def test_every_fault_has_a_bit_of_its_own():
    places = [FAULTS.index(name) for name in ("stale_state", "tilt", "action_rate")]
    assert places == [0, 9, 27]  # As the logs of version 1 have them.
    old = check_ages(CFG, 1.0, 1.0, 1.0)
    assert fault_bits(old) == 0b1_0000_0000_0011
    assert worst(old) == Reaction.DAMP
    assert worst([]) == Reaction.NONE


@pytest.mark.parametrize("phase", Phase)
def test_stop_ends_everything_and_damping_is_always_granted(phase):
    assert next_phase(phase, Request.STOP, Reaction.NONE, True) == Phase.STOPPED
    assert next_phase(phase, Request.NONE, Reaction.STOP, True) == Phase.STOPPED
    if phase != Phase.STOPPED:
        assert next_phase(phase, Request.DAMP, Reaction.NONE, True) == Phase.DAMPING


def test_a_damped_robot_stays_down_until_asked_and_only_if_nothing_is_wrong():
    stay = next_phase(Phase.DAMPING, Request.NONE, Reaction.NONE, True)
    assert stay == Phase.DAMPING
    refused = next_phase(Phase.DAMPING, Request.STAND_UP, Reaction.DAMP, True)
    assert refused == Phase.DAMPING
    granted = next_phase(Phase.DAMPING, Request.STAND_UP, Reaction.NONE, True)
    assert granted == Phase.STAND_UP


def test_walking_begins_only_from_the_end_of_the_ramp():
    args = (Request.WALK, Reaction.NONE)
    assert next_phase(Phase.IDLE, *args, True) == Phase.IDLE
    assert next_phase(Phase.DAMPING, *args, True) == Phase.DAMPING
    assert next_phase(Phase.STAND_UP, *args, False) == Phase.STAND_UP
    assert next_phase(Phase.STAND_UP, *args, True) == Phase.WALKING
