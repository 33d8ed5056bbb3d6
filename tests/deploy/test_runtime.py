"""The runtime from stand-up to stop, and each fault with its reaction in one tick."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from solo.deploy.phase import Phase, Request
from solo.deploy.runtime_cfg import RuntimeCfg
from solo.deploy.safety import Reaction, SafetyCfg

from .helpers import PERIOD_S, Rig


@pytest.fixture
def rig(tmp_path):
    rig = Rig(tmp_path)
    yield rig
    rig.close()


def test_idle_sends_nothing(rig):
    rig.tick(5)
    assert rig.runtime.phase == Phase.IDLE
    assert not rig.robot.commands


def test_standing_up_ramps_from_the_measured_to_the_default_pose(rig):
    rig.robot.joint_pos = np.array([0.5, -0.5, 0.0])
    rig.operator.request = Request.STAND_UP
    rig.tick(8)
    targets = np.array([command.q for command in rig.robot.commands])
    default = rig.contract.joints.default_pos
    assert targets[0] == pytest.approx(rig.robot.joint_pos)
    assert targets[-1] == pytest.approx(default)
    assert (np.diff(targets[:, 0]) <= 0.0).all()
    assert (rig.last.kp == rig.contract.joints.kp).all()


def test_walking_tracks_default_plus_scaled_action(rig):
    rig.walk()
    expected = rig.contract.joints.default_pos + 0.5 * 0.2
    assert rig.last.q == pytest.approx(expected)
    assert rig.policy.num_resets == 1


def test_targets_stay_within_the_limits(rig):
    rig.walk()
    rig.policy.action = np.array([9.0, -9.0, 0.0])
    rig.tick()
    assert rig.runtime.phase == Phase.WALKING
    assert rig.last.q[:2] == pytest.approx([1.0, -1.0])


def test_the_policy_sees_its_previous_action_and_the_limited_command(rig):
    rig.walk()
    rig.operator.velocity = (0.5, 0.0, 9.0)
    rig.tick(2)
    seen = rig.policy.seen[-1].proprioception
    assert seen[6:9] == pytest.approx([2 * PERIOD_S, 0.0, 4 * PERIOD_S])
    assert seen[-3:] == pytest.approx(rig.policy.action, abs=0.02)
    rig.tick(200)
    assert rig.policy.seen[-1].proprioception[6:9] == pytest.approx([0.5, 0.0, 1.0])


def test_windows_begin_with_the_first_value(rig):
    rig.walk()
    first = rig.policy.seen[0]
    assert (first.proprioception_window == first.proprioception).all()
    assert (first.depth_window == first.depth).all()
    assert first.is_new_depth
    assert rig.policy.seen[1].depth_window.shape == (2, 3, 4)


def test_walking_is_refused_without_depth_and_says_why(rig):
    rig.depth.is_silent = True
    rig.operator.request = Request.STAND_UP
    rig.tick(8)
    rig.operator.request = Request.WALK
    rig.tick()
    assert rig.runtime.phase == Phase.STAND_UP
    assert "lost_depth" in rig.runtime.snapshot.note


def test_stop_ends_the_run_with_damping(rig):
    rig.walk()
    rig.operator.request = Request.STOP
    assert not rig.tick()
    assert rig.runtime.phase == Phase.STOPPED
    assert rig.is_damped


def break_state(rig):
    rig.robot.is_silent = True


def break_depth(rig):
    rig.depth.is_silent = True


def break_operator(rig):
    rig.operator.is_silent = True


def nan_action(rig):
    rig.policy.action = np.array([0.0, np.nan, 0.0])


def wild_action(rig):
    rig.policy.action = np.array([0.0, 99.0, 0.0])


def crash(rig):
    rig.policy.error = ValueError("weights lost")


def nan_state(rig):
    rig.robot.joint_pos = np.full(3, np.nan)


def bent(rig):
    rig.robot.joint_pos = np.array([0.0, 1.5, 0.0])


def fast(rig):
    rig.robot.joint_vel = np.array([0.0, 0.0, 50.0])


def fallen(rig):
    rig.robot.quat_wxyz = np.array([0.5, 0.0, 0.8, 0.0])


def unplugged(rig):
    rig.robot.fails = True


FAULTS = {
    "stale_state": (break_state, "damp", 0.1),
    "stale_depth": (break_depth, "hold", 0.25),
    "lost_command": (break_operator, "hold", 0.5),
    "nan_action": (nan_action, "damp", 0.0),
    "action_range": (wild_action, "damp", 0.0),
    "policy_error": (crash, "damp", 0.0),
    "nan_state": (nan_state, "damp", 0.0),
    "joint_position": (bent, "damp", 0.06),
    "joint_velocity": (fast, "damp", 0.06),
    "tilt": (fallen, "damp", 0.0),
    "robot_error": (unplugged, "stop", 0.0),
}
"""Fault to what causes it, its reaction and the age at which it is one."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_its_reaction_within_one_tick(tmp_path, name):
    inject, reaction, age_s = FAULTS[name]
    rig = Rig(tmp_path)
    rig.walk()
    rig.operator.velocity = (0.5, 0.0, 0.0)
    rig.tick(150)
    inject(rig)
    silent_ticks = int(round(age_s / PERIOD_S, 6))
    if silent_ticks:
        rig.tick(silent_ticks)  # As old as allowed: still no fault.
        assert not rig.runtime.faults
        assert rig.runtime.snapshot.command[0] == pytest.approx(0.5)
    go_on = rig.tick()

    assert [fault.name for fault in rig.runtime.faults] == [name]
    if reaction == "hold":
        assert rig.runtime.phase == Phase.WALKING
        assert rig.runtime.snapshot.command[0] == pytest.approx(0.5 - PERIOD_S)
        assert rig.last.kp.any()
    elif reaction == "damp":
        assert rig.runtime.phase == Phase.DAMPING
        assert rig.is_damped
        assert go_on
    else:
        assert rig.runtime.phase == Phase.STOPPED
        assert not go_on

    rig.close()
    files = list(tmp_path.glob("*.npz"))
    assert [path.name for path in files] == [f"fault-00-{name}.npz"]
    record = np.load(files[0])
    assert str(record["fault"]) == name
    assert str(record["reaction"]) == reaction
    assert len(record["time_s"]) == 100  # Two seconds.
    assert record["time_s"][-1] == pytest.approx(rig.now)
    assert record["faults"][-1] != 0
    assert not record["faults"][:-1].any()


def test_a_stumble_is_no_fault(rig):
    """Joints over their limits for two ticks, again and again, and then for four."""
    rig.walk()
    for _ in range(3):
        fast(rig)
        rig.tick(2)
        rig.robot.joint_vel = np.zeros(3)
        rig.tick()
        assert rig.runtime.phase == Phase.WALKING
    assert not rig.runtime.recorder.fault_counts
    fast(rig)
    rig.tick(4)
    assert rig.runtime.phase == Phase.DAMPING
    assert rig.runtime.recorder.fault_counts == {"joint_velocity": 1}


def test_a_fault_that_lasts_is_written_once_and_a_held_robot_goes_on(rig, tmp_path):
    rig.walk()
    rig.operator.velocity = (0.5, 0.0, 0.0)
    rig.tick(50)
    rig.depth.is_silent = True
    rig.tick(50)
    assert rig.runtime.snapshot.command[0] == pytest.approx(0.0, abs=0.15)
    rig.depth.is_silent = False
    rig.tick(50)
    assert rig.runtime.phase == Phase.WALKING
    assert rig.runtime.snapshot.command[0] == pytest.approx(0.5)
    assert rig.runtime.recorder.fault_counts == {"stale_depth": 1}


def test_depth_that_stays_away_ends_in_damping(rig):
    rig.walk()
    rig.depth.is_silent = True
    rig.tick(int(2.0 / PERIOD_S) + 2)
    assert rig.runtime.phase == Phase.DAMPING
    assert rig.runtime.recorder.fault_counts == {"stale_depth": 1, "lost_depth": 1}


def test_reactions_can_be_configured(tmp_path):
    safety = dataclasses.replace(SafetyCfg(), stale_depth=Reaction.STOP)
    rig = Rig(tmp_path, cfg=RuntimeCfg(stand_up_s=0.1, safety=safety))
    rig.walk()
    rig.depth.is_silent = True
    rig.tick(20)
    assert rig.runtime.phase == Phase.STOPPED
    rig.close()


def test_a_fallen_robot_does_not_stand_up(rig):
    fallen(rig)
    rig.operator.request = Request.STAND_UP
    rig.tick(3)
    assert rig.runtime.phase == Phase.IDLE
    assert not rig.robot.commands


def test_an_error_in_the_loop_still_ends_with_damping(rig):
    rig.walk()

    def fail(now):
        raise RuntimeError("operator")

    rig.operator.read = fail
    with pytest.raises(RuntimeError, match="operator"):
        rig.runtime.run(max_ticks=1)
    assert rig.is_damped


def test_snapshots_are_never_changed_afterwards(rig):
    rig.walk()
    rig.operator.velocity = (0.5, 0.0, 0.0)
    rig.tick(5)
    snapshot = rig.runtime.snapshot
    before = (snapshot.command.copy(), snapshot.action.copy(), snapshot.time_s)
    rig.tick(20)
    assert (snapshot.command == before[0]).all()
    assert (snapshot.action == before[1]).all()
    assert rig.runtime.snapshot.time_s > before[2]
