"""What the operator reads while the robot runs."""

from __future__ import annotations

import pytest

from solo.deploy.phase import Request
from solo.deploy.session import Announcer

from .helpers import Rig


@pytest.fixture
def rig(tmp_path):
    rig = Rig(tmp_path)
    yield rig
    rig.close()


def follow(rig: Rig, announcer: Announcer, ticks: int) -> None:
    for _ in range(ticks):
        rig.tick()
        announcer.see(rig.runtime.snapshot)


def texts(capsys) -> list[str]:
    """The lines without their times."""
    return [line.split(" s  ")[1] for line in capsys.readouterr().out.splitlines()]


def test_phases_and_faults_are_told_as_they_change(rig, capsys):
    announcer = Announcer()
    follow(rig, announcer, 3)
    rig.operator.request = Request.STAND_UP
    follow(rig, announcer, 3)
    rig.robot.problems = {"robot_error": "the cable is loose"}
    follow(rig, announcer, 3)
    announcer.close()
    assert texts(capsys) == [
        "idle",
        "stand up",
        "fault robot_error: the cable is loose; stop",
        "stopped",
    ]


def test_a_fault_that_flickers_does_not_flood_the_terminal(rig, capsys):
    announcer = Announcer()
    follow(rig, announcer, 1)
    for tick in range(100):  # Two seconds, one tick with the fault and one without.
        rig.robot.ang_vel_b[0] = 0.0
        rig.robot.problems = {"watchdog": "it damped"} if tick % 2 else {}
        follow(rig, announcer, 1)
    announcer.close()
    printed = texts(capsys)
    assert printed.count("fault watchdog: it damped; damp") == 2
    assert printed.count("fault watchdog is over") == 2
