"""The runtime from stand-up to stop, and each fault with its reaction in one tick."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from solo.deploy.phase import Phase, Request
from solo.deploy.runtime import RuntimeCfg
from solo.deploy.safety import Reaction, SafetyCfg
from solo.deploy.watches import TargetLimiter

from .helpers import PERIOD_S, Rig, healthy, tiny_contract


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


def change(device, **values):
    """What sets something on a device of the rig."""

    def inject(rig):
        for name, value in values.items():
            setattr(getattr(rig, device), name, value)

    return inject


def report(**values):
    """What the robot says about its own condition."""
    return change("robot", health=healthy(**values))


def act(*action):
    return change("policy", action=np.array(action))


def tell(name):
    """What a driver finds by itself."""
    return change("robot", problems={name: "seen by the driver"})


def pause(rig):
    rig.now += 0.19  # And the 0.02 s of the next tick.


bent = change("robot", joint_pos=np.array([0.0, 1.5, 0.0]))
fast = change("robot", joint_vel=np.array([0.0, 0.0, 50.0]))
fallen = change("robot", quat_wxyz=np.array([0.5, 0.0, 0.8, 0.0]))
freeze_depth = change("depth", is_frozen=True)
cover = change("depth", is_covered=True)

FAULTS = {
    "gyroscope": (change("robot", ang_vel_b=np.array([0.0, -6.5, 0.0])), "damp", 0.06),
    "motor_error": (report(errors=np.array([0, 0x200, 0])), "damp", 0.0),
    "overheat": (report(winding_c=np.array([60.0, 121.0, 60.0])), "damp", 0.0),
    "bus_voltage": (report(voltage=np.array([38.0, 50.0, 50.0])), "damp", 0.06),
    "low_battery": (report(battery=19.0), "hold", 0.0),
    "frozen_state": (change("robot", is_frozen=True), "damp", 0.1),
    "frozen_depth": (freeze_depth, "hold", 0.24),
    "covered_depth": (cover, "hold", 0.0),
    "stale_state": (change("robot", is_silent=True), "damp", 0.1),
    "stale_depth": (change("depth", is_silent=True), "hold", 0.25),
    "stale_command": (change("operator", is_silent=True), "hold", 0.5),
    "nan_action": (act(0.0, np.nan, 0.0), "damp", 0.0),
    "action_range": (act(0.0, 99.0, 0.0), "damp", 0.0),
    "policy_error": (change("policy", error=ValueError("weights lost")), "damp", 0.0),
    "nan_state": (change("robot", joint_pos=np.full(3, np.nan)), "damp", 0.0),
    "joint_position": (bent, "damp", 0.06),
    "joint_velocity": (fast, "damp", 0.06),
    "tilt": (fallen, "damp", 0.0),
    "robot_error": (change("robot", fails=True), "stop", 0.0),
    "pause": (pause, "damp", 0.0),
    "watchdog": (tell("watchdog"), "damp", 0.0),
    "mode_machine": (tell("mode_machine"), "damp", 0.0),
    "other_commands": (tell("other_commands"), "stop", 0.0),
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


def test_the_next_run_keeps_the_records_of_the_last(tmp_path):
    for _ in range(2):
        rig = Rig(tmp_path)
        rig.walk()
        rig.policy.action[:] = np.nan
        rig.tick()
        rig.close()
    names = sorted(path.name for path in tmp_path.glob("*.npz"))
    assert names == ["fault-00-nan_action.npz", "fault-01-nan_action.npz"]


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


def test_wrong_joints_in_two_ticks_of_three_are_a_fault_and_the_policy_never_sees_them(
    rig,
):
    rig.walk()
    for _ in range(5):
        rig.robot.joint_pos = np.array([0.0, 50.0, 0.0])
        rig.robot.joint_vel = np.array([0.0, 900.0, 0.0])
        rig.tick(2)
        rig.robot.joint_pos, rig.robot.joint_vel = np.full(3, 0.1), np.zeros(3)
        rig.tick()
    assert rig.runtime.phase == Phase.WALKING
    bent(rig)
    rig.tick()  # The 11th of 16 ticks: more than a fifth of a second.
    assert rig.runtime.phase == Phase.DAMPING
    assert rig.runtime.recorder.fault_counts["joint_position"] == 1
    seen = np.array([s.proprioception for s in rig.policy.seen])
    assert np.abs(seen[:, 9:15]).max() < 1.0


def test_five_images_a_second_are_too_few(rig):
    rig.walk()
    rig.depth.every = 10
    rig.tick(60)
    assert [fault.name for fault in rig.runtime.faults] == ["slow_depth"]
    assert "5.0 images per second" in rig.runtime.faults[0].message
    assert rig.runtime.phase == Phase.WALKING


@pytest.mark.parametrize("inject", [freeze_depth, cover])
def test_a_useless_image_that_stays_ends_in_damping(rig, inject):
    rig.walk()
    inject(rig)
    rig.tick(int(2.0 / PERIOD_S))
    assert rig.runtime.phase == Phase.WALKING
    rig.tick(20)
    assert rig.runtime.phase == Phase.DAMPING
    assert rig.runtime.recorder.fault_counts["lost_depth"] == 1


def test_walking_is_refused_with_a_covered_lens(rig):
    cover(rig)
    rig.operator.request = Request.STAND_UP
    rig.tick(8)
    rig.operator.request = Request.WALK
    rig.tick()
    assert rig.runtime.phase == Phase.STAND_UP
    assert "covered_depth" in rig.runtime.snapshot.note


def test_actions_that_alternate_are_slowed_at_once_and_then_damped():
    """One scale of 0.5 rad per tick is allowed, 3.8 are asked for."""
    safety = SafetyCfg(max_action_step=1.0)
    rig = Rig(cfg=RuntimeCfg(stand_up_s=0.1, blend_s=0.0, safety=safety))
    rig.walk()
    before = rig.last.q.copy()
    for tick in range(3):
        rig.policy.action = np.full(3, 1.9 if tick % 2 == 0 else -1.9)
        rig.tick()
        assert np.abs(rig.last.q - before).max() <= 0.5 + 1e-9
        assert rig.runtime.phase == Phase.WALKING
        before = rig.last.q.copy()
    rig.policy.action = np.full(3, -1.9)
    rig.tick()
    assert rig.runtime.phase == Phase.DAMPING
    assert rig.runtime.recorder.fault_counts == {"action_rate": 1}
    assert rig.runtime.limiter.num_slowed == 3
    rig.close()


@pytest.mark.parametrize("phase", [Phase.STAND_UP, Phase.WALKING])
def test_no_command_asks_a_motor_for_more_torque_than_it_has(phase):
    """The robot is held where it is: PD control pulls at the knee, which has 3 Nm."""
    contract = tiny_contract()
    limit = np.array([100.0, 3.0, 100.0])
    joints = dataclasses.replace(contract.joints, effort_limit=limit)
    rig = Rig(contract=dataclasses.replace(contract, joints=joints))
    rig.robot.joint_pos = np.array([0.1, -0.3, 0.3])
    if phase == Phase.WALKING:
        rig.walk()
    else:
        rig.operator.request = Request.STAND_UP
        rig.tick(8)
    assert rig.runtime.phase == phase
    sent = rig.robot.commands
    torque = np.array([c.kp * (c.q - rig.robot.joint_pos) for c in sent])
    assert np.abs(torque).max(axis=0)[1] == pytest.approx(3.0)
    assert rig.runtime.limiter.num_clipped > 0
    rig.close()


def test_a_motor_is_not_asked_for_more_torque_than_it_has(rig):
    """Knee: kp 20, kd 2, 3 Nm; at 0.2 rad and 1 rad/s a target of 0.7 gives 8 Nm."""
    joints = dataclasses.replace(
        rig.contract.joints, effort_limit=np.array([100.0, 3.0, 100.0])
    )
    limit = TargetLimiter(SafetyCfg(), joints)
    rig.robot.joint_pos = np.array([0.0, 0.2, 0.0])
    rig.robot.joint_vel = np.array([0.0, 1.0, 0.0])
    state = rig.robot.read()
    target = limit(np.array([0.1, 0.7, 0.1]), state)
    assert target == pytest.approx([0.1, 0.45, 0.1])  # 20 x 0.25 - 2 x 1 = 3 Nm.
    assert limit.num_clipped == 1
    assert (limit(np.array([0.1, 0.4, 0.1]), state) == [0.1, 0.4, 0.1]).all()
    assert limit.num_clipped == 1


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


def test_a_command_that_stays_away_ends_in_damping(rig):
    rig.walk()
    rig.operator.is_silent = True
    rig.tick(int(5.0 / PERIOD_S))
    assert rig.runtime.phase == Phase.WALKING  # It holds.
    rig.tick(2)
    assert rig.runtime.phase == Phase.DAMPING
    assert rig.runtime.recorder.fault_counts == {"stale_command": 1, "lost_command": 1}


def test_nobody_at_the_controls_of_a_standing_robot_ends_in_damping_as_well(rig):
    rig.operator.request = Request.STAND_UP
    rig.tick(8)
    rig.operator.is_silent = True
    rig.tick(int(5.0 / PERIOD_S) + 2)
    assert rig.runtime.phase == Phase.DAMPING


def test_after_a_pause_it_stays_damped_until_it_is_asked_again(rig):
    rig.walk()
    rig.now += 0.6
    rig.tick(100)
    assert rig.runtime.phase == Phase.DAMPING
    assert not any(command.kp.any() for command in rig.robot.commands[-100:])
    assert rig.runtime.recorder.fault_counts == {"pause": 1}
    rig.operator.request = Request.STAND_UP
    rig.tick()
    assert rig.runtime.phase == Phase.STAND_UP


def test_a_pause_in_damping_is_no_fault(rig):
    rig.operator.request = Request.DAMP
    rig.tick(3)
    rig.now += 5.0
    rig.tick(3)
    assert not rig.runtime.recorder.fault_counts


@pytest.mark.parametrize(("period_s", "is_slow"), [(0.024, False), (0.026, True)])
def test_a_loop_that_cannot_keep_up_is_damped(rig, period_s, is_slow):
    """50 ticks at 24 ms are 41.7 Hz, at 26 ms 38.5 Hz; 40 are needed."""
    rig.walk()
    for _ in range(60):
        rig.now += period_s - PERIOD_S
        rig.tick()
    assert (rig.runtime.phase == Phase.DAMPING) == is_slow
    assert ("slow_loop" in rig.runtime.recorder.fault_counts) == is_slow
    rig.operator.request = Request.STAND_UP
    rig.tick(60)  # Again at 50 Hz; the request came while it was still too slow.
    assert (rig.runtime.phase == Phase.DAMPING) == is_slow


def test_the_policy_takes_over_from_the_default_pose_without_a_step(tmp_path):
    rig = Rig(tmp_path, cfg=RuntimeCfg(stand_up_s=0.1, blend_s=0.6))
    rig.policy.action = np.array([1.6, -1.6, 0.0])  # 0.8 rad.
    rig.operator.request = Request.STAND_UP
    rig.tick(8)
    begin = len(rig.robot.commands) - 1
    rig.operator.request = Request.WALK
    rig.tick(40)
    targets = np.array([command.q for command in rig.robot.commands[begin:]])
    default = rig.contract.joints.default_pos
    assert targets[0] == pytest.approx(default)
    # The steepest part of the blend is 1.5 / 0.6 s.
    steps = np.abs(np.diff(targets, axis=0)).max(axis=0)
    assert steps[:2] == pytest.approx(1.5 / 0.6 * PERIOD_S * 0.8, rel=0.03)
    assert targets[-1][:2] == pytest.approx([0.1 + 0.8, 0.2 - 0.8], abs=0.02)
    # The policy sees as its last action what was done of it.
    done = (targets[10] - default) / 0.5
    assert rig.policy.seen[10].proprioception[-3:] == pytest.approx(done, abs=1e-6)
    rig.close()


@pytest.mark.parametrize(
    ("phase", "device", "method", "is_before"),
    [
        (Phase.STAND_UP, "operator", "read", False),
        (Phase.STAND_UP, "robot", "write", True),
        (Phase.STAND_UP, "robot", "write", False),
        (Phase.WALKING, "operator", "read", False),
        (Phase.WALKING, "policy", "step", False),
        (Phase.WALKING, "robot", "write", True),
        (Phase.WALKING, "robot", "write", False),
    ],
)
def test_stop_damps_at_once_and_no_stiff_command_follows(
    rig, phase, device, method, is_before
):
    """A signal comes anywhere in a tick, also while its command is being written."""
    if phase == Phase.WALKING:
        rig.walk()
    else:
        rig.operator.request = Request.STAND_UP
        rig.tick(2)
    owner, begin = getattr(rig, device), len(rig.robot.commands)
    real = getattr(owner, method)

    def interrupted(*args):
        setattr(owner, method, real)
        if is_before:
            rig.runtime.stop()
        result = real(*args)
        if not is_before:
            rig.runtime.stop()
        if device != "robot":
            assert rig.is_damped
        return result

    setattr(owner, method, interrupted)
    rig.tick()
    assert rig.is_damped
    sent = [bool(command.kp.any()) for command in rig.robot.commands[begin:]]
    assert sent == sorted(sent, reverse=True)  # Once damped, damped for good.
    assert not rig.tick()
    assert rig.runtime.phase == Phase.STOPPED
    assert rig.is_damped


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
