"""Deadlines are absolute, lateness is counted, nothing is caught up in a burst."""

from __future__ import annotations

import os
import sys
import time
from math import isnan, nan

import pytest

from solo.deploy.loop import (
    WARM_UP_TICKS,
    FixedRateLoop,
    LostTime,
    LostTimeClock,
    ask_for_priority,
)
from solo.errors import SoloError


class Clock:
    def __init__(self) -> None:
        self.now = 5.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def run(durations, period_s=0.02, wake_late_s=0.0):
    """Start times of ticks that take the given time each, and the accounting."""
    clock, starts = Clock(), []
    pending = iter(durations)

    def sleep(seconds):
        clock.sleep(seconds + wake_late_s)

    def tick(now):
        starts.append(now - 5.0)
        clock.sleep(next(pending))
        return True

    loop = FixedRateLoop(period_s, clock, sleep)
    return starts, loop.run(tick, len(durations))


def test_ticks_start_at_multiples_of_the_period_whatever_they_take():
    starts, stats = run([0.001, 0.015, 0.0, 0.019])
    assert starts == pytest.approx([0.0, 0.02, 0.04, 0.06])
    assert (stats.num_late, stats.num_overruns, stats.num_skipped) == (0, 0, 0)


def test_late_waking_does_not_add_up():
    starts, stats = run([0.001] * 50, wake_late_s=0.0005)
    assert starts[-1] == pytest.approx(49 * 0.02 + 0.0005)
    assert stats.num_late == 0
    assert stats.max_jitter_s == pytest.approx(0.0005)


def test_an_overrun_makes_the_next_tick_late_and_no_more():
    starts, stats = run([0.001, 0.025, 0.001, 0.001])
    assert starts == pytest.approx([0.0, 0.02, 0.045, 0.06])
    assert (stats.num_late, stats.num_overruns, stats.num_skipped) == (1, 1, 0)


def test_deadlines_that_passed_are_skipped_and_counted():
    # The second tick lasts from 0.02 to 0.09: 0.04 and 0.06 are lost, 0.08 runs late.
    starts, stats = run([0.001, 0.07, 0.001, 0.001])
    assert starts == pytest.approx([0.0, 0.02, 0.09, 0.10])
    assert stats.num_skipped == 2
    assert stats.max_tick_s == pytest.approx(0.07)


def test_the_histogram_holds_every_tick_in_its_bin():
    _, stats = run([0.001] * 10, wake_late_s=0.003)
    summary = stats.summary()
    counts = dict(
        zip(summary["jitter_edges_ms"], summary["jitter_histogram"], strict=True)
    )
    assert sum(counts.values()) == 10
    assert counts[2.0] == 9  # 3 ms, between 2 and 5; the first tick does not sleep.
    assert stats.num_late == 9


def test_the_loop_ends_when_the_tick_says_so():
    clock = Clock()
    loop = FixedRateLoop(0.02, clock, clock.sleep)
    stats = loop.run(lambda now: now < 5.05)
    assert stats.num_ticks == 4


def test_priority_that_is_not_allowed_is_one_clear_error(monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.sched_setscheduler", refuse, raising=False)
    with pytest.raises(SoloError, match="without --realtime"):
        ask_for_priority()


def causes_of(work_s=0.0, wait_s=0.0, queue_s=0.0, stolen_s=0.0, after=WARM_UP_TICKS):
    """Causes counted for one tick that works, waits for a lock or a core, or is robbed.

    As on Linux, what the host steals counts as work.
    """
    clock, cpu, queue, stolen = Clock(), Clock(), Clock(), Clock()
    count = 0

    def tick(now):
        nonlocal count
        count += 1
        if count == after + 1:
            clock.now += work_s + wait_s + queue_s + stolen_s
            cpu.now += work_s + stolen_s
            queue.now += queue_s
            stolen.now += stolen_s
        return True

    loop = FixedRateLoop(
        0.02, clock, clock.sleep, cpu, lambda: LostTime(queue.now, stolen.now)
    )
    causes = loop.run(tick, WARM_UP_TICKS + 5).causes
    return {name: number for name, number in causes.items() if number}


def test_late_ticks_are_put_down_to_what_caused_them():
    assert causes_of(work_s=0.025) == {"own_code": 1}
    assert causes_of(queue_s=0.025) == {"scheduler": 1}
    assert causes_of(wait_s=0.025) == {"other": 1}
    assert causes_of(work_s=0.003, stolen_s=0.05) == {"stolen": 1}
    # 15 ms of work and 10 ms without a core: 5 ms late, which the work alone is not.
    assert causes_of(work_s=0.015, queue_s=0.01) == {"scheduler": 1}
    # 60 ms of work are late whoever took another 10 ms.
    assert causes_of(work_s=0.06, stolen_s=0.01) == {"own_code": 1}


def test_a_system_that_tells_nothing_is_no_excuse():
    clock, cpu = Clock(), Clock()
    loop = FixedRateLoop(0.02, clock, clock.sleep, cpu, lambda: LostTime(nan, nan))

    def tick(now):
        clock.now += 0.03
        cpu.now += 0.03
        return True

    causes = loop.run(tick, WARM_UP_TICKS + 5).causes
    assert causes == {"own_code": 5, "stolen": 0, "scheduler": 0, "other": 0}


def test_the_warm_up_is_counted_apart():
    assert sum(causes_of(work_s=0.1, after=3).values()) == 0


def test_waking_late_without_having_waited_for_a_core_is_neither():
    clock = Clock()
    loop = FixedRateLoop(
        0.02,
        clock,
        lambda s: clock.sleep(s + 0.003),
        Clock(),
        lambda: LostTime(0.0, 0.0),
    )
    stats = loop.run(lambda now: True, WARM_UP_TICKS + 10)
    assert stats.causes == {"own_code": 0, "stolen": 0, "scheduler": 0, "other": 10}
    assert stats.summary()["late_ticks_after_warm_up"] == 10


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc")
def test_the_system_tells_waiting_from_sleeping_and_working():
    clock, start = LostTimeClock(), time.monotonic()
    begin = clock()
    if isnan(begin.queued_s):
        pytest.skip("this kernel has no schedstat")
    time.sleep(0.1)
    end, elapsed = clock(), time.monotonic() - start
    clock.close()
    # However late it woke up, the 0.1 s that it wanted to sleep are not in it.
    assert 0.0 <= end.queued_s - begin.queued_s <= elapsed - 0.1 + 0.005
    num_cores = os.cpu_count() or 1
    assert 0.0 <= end.stolen_s - begin.stolen_s <= num_cores * (elapsed + 0.02)
