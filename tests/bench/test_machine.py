"""The machine's own lateness: constant work, and the accounting of the real loop."""

from __future__ import annotations

import pytest

from solo.bench.cfg import MachineBenchCfg
from solo.bench.machine import ConstantWork, bench_machine
from solo.deploy.contract import CONTROL_HZ
from solo.deploy.loop import WARM_UP_TICKS, FixedRateLoop, LostTime


def test_work_is_the_same_each_time_and_proportional():
    work, double = ConstantWork(0.2), ConstantWork(0.2)
    assert work.rounds >= 1
    double.rounds = 4 * work.rounds
    # The least of many is without disturbances.
    once, four_times = (min(w() for _ in range(50)) for w in (work, double))
    assert four_times == pytest.approx(4 * once, rel=0.5)


def test_a_machine_that_stops_shows_as_late_though_the_work_is_constant():
    now, pauses = [0.0], [0.5]

    def make_loop(period_s: float) -> FixedRateLoop:
        def clock() -> float:
            now[0] += 1e-4
            if now[0] > 10.0 and pauses:
                now[0] += pauses.pop()
            return now[0]

        def sleep(seconds: float) -> None:
            now[0] += seconds

        return FixedRateLoop(
            period_s, clock, sleep, cpu_clock=lambda: 0.0, lost_clock=_nothing_lost
        )

    cfg = MachineBenchCfg(seconds=(WARM_UP_TICKS + 500) / CONTROL_HZ, work_ms=0.01)
    result = bench_machine(cfg, make_loop)
    assert result["ticks"] == WARM_UP_TICKS + 500
    assert result["late_ticks_after_warm_up"] == 1
    assert result["late_causes_after_warm_up"]["other"] == 1
    assert result["skipped"] == 24  # Of the 25 deadlines, the last one is kept.
    assert 0.0 < result["median_cpu_ms"] <= result["p99_cpu_ms"] <= result["max_cpu_ms"]


def _nothing_lost() -> LostTime:
    return LostTime(0.0, 0.0)
