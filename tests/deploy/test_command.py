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
    deadline = time.monotonic() + 5.0
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


def test_script_stands_up_walks_and_stops():
    script = ScriptedOperator((0.3, 0.0, 0.0), stop_after_s=1.0)
    assert script.read(10.0).request == Request.STAND_UP
    assert script.read(10.5).request == Request.WALK
    assert script.read(11.0).request == Request.STOP


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


def test_keyboard_steps_halts_and_asks():
    import pty

    ours, theirs = pty.openpty()
    keyboard = Keyboard(fd=theirs)
    keyboard.start()
    os.write(ours, b"wwwaE1")
    found = wait_for(keyboard, lambda i: i.request == Request.STAND_UP)
    assert found.velocity == pytest.approx((0.3, 0.05, -0.1))
    os.write(ours, b" 0")
    found = wait_for(keyboard, lambda i: i.request == Request.DAMP)
    assert found.velocity == (0.0, 0.0, 0.0)
    keyboard.close()
    os.close(ours)
    os.close(theirs)


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
