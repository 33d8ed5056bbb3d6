"""However the control program ends, hangs or is stopped, the motors are damped."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest

from solo.bench.stop import (
    PATIENCE_S,
    PHASES,
    SIGNALS,
    control_program,
    free_domain,
    measure,
    simulated_g1,
)
from solo.deploy.drivers import g1_messages as messages
from solo.deploy.drivers.g1_publisher import (
    DAMP,
    END,
    FALLBACK,
    STIFF,
    Guard,
    ProcessWatch,
    Slowness,
)


def guard_with(*taken: bytes) -> Guard:
    guard = Guard(watchdog_s=0.06)
    for message in taken:
        guard.take(message, 1.0)
    return guard


def test_nothing_is_sent_before_there_is_a_command():
    guard = guard_with(FALLBACK + b"damping")
    guard.look(99.0, True)
    assert guard.message() is None


def test_commands_are_passed_on_while_they_are_fresh():
    guard = guard_with(FALLBACK + b"damping", STIFF + b"one")
    guard.look(1.059, False)
    assert guard.message() == b"one"
    guard.look(1.061, False)
    assert guard.message() == b"damping"
    assert "no command for 0.061 s (allowed 0.06)" in guard.reason


def test_a_stopped_program_is_damped_before_its_command_is_old():
    guard = guard_with(FALLBACK + b"damping", STIFF + b"one")
    guard.look(1.002, True)
    assert guard.message() == b"damping"


def test_after_damping_by_itself_it_waits_until_the_program_knows():
    guard = guard_with(FALLBACK + b"damping", STIFF + b"one")
    guard.look(1.6, False)
    for now in np.arange(1.6, 3.0, 0.02):
        guard.take(STIFF + b"two", now)
        guard.look(now, False)
        assert guard.message() == b"damping"
    guard.take(DAMP + b"softer", 3.0)
    assert (guard.message(), guard.reason) == (b"softer", "")
    guard.look(9.0, True)  # A damped robot needs no watchdog.
    assert (guard.message(), guard.reason) == (b"softer", "")
    guard.take(STIFF + b"three", 9.1)
    assert guard.message() == b"three"


def test_the_end_is_final():
    guard = guard_with(FALLBACK + b"damping", STIFF + b"one", END)
    guard.take(DAMP + b"softer", 1.1)
    guard.take(STIFF + b"two", 1.2)
    assert guard.is_over
    assert guard.message() == b"softer"


def test_slow_joints_must_stay_slow_and_the_robot_must_say_so():
    state, slowness = np.zeros((), messages.LOW_STATE), Slowness()

    def report(speed: float, until: float) -> None:
        nonlocal now
        state["motor_state"]["dq"][13] = speed
        messages.seal(state)
        while now < until:
            now += 0.002
            slowness.on_state(state, now)

    now = 10.0
    assert not slowness.is_slow(now)
    report(2.0, 11.0)
    assert not slowness.is_slow(now)
    report(0.1, 11.1)  # It turns round.
    report(2.0, 11.2)
    report(0.1, 11.3)
    assert not slowness.is_slow(now)
    report(0.1, 11.5)
    assert slowness.is_slow(now)
    assert not slowness.is_slow(now + 1.0)  # Silent since.
    state["motor_state"]["dq"][13] = np.nan
    slowness.on_state(messages.seal(state), now + 0.01)
    assert not slowness.is_slow(now + 0.02)


def test_the_system_tells_whether_a_process_runs():
    child = os.fork()
    if child == 0:
        while True:
            time.sleep(1.0)
    watch = ProcessWatch(child)
    try:
        assert watch.state() == "runs"
        os.kill(child, signal.SIGSTOP)
        os.waitpid(child, os.WUNTRACED)
        assert watch.state() == "stopped"
        os.kill(child, signal.SIGCONT)
        os.waitpid(child, os.WCONTINUED)
        assert watch.state() == "runs"
    finally:
        os.kill(child, signal.SIGKILL)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert watch.state() == "gone"  # Nobody has asked for its end yet.
    os.waitpid(child, 0)
    assert watch.state() == "gone"


@pytest.fixture(scope="module")
def domain():
    pytest.importorskip(
        "cyclonedds", reason='needs Cyclone DDS: pip install "solo-locomotion[g1]"'
    )
    with free_domain() as domain:
        yield domain


@pytest.fixture(scope="module")
def motors(domain):
    with simulated_g1(domain) as motors:
        yield motors


@pytest.mark.slow
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_damps_the_motors(motors, domain, phase, name):
    """However slow the machine is: nothing else would; `solo bench stop` measures."""
    assert 0.0 < measure(motors, domain, phase, name) < 1e3 * PATIENCE_S


@pytest.mark.slow
def test_ctrl_z_does_nothing_and_sigterm_ends_in_order(motors, domain):
    with control_program(domain, "walking") as process:
        assert motors.wait_until_stiff()
        process.send_signal(signal.SIGTSTP)
        assert motors.next_change(1.0) is None  # Still stiff, still running.
        assert ProcessWatch(process.pid).state() == "runs"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
        damped = motors.next_change(PATIENCE_S)
        assert damped is not None
        assert not damped[1]
