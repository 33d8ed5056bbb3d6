"""Commands are clamped and rate-limited; devices that vanish count as lost."""

from __future__ import annotations

import os
import struct
import time

import numpy as np
import pytest

from solo.deploy.command import CommandCfg, CommandFilter, ScriptedOperator
from solo.deploy.drivers.protocols import RobotState
from solo.deploy.operators import Gamepad, Keyboard, UnitreeRemote
from solo.deploy.phase import Request
from solo.errors import SoloError


def wait_for(operator, condition):
    deadline = time.monotonic() + 60.0  # A loaded machine is slow.
    while time.monotonic() < deadline:
        found = operator.read(0.0)
        if condition(found):
            return found
        time.sleep(0.005)
    raise AssertionError("the device was not read")


def test_velocity_is_clamped_to_what_was_trained():
    command = CommandFilter(CommandCfg(), 0.02)
    for _ in range(200):
        value = command.step((9.0, -9.0, 0.3))
    assert value == pytest.approx([1.0, -0.5, 0.3])


def test_velocity_changes_no_faster_than_the_limit():
    command = CommandFilter(CommandCfg(), 0.02)
    assert command.step((1.0, 0.01, -1.0)) == pytest.approx([0.02, 0.01, -0.04])
    assert command.step((-1.0, 0.01, -1.0)) == pytest.approx([0.0, 0.01, -0.08])


def test_what_is_not_a_number_means_stand_still():
    command = CommandFilter(CommandCfg(), 0.02)
    assert command.step((np.nan, 0.0, 0.0)) == pytest.approx([0.0, 0.0, 0.0])


def test_script_stands_up_and_walks():
    script = ScriptedOperator((0.3, 0.0, 0.0))
    assert script.read(10.0).request == Request.STAND_UP
    assert script.read(10.5).request == Request.WALK


def event(kind: int, number: int, value: int) -> bytes:
    return struct.pack("<IhBB", 0, value, kind, number)


@pytest.fixture
def gamepad(tmp_path):
    """A named pipe in the place of the device, and its writing end."""
    path = tmp_path / "js0"
    os.mkfifo(path)
    pad = Gamepad(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # So that both ends open.
    writing = os.open(path, os.O_WRONLY)
    pad.start()
    os.close(reading)
    yield pad, writing
    pad.close()


def test_gamepad_sticks_and_buttons(gamepad):
    pad, writing = gamepad
    os.write(writing, event(0x81, 7, 1))  # State at opening: no request.
    os.write(writing, event(2, 1, -32767) + event(2, 0, 16384))
    os.write(writing, event(2, 3, 500)[:3])  # Events may come in pieces.
    os.write(writing, event(2, 3, 500)[3:] + event(1, 0, 1))
    found = wait_for(pad, lambda i: i.request != Request.NONE)
    assert found.request == Request.STAND_UP
    assert found.velocity == pytest.approx((1.0, -0.25, 0.0), abs=1e-3)
    assert pad.read(0.0).request == Request.NONE  # Handed out once.
    os.write(writing, event(2, 1, 32767))
    assert wait_for(pad, lambda i: i.velocity[0] < 0).velocity[0] == -0.5
    os.close(writing)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (1, 0, Request.DAMP),  # B, then A.
        (0, 1, Request.DAMP),
        (6, 7, Request.STOP),  # Back, then Start.
        (6, 1, Request.STOP),
    ],
)
def test_damp_and_stop_win_on_the_gamepad_as_long_as_they_are_held(
    gamepad, first, second, expected
):
    pad, writing = gamepad
    os.write(writing, event(1, first, 1) + event(1, second, 1))
    assert wait_for(pad, lambda i: i.request != Request.NONE).request == expected
    assert pad.read(0.0).request == expected  # Not handed out once: it is still held.
    os.write(writing, event(1, 0, 0) + event(1, 0, 1) + event(2, 1, -32767))
    found = wait_for(pad, lambda i: i.velocity[0] == 1.0)
    assert found.request == expected
    os.write(writing, event(1, first, 0) + event(1, second, 0) + event(2, 1, 0))
    wait_for(pad, lambda i: i.velocity[0] == 0.0)
    assert pad.read(0.0).request == Request.NONE
    os.close(writing)


def test_damp_that_is_held_when_the_gamepad_is_opened_counts(gamepad):
    pad, writing = gamepad
    os.write(writing, event(0x81, 1, 1))
    wait_for(pad, lambda i: i.request == Request.DAMP)
    os.close(writing)


def test_gamepad_lives_without_events_and_is_lost_when_unplugged(gamepad):
    pad, writing = gamepad
    os.write(writing, event(2, 1, -32767))
    wait_for(pad, lambda i: i.velocity[0] == 1.0)
    begin = time.monotonic()
    wait_for(pad, lambda i: i.time_s > begin + 0.1)  # No event, still alive.
    os.close(writing)
    found = wait_for(pad, lambda i: i.velocity[0] == 0.0)
    time.sleep(0.15)
    assert pad.read(0.0).time_s == found.time_s


def test_missing_gamepad_is_one_clear_error(tmp_path):
    with pytest.raises(SoloError, match=r"js9.*keyboard"):
        Gamepad(tmp_path / "js9").start()


@pytest.fixture
def keyboard():
    """A keyboard on a terminal, and the terminal's other end."""
    import pty

    ours, theirs = pty.openpty()
    keyboard = Keyboard(fd=theirs)
    keyboard.start()
    yield keyboard, ours
    keyboard.close()
    os.close(ours)
    os.close(theirs)


def test_keyboard_steps_halts_and_asks(keyboard):
    keyboard, ours = keyboard
    os.write(ours, b"wwwaE1")
    found = wait_for(keyboard, lambda i: i.request == Request.STAND_UP)
    assert found.velocity == pytest.approx((0.3, 0.05, -0.1))
    os.write(ours, b" 0")
    found = wait_for(keyboard, lambda i: i.request == Request.DAMP)
    assert found.velocity == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (b"\x1b2", Request.STOP),
        (b"2\x1b", Request.STOP),
        (b"\x1b\x1b[A", Request.STOP),
        (b"\x1b[", Request.STOP),  # No key sends that: someone pressed Escape.
        (b"\x1b\x1b", Request.STOP),
        (b"012", Request.DAMP),
        (b"20\x1b[A", Request.DAMP),
    ],
)
def test_damp_and_stop_win_on_the_keyboard(keyboard, keys, expected):
    keyboard, ours = keyboard
    os.write(ours, keys)
    assert wait_for(keyboard, lambda i: i.request != Request.NONE).request == expected


def test_arrows_and_function_keys_mean_nothing(keyboard):
    """Among them Ctrl-arrow and Insert, which hold a 1 and a 2."""
    keyboard, ours = keyboard
    asked = []
    for keys in (b"\x1b[A", b"\x1bOB", b"\x1b[1;5C", b"\x1b[2~", b"\x1b[15~", b"w"):
        os.write(ours, keys)
    wait_for(keyboard, lambda i: asked.append(i.request) or i.velocity[0] == 0.1)
    time.sleep(2 * Keyboard.POLL_S)
    asked.append(keyboard.read(0.0).request)
    assert set(asked) == {Request.NONE}


def test_an_arrow_may_come_in_two_pieces():
    keyboard = Keyboard()
    for data in (b"\x1b[2", b"~w", b""):
        keyboard._handle(data)
    found = keyboard.read(0.0)
    assert (found.request, found.velocity[0]) == (Request.NONE, 0.1)
    for data in (b"\x1b[2", b""):  # Nothing follows in time.
        keyboard._handle(data)
    assert keyboard.read(0.0).request == Request.STOP


class RemoteRobot:
    name = "remote"

    def __init__(self) -> None:
        self.remote, self.time_s = bytes(40), 1.0

    def start(self) -> None: ...

    def read(self) -> RobotState:
        empty = np.zeros(0)
        return RobotState(self.time_s, empty, empty, empty, empty, empty, self.remote)

    def write(self, command) -> None: ...

    def close(self) -> None: ...


def remote_bytes(keys: int, lx: float, rx: float, ly: float) -> bytes:
    return struct.pack("<2BH5f16x", 0x55, 0x51, keys, lx, rx, 0.0, 0.0, ly)


def test_unitree_remote_is_decoded_and_buttons_count_once():
    robot = RemoteRobot()
    remote = UnitreeRemote(robot)
    assert remote.read(0.0).time_s == -np.inf  # Switched off: never alive.
    robot.remote = remote_bytes(1 << 8, 0.5, -1.0, 1.0)
    found = remote.read(0.0)
    assert found.velocity == pytest.approx((1.0, -0.25, 1.0))
    assert (found.request, found.time_s) == (Request.STAND_UP, 1.0)
    assert remote.read(0.0).request == Request.NONE  # Still held down.
    robot.remote = remote_bytes(1 << 9, 0.0, 0.0, 0.0)
    assert remote.read(0.0).request == Request.DAMP
    robot.remote, robot.time_s = bytes(40), 2.0
    assert remote.read(0.0).time_s == 1.0  # Lost.


@pytest.mark.parametrize(
    ("bits", "expected"), [((8, 9), Request.DAMP), ((2, 3), Request.STOP)]
)
def test_damp_and_stop_win_on_the_remote_as_long_as_they_are_held(bits, expected):
    robot = RemoteRobot()
    remote = UnitreeRemote(robot)
    go, halt = (1 << bit for bit in bits)
    robot.remote = remote_bytes(go | halt, 0.0, 0.0, 0.0)
    assert remote.read(0.0).request == expected
    robot.remote = remote_bytes(halt, 0.0, 0.0, 0.0)
    assert remote.read(0.0).request == expected
    robot.remote = remote_bytes(go | halt, 0.0, 0.0, 0.0)  # The other one again.
    assert remote.read(0.0).request == expected


def test_a_stick_of_the_remote_that_never_changes_counts_as_lost():
    robot = RemoteRobot()
    remote = UnitreeRemote(robot)
    robot.remote = remote_bytes(0, 0.0, 0.0, 0.7)
    ages = []
    for _ in range(300):
        robot.time_s += 0.01
        ages.append(robot.time_s - remote.read(0.0).time_s)
    assert ages[:100] == pytest.approx([0.0] * 100)
    assert ages[-1] == pytest.approx(3.0 - 1.0, abs=0.02)
    robot.remote = remote_bytes(0, 0.0, 0.0, 0.7001)  # A hand trembles.
    assert remote.read(0.0).time_s == robot.time_s
    robot.remote = remote_bytes(0, 0.0, 0.0, 0.0)  # At rest nothing changes.
    robot.time_s += 10.0
    remote.read(0.0)
    robot.time_s += 10.0
    assert remote.read(0.0).time_s == robot.time_s


@pytest.mark.parametrize(
    ("low", "high"),
    [((0.1, 0.0, 0.0), (1.0, 0.0, 0.0)), ((0.0, 0.0, -1.0), (0.0, 0.0, float("nan")))],
)
def test_a_range_without_standing_still_is_refused(low, high):
    with pytest.raises(SoloError, match="must be finite and hold zero"):
        CommandCfg(low, high)


def test_a_script_can_insist_on_standing_up():
    script = ScriptedOperator(insist_s=0.5)
    asked = [script.read(10.0 + 0.1 * step).request for step in range(8)]
    assert asked == 5 * [Request.STAND_UP] + 3 * [Request.WALK]
