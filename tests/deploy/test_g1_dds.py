"""The runtime and a simulated G1 on the real middleware, in two processes."""

from __future__ import annotations

import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from solo.bench.stop import free_domain
from solo.deploy.command import ScriptedOperator
from solo.deploy.drivers import g1_messages as messages
from solo.deploy.drivers import g1_publisher
from solo.deploy.drivers.dds import Connection, TopicListener
from solo.deploy.drivers.g1_dds import COMMAND_TOPIC, G1Cfg, G1Robot
from solo.deploy.drivers.protocols import JointCommand, damping_command
from solo.deploy.drivers.sim_dds import InjectedFault, SimG1
from solo.deploy.drivers.sim_robot import HarnessCfg, SimRobot
from solo.deploy.phase import Phase
from solo.deploy.runtime import Runtime, RuntimeCfg
from solo.errors import SoloError
from tests.deploy.stand import StandPolicy

from .helpers import PATIENT
from .test_g1_messages import random_record

pytest.importorskip(
    "cyclonedds", reason='needs Cyclone DDS: pip install "solo-locomotion[g1]"'
)


@pytest.fixture
def domain():
    """A DDS domain of our own, so that tests side by side do not meet."""
    with free_domain() as domain:
        yield domain


def problems_of(robot: G1Robot) -> Mapping[str, str]:
    state = robot.read()
    assert state is not None
    return state.problems


@contextmanager
def simulated_g1(model, domain: int, *options: str, wait_s: float = 1.0):
    process = subprocess.Popen(
        [sys.executable, "-m", "solo.cli.main", "sim-robot", "--model", str(model),
         "--domain", str(domain), "--wait", str(wait_s), *options],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Simulated G1")
        yield process
    finally:
        process.kill()
        process.wait()


def patient_cfg(domain: int) -> G1Cfg:
    """A simulated robot on a machine that may be busy."""
    return G1Cfg(
        interface="lo", domain_id=domain, connect_timeout_s=60.0, service_timeout_s=60.0
    )


@contextmanager
def connected(contract, domain: int, **options):
    options = {"watchdog_s": 600.0, **options}
    cfg = replace(patient_cfg(domain), **options)
    robot = G1Robot(contract.joints, cfg)
    robot.start()
    try:
        yield robot
    finally:
        robot.close()


def stand(contract, robot, seconds: float) -> Runtime:
    runtime = Runtime(
        contract,
        robot,
        StandPolicy(contract.joints),
        ScriptedOperator(),
        None,
        RuntimeCfg(safety=PATIENT),
    )
    runtime.run(max_ticks=round(seconds * contract.control_hz))
    return runtime


@pytest.fixture
def stiff(contract):
    """A command that holds the default pose."""
    joints, zeros = contract.joints, np.zeros(25)
    return JointCommand(joints.default_pos, zeros, joints.kp, joints.kd, zeros)


def tilt_deg(robot: G1Robot) -> float:
    state = robot.read()
    assert state is not None
    _, x, y, _ = state.quat_wxyz
    return float(np.degrees(np.arccos(1.0 - 2.0 * (x * x + y * y))))


def test_our_encoding_equals_the_middlewares():
    from cyclonedds.idl import IdlStruct

    from solo.deploy.drivers import g1_idl

    record = random_record(messages.LOW_STATE, 5)

    def as_struct(kind, value):
        parts = {"imu_state": g1_idl.IMUState, "motor_state": g1_idl.MotorState,
                 "motor_cmd": g1_idl.MotorCmd}  # fmt: skip
        fields = {}
        for name in value.dtype.names:
            item = value[name]
            if name in parts and item.shape:
                fields[name] = [as_struct(parts[name], row) for row in item]
            elif name in parts:
                fields[name] = as_struct(parts[name], item)
            else:
                fields[name] = item.tolist()
        return kind(**fields)

    theirs = IdlStruct.serialize(as_struct(g1_idl.LowState, record))
    assert theirs == messages.to_wire(record)
    command = random_record(messages.LOW_CMD, 6)
    theirs = IdlStruct.serialize(as_struct(g1_idl.LowCmd, command))
    assert theirs == messages.to_wire(command)
    assert g1_idl.LowCmd.__idl_typename__ == "unitree_hg.msg.dds_.LowCmd_"


def test_commands_carry_modes_checksum_and_held_wrists(contract):
    robot = G1Robot(contract.joints, G1Cfg())
    robot._mode_machine = 5
    joints = contract.joints
    zeros = np.zeros(25)
    ramp = np.arange(25.0)
    record = robot._encode(JointCommand(ramp, zeros, joints.kp, joints.kd, zeros))
    assert messages.is_sound(record)
    assert (record["mode_pr"], record["mode_machine"]) == (0, 5)
    motors = record["motor_cmd"]
    assert motors["mode"].tolist() == [1] * 29 + [0] * 6
    assert motors["q"][22] == 20.0  # Right shoulder pitch, after two left wrists.
    wrists = [20, 21, 27, 28]
    assert (motors["q"][wrists] == 0.0).all()
    assert (motors["kp"][wrists] == 20.0).all()
    damped = robot._encode(damping_command(25, 5.0))["motor_cmd"]
    assert not damped["kp"].any()
    assert (damped["kd"][:29] > 0.0).all()


def test_wrists_go_to_zero_slowly_from_where_they_were(contract, stiff):
    robot = G1Robot(contract.joints, G1Cfg())
    state = np.zeros((), messages.LOW_STATE)
    state["motor_state"]["q"][20] = 1.0
    state["imu_state"]["quaternion"] = [1.0, 0.0, 0.0, 0.0]
    robot._on_state(messages.seal(state))
    robot._encode(damping_command(25, 5.0))
    targets = []
    for _ in range(5):
        time.sleep(0.02)
        targets.append(robot._encode(stiff)["motor_cmd"]["q"][20])
    assert 0.97 < targets[0] < 1.0
    assert (np.diff(targets) < 0.0).all()
    assert targets[-1] > 0.85


@pytest.mark.slow
def test_stands_over_dds_and_damps_when_the_robot_falls_silent(contract, model, domain):
    with (
        simulated_g1(model, domain, wait_s=60.0) as process,
        connected(contract, domain) as robot,
    ):
        runtime = stand(contract, robot, 4.0)
        assert runtime.phase == Phase.WALKING
        assert tilt_deg(robot) < 8.0
        assert robot.num_bad == 0
        process.kill()
        process.wait()
        safety = replace(PATIENT, max_state_age_s=0.1)
        runtime.cfg = replace(runtime.cfg, safety=safety)
        runtime.run(max_ticks=runtime.loop.stats.num_ticks + 15)
        assert runtime.phase == Phase.DAMPING
        assert runtime.recorder.fault_counts["stale_state"] == 1


@pytest.mark.slow
def test_stands_for_20_s_while_5_percent_of_the_messages_are_lost(
    contract, model, domain
):
    with (
        simulated_g1(model, domain, "--drop", "0.05", wait_s=60.0),
        connected(contract, domain) as robot,
    ):
        runtime = stand(contract, robot, 23.0)
        assert runtime.phase == Phase.WALKING
        assert not runtime.recorder.fault_counts
        assert tilt_deg(robot) < 8.0


@pytest.fixture(scope="module")
def hanging(contract, model):
    """A simulated G1 that stays in its ropes, and a driver that is connected to it."""
    robot = SimRobot.from_file(model, HarnessCfg(release_s=np.inf))
    is_over = threading.Event()

    def simulate():
        while not is_over.is_set():
            sim.run(0.1)

    with free_domain() as domain:
        sim = SimG1(robot, "lo", domain)
        thread = threading.Thread(target=simulate)
        thread.start()
        with connected(contract, domain) as driver:
            yield sim, driver
        is_over.set()
        thread.join()
        sim.close()


FAULTS = [
    ("motor_error", "motor_error", Phase.DAMPING),
    ("hot_winding", "overheat", Phase.DAMPING),
    ("hot_casing", "overheat", Phase.DAMPING),
    ("low_voltage", "bus_voltage", Phase.DAMPING),
    ("gyroscope", "gyroscope", Phase.DAMPING),
    ("frozen_clock", "frozen_state", Phase.DAMPING),
    ("clock_back", "frozen_state", Phase.DAMPING),
    ("frozen_state", "frozen_state", Phase.DAMPING),
    ("wild_joint", "joint_position", Phase.DAMPING),
    ("mode_machine", "mode_machine", Phase.DAMPING),
    ("low_battery", "low_battery", Phase.STAND_UP),
]
QUICK = ("motor_error", "frozen_state", "low_battery")
"""What the robot reports, what it fails to report, and what is no reason to stop."""


@pytest.mark.parametrize(
    ("injected", "fault", "phase"),
    [
        pytest.param(*case, marks=[] if case[0] in QUICK else pytest.mark.slow)
        for case in FAULTS
    ],
)
def test_a_fault_of_the_robot_is_seen(contract, hanging, injected, fault, phase):
    sim, robot = hanging
    safety = replace(PATIENT, max_frozen_state_s=0.1)
    cfg = RuntimeCfg(start=Phase.STAND_UP, stand_up_s=60.0, safety=safety)
    policy = StandPolicy(contract.joints)
    runtime = Runtime(contract, robot, policy, ScriptedOperator(), None, cfg)
    deadline = time.monotonic() + 60.0

    def tick(num: int) -> None:
        for _ in range(num):
            if not runtime.faults and time.monotonic() < deadline:
                runtime.tick(time.monotonic())
                time.sleep(contract.period_s)

    try:
        tick(5)
        assert not runtime.recorder.fault_counts
        assert runtime.phase == Phase.STAND_UP
        sim.fault = InjectedFault(injected)
        tick(3000)
    finally:
        sim.fault = InjectedFault()
    assert runtime.recorder.fault_counts == {fault: 1}
    assert runtime.phase == phase
    # Later tests begin with a sound robot; its battery reports 20 times a second.
    deadline, seen = time.monotonic() + 30.0, robot.num_states + 5
    while robot.num_states < seen or robot._battery < 50.0:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
def test_the_verb_injects_a_fault(contract, domain):
    words = ["sim-robot", "--domain", str(domain), "--fault", "motor_error"]
    process = subprocess.Popen(
        [sys.executable, "-um", "solo.cli.main", *words, "--fault-at", "0"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Simulated G1 on lo")
        with connected(contract, domain) as robot:
            cfg = RuntimeCfg(start=Phase.STAND_UP, safety=PATIENT)
            policy = StandPolicy(contract.joints)
            runtime = Runtime(contract, robot, policy, ScriptedOperator(), None, cfg)
            runtime.tick(time.monotonic())
        assert [fault.name for fault in runtime.faults] == ["motor_error"]
        assert "left_knee_joint reports error 0x200" in runtime.faults[0].message
        assert runtime.phase == Phase.DAMPING
    finally:
        process.kill()
        process.wait()


def test_a_domain_is_given_to_one_program_at_a_time(monkeypatch):
    monkeypatch.setattr(random, "sample", lambda numbers, _: list(numbers))
    with free_domain() as first, free_domain() as second:
        assert first != second
        connection = Connection("lo", second)
    with free_domain() as third, free_domain() as fourth:
        assert third == first
        assert fourth not in (first, second)  # There is still a participant in it.
    connection.close()


def test_unknown_faults_cannot_be_injected():
    with pytest.raises(SoloError, match=r"Unknown fault 'flu'. Allowed: motor_error"):
        InjectedFault("flu")


def test_the_simulated_g1_obeys_only_sound_commands(contract, model, domain):
    from solo.deploy.drivers import g1_idl

    command = np.zeros((), messages.LOW_CMD)
    command["mode_machine"] = messages.MODE_MACHINE_29
    command["motor_cmd"]["mode"] = 1
    sound = messages.seal(command.copy())
    corrupt, other_mode = sound.copy(), command.copy()
    corrupt["motor_cmd"]["q"][3] = 1.0
    other_mode["mode_machine"] = 4
    sim = SimG1(SimRobot.from_file(model), "lo", domain, motion="off")
    connection = Connection("lo", domain)
    writer = connection.writer(COMMAND_TOPIC, g1_idl.LowCmd)

    def write_until_heard(record) -> None:
        def is_heard() -> bool:
            writer.write(g1_idl.EncodedCommand(record))
            return sim.num_refused + sim.num_commands > before

        before = sim.num_refused + sim.num_commands
        wait_until(is_heard, "nothing is heard")

    for _ in range(5):
        write_until_heard(corrupt)
        write_until_heard(messages.seal(other_mode))
    assert sim.num_commands == 0
    write_until_heard(sound)
    wait_until(lambda: sim.num_commands > 0, "a sound command is not obeyed")
    connection.close()
    sim.close()


@contextmanager
def heard_commands(domain: int):
    """What is sent to the motors: time and whether it is stiff."""
    from solo.deploy.drivers import g1_idl

    heard: list[tuple[float, bool]] = []

    def hear(record):
        assert messages.is_sound(record)
        heard.append((time.monotonic(), bool(record["motor_cmd"]["kp"].any())))

    connection = Connection("lo", domain)
    listener = TopicListener(connection, COMMAND_TOPIC, g1_idl.LowCmd, hear)
    yield heard
    listener.close()
    connection.close()


def wait_until(condition, what: str, timeout_s: float = 60.0) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.005)


def write_until(robot, command, heard, is_stiff: bool) -> None:
    """Repeat a command as the loop does, until it is what the motors are told."""

    def is_told():
        robot.write(command)
        return bool(heard) and heard[-1][1] == is_stiff

    wait_until(is_told, f"the motors were not told to be {is_stiff=}")


def write_until_lost(robot, command) -> None:
    """Repeat a command as a loop does that sees nothing, until it cannot be sent."""
    end = time.monotonic() + 60.0
    while time.monotonic() < end:
        robot.write(command)
        time.sleep(0.02)


@pytest.mark.slow
def test_the_watchdog_damps_and_stays_so_until_the_loop_has_damped(
    contract, stiff, model, domain
):
    with (
        simulated_g1(model, domain),
        connected(contract, domain, watchdog_s=4.0) as robot,
        heard_commands(domain) as heard,
    ):
        write_until(robot, stiff, heard, True)
        assert not problems_of(robot)
        wait_until(lambda: not heard[-1][1], "no damping while the loop hangs")
        wait_until(lambda: problems_of(robot), "the watchdog says nothing")
        assert "(allowed 4)" in problems_of(robot)["watchdog"]
        begin = len(heard)
        for _ in range(30):  # The loop goes on as if nothing had happened.
            robot.write(stiff)
            time.sleep(0.02)
        assert len(heard) > begin
        assert not any(is_stiff for _, is_stiff in heard[begin:])
        robot.write(damping_command(25, 5.0))  # It has seen the fault,
        assert not problems_of(robot)
        write_until(robot, stiff, heard, True)  # and is asked to stand up.


@pytest.mark.slow
def test_closing_damps_for_a_second(contract, stiff, model, domain):
    with (
        simulated_g1(model, domain),
        heard_commands(domain) as heard,
        connected(contract, domain) as robot,
    ):
        write_until(robot, stiff, heard, True)
        begin, begin_s = len(heard), time.monotonic()
        robot.close()
        assert time.monotonic() - begin_s >= g1_publisher.MIN_DAMPING_S
        wait_until(lambda: not heard[-1][1], "no damping")
        closing = [is_stiff for _, is_stiff in heard[begin:]]
        assert closing == sorted(closing, reverse=True)  # Once damped, damped for good.


@pytest.mark.parametrize(
    ("fast_s", "damped_s"), [(0.0, 1.0), (0.5, 1.0), (4.0, 4.2), (np.inf, 10.0)]
)
def test_damping_ends_when_the_joints_are_slow(monkeypatch, fast_s, damped_s):
    now, sent, handlers = 50.0, [], []
    state = np.zeros((), messages.LOW_STATE)

    class Clock:
        monotonic = staticmethod(lambda: now)

        @staticmethod
        def sleep(seconds):
            nonlocal now
            now += seconds
            state["motor_state"]["dq"] = 2.0 if now - 50.0 < fast_s else 0.1
            handlers[0](messages.seal(state))

    class Listener:
        def __init__(self, _connection, _topic, _kind, handle):
            handlers.append(handle)

        def close(self):
            handlers.clear()

    monkeypatch.setattr(g1_publisher, "time", Clock)
    monkeypatch.setattr(g1_publisher, "TopicListener", Listener)
    g1_publisher.damp_until_slow(cast("Connection", None), lambda: sent.append(now))
    assert sent[-1] - 50.0 == pytest.approx(damped_s, abs=0.01)
    assert np.diff(sent).max() < 0.003
    assert not handlers


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_the_loop_damps_when_the_process_that_sends_is_lost(
    contract, stiff, model, domain, number
):
    with (
        simulated_g1(model, domain),
        connected(contract, domain) as robot,
        heard_commands(domain) as heard,
    ):
        write_until(robot, stiff, heard, True)
        assert robot.publisher is not None
        writer = robot.publisher._writer  # The loop's own, which takes over.
        wait_until(lambda: len(writer.get_matched_subscriptions()) > 1, "not known")
        begin_s = time.monotonic()
        os.kill(robot.publisher.pid, number)

        with pytest.raises(RuntimeError, match="is lost"):
            write_until_lost(robot, stiff)
        wait_until(lambda: not heard[-1][1], "no damping")
        begin = len(heard)
        robot.close()
        assert time.monotonic() - begin_s >= g1_publisher.MIN_DAMPING_S
        assert not any(is_stiff for _, is_stiff in heard[begin:])


@pytest.mark.slow
def test_the_process_that_sends_damps_when_it_is_told_to_end(
    contract, stiff, model, domain
):
    with (
        simulated_g1(model, domain),
        connected(contract, domain) as robot,
        heard_commands(domain) as heard,
    ):
        write_until(robot, stiff, heard, True)
        assert robot.publisher is not None
        begin_s = time.monotonic()
        os.kill(robot.publisher.pid, signal.SIGTERM)
        wait_until(lambda: not heard[-1][1], "no damping")
        begin = len(heard)
        wait_until(lambda: problems_of(robot), "the loop hears nothing of it")
        assert "told to end" in problems_of(robot)["watchdog"]
        with pytest.raises(RuntimeError, match="is lost"):  # It leaves when it is done.
            write_until_lost(robot, stiff)
        assert time.monotonic() - begin_s >= g1_publisher.MIN_DAMPING_S
        assert not any(is_stiff for _, is_stiff in heard[begin:])


@pytest.mark.slow
def test_another_program_that_begins_to_command_is_seen(contract, model, domain):
    from solo.deploy.drivers import g1_idl

    with (
        simulated_g1(model, domain),
        connected(contract, domain) as robot,
        heard_commands(domain) as heard,
    ):
        write_until(robot, damping_command(25, 5.0), heard, False)
        time.sleep(0.3)
        assert not problems_of(robot)  # Its own commands are not another program's.
        other = Connection("lo", domain)
        writer = other.writer(COMMAND_TOPIC, g1_idl.LowCmd)
        message = g1_idl.EncodedCommand(messages.seal(np.zeros((), messages.LOW_CMD)))

        def is_seen():
            writer.write(message)
            return "other_commands" in problems_of(robot)

        wait_until(is_seen, "the other program is not seen")
        other.close()


def test_another_kind_of_machine_while_driving_is_a_problem(contract):
    robot = G1Robot(contract.joints, G1Cfg())
    robot._start_mode = messages.MODE_MACHINE_29
    state = np.zeros((), messages.LOW_STATE)
    state["mode_machine"] = messages.MODE_MACHINE_29
    robot._on_state(messages.seal(state))
    assert not problems_of(robot)
    state["mode_machine"] = 4
    robot._on_state(messages.seal(state))
    assert "mode_machine 4 instead of 5" in problems_of(robot)["mode_machine"]


@pytest.mark.slow
def test_another_program_on_the_command_topic_is_refused(contract, model, domain):
    with (
        simulated_g1(model, domain),
        connected(contract, domain) as robot,
    ):
        joints, zeros = contract.joints, np.zeros(25)
        robot.write(JointCommand(zeros, zeros, joints.kp, joints.kd, zeros))
        cfg = replace(patient_cfg(domain), listen_s=60.0)
        with pytest.raises(SoloError, match="Another program"):
            G1Robot(joints, cfg).start()


@pytest.mark.slow
def test_the_motion_service_is_released_until_no_mode_is_left(
    contract, stiff, model, domain
):
    """The simulated one has to be asked twice, and the robot obeys only then."""
    from solo.deploy.drivers.g1_motion import MotionService

    with simulated_g1(model, domain) as process:
        connection = Connection("lo", domain)
        service = MotionService(connection)
        assert service.mode(60.0) == "ai"
        with connected(contract, domain) as robot:
            assert service.mode(60.0) == ""
            robot.write(stiff)
            assert process.stdout is not None
            assert process.stdout.readline().startswith("motors stiff")
        service.close()
        connection.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("motion", "line"),
    [
        ("silent", r"does not answer within 1 s.*Restart"),
        ("stuck", "'stuck' after 10"),
    ],
)
def test_a_motion_service_that_does_not_let_go_is_refused(
    contract, model, domain, motion, line
):
    with simulated_g1(model, domain, "--motion", motion):
        cfg = patient_cfg(domain)
        if motion == "silent":
            cfg = replace(cfg, service_timeout_s=1.0)
        with pytest.raises(SoloError, match=line) as error:
            G1Robot(contract.joints, cfg).start()
        assert "\n" not in str(error.value)


def test_messages_of_the_motion_service_are_the_vendors():
    from solo.deploy.drivers import g1_motion as motion

    assert motion.Request.__idl_typename__ == "unitree_api.msg.dds_.Request_"
    assert motion.Response.__idl_typename__ == "unitree_api.msg.dds_.Response_"
    header = motion.RequestHeader(
        identity=motion.RequestIdentity(id=7, api_id=1001),
        lease=motion.RequestLease(id=0),
        policy=motion.RequestPolicy(priority=0, noreply=False),
    )
    data = motion.Request(header=header, parameter="{}", binary=[]).serialize()
    # Encapsulation, two 64-bit numbers, lease, priority, flag, string, no bytes.
    assert data[4:] == struct.pack("<3qi?3xI3sxI", 7, 1001, 0, 0, False, 3, b"{}\0", 0)


@pytest.mark.slow
def test_no_robot_and_another_machine_are_clear_errors(contract, model, domain):
    cfg = G1Cfg(interface="lo", domain_id=domain, connect_timeout_s=0.2)
    with pytest.raises(SoloError, match=r"No state of a G1 on 'lo'"):
        G1Robot(contract.joints, cfg).start()
    with simulated_g1(model, domain):
        cfg = replace(patient_cfg(domain), mode_machine=6)
        with pytest.raises(SoloError, match=r"mode_machine 5.*needs 6"):
            G1Robot(contract.joints, cfg).start()


def test_missing_interface_is_one_clear_error(contract, domain):
    with pytest.raises(SoloError, match=r"nosuch0.*--interface"):
        G1Robot(contract.joints, G1Cfg(interface="nosuch0", domain_id=domain)).start()
