"""Deadlines are absolute, lateness is counted, nothing is caught up in a burst."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from solo.deploy.health import QueueClock, memory_mb
from solo.deploy.loop import WARM_UP_TICKS, FixedRateLoop, ask_for_priority
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


def causes_of(work_s=0.0, wait_s=0.0, queue_s=0.0, after=WARM_UP_TICKS):
    """Causes counted for a tick that works, waits for a lock, or waits for a core."""
    clock, cpu, queue = Clock(), Clock(), Clock()
    count = 0

    def tick(now):
        nonlocal count
        count += 1
        if count == after + 1:
            clock.now += work_s + wait_s + queue_s
            cpu.now += work_s
            queue.now += queue_s
        return True

    loop = FixedRateLoop(0.02, clock, clock.sleep, cpu, queue)
    return loop.run(tick, WARM_UP_TICKS + 5).causes


def test_late_ticks_are_put_down_to_what_caused_them():
    assert causes_of(work_s=0.025) == {"own_code": 1, "scheduler": 0, "other": 0}
    assert causes_of(queue_s=0.025) == {"own_code": 0, "scheduler": 1, "other": 0}
    assert causes_of(wait_s=0.025) == {"own_code": 0, "scheduler": 0, "other": 1}
    # 15 ms of work and 10 ms without a core: 5 ms late, which the work alone is not.
    assert causes_of(work_s=0.015, queue_s=0.01)["scheduler"] == 1


def test_the_warm_up_is_counted_apart():
    assert sum(causes_of(work_s=0.1, after=3).values()) == 0


def test_waking_late_without_having_waited_for_a_core_is_neither():
    clock = Clock()
    loop = FixedRateLoop(
        0.02, clock, lambda s: clock.sleep(s + 0.003), Clock(), Clock()
    )
    stats = loop.run(lambda now: True, WARM_UP_TICKS + 10)
    assert stats.causes == {"own_code": 0, "scheduler": 0, "other": 10}
    assert stats.summary()["late_ticks_after_warm_up"] == 10


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc")
def test_the_system_tells_waiting_from_sleeping_and_working():
    clock, start = QueueClock(), time.monotonic()
    begin = clock()
    if begin is None:
        pytest.skip("this kernel has no schedstat")
    time.sleep(0.1)
    end, elapsed = clock(), time.monotonic() - start
    clock.close()
    assert end is not None
    # However late it woke up, the 0.1 s that it wanted to sleep are not in it.
    assert 0.0 <= end - begin <= elapsed - 0.1 + 0.005


GROW = """
import json
from solo.deploy.health import MemoryLog
log, kept = MemoryLog(period_s=1.0), []
for second in range(5):
    log.sample(float(second))
    log.sample(second + 0.5)  # Not due yet.
    kept.append(bytearray(b"x") * 20_000_000)
print(json.dumps([log.summary(), len(log.samples_mb)]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc")
def test_memory_that_grows_shows_at_the_end():
    # A process of its own: this one may have memory to spare from other tests.
    done = subprocess.run([sys.executable, "-c", GROW], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found, num_samples = json.loads(done.stdout)
    assert num_samples == 6
    assert found["end"] - found["start"] == pytest.approx(100.0, abs=20.0)
    assert found["start"] + 20.0 < found["middle"] < found["end"] - 20.0
    assert (memory_mb() or 0.0) >= 10.0
    assert memory_mb(2**22 + 1) is None  # There is no such process.
