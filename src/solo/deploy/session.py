"""A whole run: devices are started, the loop runs, everything is closed again.

Signals that would end the program damp the robot within the same moment and end the run
in order; a second one ends the program at once. Ctrl-Z does nothing.
"""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from solo.deploy.camera import Capture, DepthProcessor
from solo.deploy.command import Operator
from solo.deploy.contract import Contract
from solo.deploy.drivers.protocols import Camera, Robot
from solo.deploy.log import LogWriter, RunLog
from solo.deploy.loop import MemoryLog, ask_for_priority
from solo.deploy.observation import Policy
from solo.deploy.phase import Phase
from solo.deploy.recorder import Recorder, Snapshot
from solo.deploy.runtime import Runtime, RuntimeCfg
from solo.errors import SoloError

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals that end a run: Ctrl-C, kill, a terminal that closes, Ctrl-\\."""

REPEAT_S = 1.0
"""A fault that comes and goes is printed no more often than this."""


def run_session(
    contract: Contract,
    policy: Policy,
    robot: Robot,
    camera: Camera | None,
    operator: Operator,
    cfg: RuntimeCfg | None = None,
    faults: Path | None = None,
    log: Path | None = None,
    realtime: bool = False,
    max_ticks: int | None = None,
    on_tick: Callable[[Snapshot], None] | None = None,
) -> dict[str, Any]:
    """Run until stopped, and close all devices whatever happens.

    Args:
        contract: What the policy was trained with.
        policy: The policy.
        robot: The robot.
        camera: The depth camera; None for a blind policy.
        operator: Who steers.
        cfg: Settings.
        faults: Folder for the last seconds before each fault.
        log: New folder for the log of the whole run.
        realtime: Ask for real-time priority for the loop.
        max_ticks: End after so many ticks.
        on_tick: Called after each tick, in the loop's thread; it must be quick.

    Returns:
        How the run went: the phase it ended in, faults, deadline accounting with the
        causes of late ticks, memory at start, middle and end, depth frames, the signal
        that ended it.
    """
    cfg, memory = cfg or RuntimeCfg(), MemoryLog()

    def watch(tick: Snapshot) -> None:
        memory.sample(tick.time_s)
        if on_tick is not None:
            on_tick(tick)

    with _signals() as handler, ExitStack() as stack:
        writer = LogWriter()
        stack.callback(writer.close)
        run_log = None
        if faults is not None:
            _make_folder(faults)
        if log is not None:
            meta = {"start": cfg.start.name, "robot": robot.name}
            run_log = RunLog(log, contract, writer, meta)
            stack.callback(run_log.close)
        recorder = Recorder(contract, 2.0, faults, run_log, writer)
        stack.callback(robot.close)
        robot.start()
        capture = None
        if camera is not None:
            capture = Capture(camera, DepthProcessor(contract.depth))
            stack.callback(capture.close)
            capture.start()
        stack.callback(operator.close)
        operator.start()
        runtime = Runtime(contract, robot, policy, operator, capture, cfg, recorder)
        handler.runtime = runtime
        if realtime:  # Last, so that other threads do not inherit it.
            ask_for_priority()
        result = runtime.run(max_ticks, watch)
        result["memory_mb"] = memory.summary()
    result["signal"] = handler.signal
    result["log_failure"] = writer.failure
    result["depth_frames"] = capture.num_frames if capture is not None else 0
    return result


class _SignalHandler:
    """Damps the robot at the first signal; the second one ends the program."""

    runtime: Runtime | None = None
    """None as long as nothing moves."""
    signal = ""
    """Name of the signal that came."""

    def __call__(self, number: int, _frame: object) -> None:
        if self.runtime is None or self.signal:
            raise KeyboardInterrupt
        self.signal = signal.Signals(number).name
        self.runtime.stop()


@contextmanager
def _signals() -> Iterator[_SignalHandler]:
    """Handle signals meanwhile; Python allows it in the main thread only."""
    handler = _SignalHandler()
    if threading.current_thread() is not threading.main_thread():
        yield handler
        return
    before = {number: signal.signal(number, handler) for number in STOPPING}
    before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    try:
        yield handler
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _make_folder(faults: Path) -> None:
    try:
        faults.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SoloError(
            f"Cannot make the folder {str(faults)!r}: {error.strerror}. Choose another "
            "with --faults."
        ) from error


class Announcer:
    """Prints what an operator reads: phases, faults and refused requests.

    A thread prints, so a terminal that does not take the lines never holds up the loop.
    """

    def __init__(self) -> None:
        self._phase: Phase | None = None
        self._note = ""
        self._begin_s = np.nan
        self._printed_s: dict[str, float] = {}
        self._active: set[str] = set()
        self._open: set[str] = set()
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="announcer", daemon=True)
        self._thread.start()

    def see(self, tick: Snapshot) -> None:
        """Compare a tick with the one before; quick, for the loop's thread."""
        if self._phase is None:
            self._begin_s = tick.time_s
        now = tick.time_s - self._begin_s
        for fault in tick.faults:
            last_s = self._printed_s.get(fault.name, -np.inf)
            if fault.name not in self._active and now - last_s >= REPEAT_S:
                reaction = fault.reaction.name.lower()
                self._say(now, f"fault {fault.name}: {fault.message}; {reaction}")
                self._printed_s[fault.name] = now
                self._open.add(fault.name)
        self._active = {fault.name for fault in tick.faults}
        for name in sorted(self._open - self._active):
            self._say(now, f"fault {name} is over")
        self._open &= self._active
        if tick.phase != self._phase:
            self._say(now, tick.phase.name.lower().replace("_", " "))
        if tick.note and not self._note:
            self._say(now, f"request refused: {tick.note}")
        self._phase, self._note = tick.phase, tick.note

    def close(self) -> None:
        """Print what is left, unless the terminal does not take it."""
        self._lines.put(None)
        self._thread.join(timeout=1.0)

    def _say(self, now: float, text: str) -> None:
        self._lines.put(f"{now:8.2f} s  {text}")

    def _run(self) -> None:
        with suppress(OSError, ValueError):  # Nobody reads any more.
            while (line := self._lines.get()) is not None:
                print(line, flush=True)
