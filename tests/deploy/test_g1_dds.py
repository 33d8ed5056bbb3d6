"""The runtime and a simulated G1 on the real middleware, in two processes."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from solo.deploy.command import ScriptedOperator
from solo.deploy.drivers import g1_messages as messages
from solo.deploy.drivers.g1_dds import COMMAND_TOPIC, G1Cfg, G1Robot
from solo.deploy.drivers.protocols import JointCommand, damping_command
from solo.deploy.phase import Phase
from solo.deploy.policy import StandPolicy
from solo.deploy.runtime import Runtime
from solo.deploy.runtime_cfg import RuntimeCfg
from solo.deploy.safety import SafetyCfg
from solo.errors import SoloError

from .helpers import g1_contract
from .test_g1_messages import random_record

pytest.importorskip(
    "cyclonedds", reason='needs Cyclone DDS: pip install "solo-locomotion[g1]"'
)

DOMAINS = itertools.count()
PATIENT = RuntimeCfg(safety=SafetyCfg(max_state_age_s=2.0))
"""A test machine may pause for longer than a robot's computer."""


@pytest.fixture(scope="module")
def contract():
    return g1_contract()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from solo.cli.sim_robot import write_model

    path = tmp_path_factory.mktemp("model") / "g1.xml"
    write_model(path)
    return path


@pytest.fixture
def domain():
    """A DDS domain of our own, so that tests side by side do not meet."""
    return 1 + (os.getpid() * 13 + next(DOMAINS)) % 99  # Ports below 32400.


@contextmanager
def simulated_g1(model, domain: int, *options: str):
    process = subprocess.Popen(
        [sys.executable, "-m", "solo.deploy.drivers.sim_dds", "--model", str(model),
         "--domain", str(domain), "--wait", "1.0", *options],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def connected(contract, domain: int, **options):
    cfg = G1Cfg(interface="lo", domain_id=domain, connect_timeout_s=20.0, **options)
    robot = G1Robot(contract.joints, cfg)
    robot.start()
    try:
        yield robot
    finally:
        robot.close()


def stand(contract, robot, seconds: float) -> Runtime:
    runtime = Runtime(
        contract, robot, StandPolicy(contract.joints), ScriptedOperator(), None, PATIENT
    )
    runtime.run(max_ticks=round(seconds * contract.control_hz))
    return runtime


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
    assert theirs == messages.state_to_wire(record)
    command = random_record(messages.LOW_CMD, 6)
    theirs = IdlStruct.serialize(as_struct(g1_idl.LowCmd, command))
    assert theirs == messages.command_to_wire(command)
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


def test_wrists_go_to_zero_slowly_from_where_they_were(contract):
    robot = G1Robot(contract.joints, G1Cfg())
    joints, zeros = contract.joints, np.zeros(25)
    stiff = JointCommand(zeros, zeros, joints.kp, joints.kd, zeros)
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


def test_stands_over_dds_and_damps_when_the_robot_falls_silent(contract, model, domain):
    with (
        simulated_g1(model, domain) as process,
        connected(contract, domain) as robot,
    ):
        runtime = stand(contract, robot, 4.0)
        assert runtime.phase == Phase.WALKING
        assert tilt_deg(robot) < 8.0
        assert robot.num_bad == 0
        process.kill()
        process.wait()
        runtime.cfg = replace(runtime.cfg, safety=SafetyCfg())
        runtime.run(max_ticks=runtime.loop.stats.num_ticks + 15)
        assert runtime.phase == Phase.DAMPING
        assert runtime.recorder.fault_counts == {"stale_state": 1}


@pytest.mark.slow
def test_stands_for_20_s_while_5_percent_of_the_messages_are_lost(
    contract, model, domain
):
    with (
        simulated_g1(model, domain, "--drop", "0.05"),
        connected(contract, domain) as robot,
    ):
        runtime = stand(contract, robot, 23.0)
        assert runtime.phase == Phase.WALKING
        assert not runtime.recorder.fault_counts
        assert tilt_deg(robot) < 8.0


def test_the_simulated_g1_obeys_only_sound_commands(contract, model, domain):
    from solo.deploy.drivers import g1_idl
    from solo.deploy.drivers.dds import Connection

    command = np.zeros((), messages.LOW_CMD)
    command["mode_machine"] = messages.MODE_MACHINE_29
    command["motor_cmd"]["mode"] = 1
    sound = messages.seal(command.copy())
    corrupt, other_mode = sound.copy(), command.copy()
    corrupt["motor_cmd"]["q"][3] = 1.0
    other_mode["mode_machine"] = 4
    with simulated_g1(model, domain, "--seconds", "4") as process:
        connection = Connection("lo", domain)
        writer = connection.writer(COMMAND_TOPIC, g1_idl.LowCmd)
        end = time.monotonic() + 3.0
        while time.monotonic() < end:
            writer.write(g1_idl.EncodedCommand(corrupt))
            time.sleep(0.01)
            writer.write(g1_idl.EncodedCommand(messages.seal(other_mode)))
            time.sleep(0.01)
        assert process.stdout is not None
        words = process.stdout.readline().split()
        connection.close()
    assert int(words[1]) == 0
    assert int(words[3]) > 10


def test_the_watchdog_damps_when_the_loop_hangs(contract, model, domain):
    heard: list[np.ndarray] = []
    with (
        simulated_g1(model, domain),
        connected(contract, domain) as robot,
    ):
        from solo.deploy.drivers import g1_idl

        assert robot._connection is not None
        listener = robot._connection.listen(
            COMMAND_TOPIC, g1_idl.LowCmd, lambda record: heard.append(record.copy())
        )
        joints, zeros = contract.joints, np.zeros(25)
        stiff = JointCommand(joints.default_pos, zeros, joints.kp, joints.kd, zeros)
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            robot.write(stiff)
            time.sleep(0.01)
        assert heard[-1]["motor_cmd"]["kp"].any()
        time.sleep(0.5)  # The loop hangs.
        assert not heard[-1]["motor_cmd"]["kp"].any()
        assert messages.is_sound(heard[-1])
        listener.close()


def test_another_program_on_the_command_topic_is_refused(contract, model, domain):
    with (
        simulated_g1(model, domain),
        connected(contract, domain) as robot,
    ):
        joints, zeros = contract.joints, np.zeros(25)
        robot.write(JointCommand(zeros, zeros, joints.kp, joints.kd, zeros))
        cfg = G1Cfg(interface="lo", domain_id=domain, listen_s=3.0)
        with pytest.raises(SoloError, match="Another program"):
            G1Robot(joints, cfg).start()


def test_no_robot_and_another_machine_are_clear_errors(contract, model, domain):
    cfg = G1Cfg(interface="lo", domain_id=domain, connect_timeout_s=0.2)
    with pytest.raises(SoloError, match=r"No state of a G1 on 'lo'"):
        G1Robot(contract.joints, cfg).start()
    with simulated_g1(model, domain):
        cfg = replace(cfg, connect_timeout_s=20.0, mode_machine=6)
        with pytest.raises(SoloError, match=r"mode_machine 5.*needs 6"):
            G1Robot(contract.joints, cfg).start()


def test_missing_interface_is_one_clear_error(contract, domain):
    with pytest.raises(SoloError, match=r"nosuch0.*--interface"):
        G1Robot(contract.joints, G1Cfg(interface="nosuch0", domain_id=domain)).start()
