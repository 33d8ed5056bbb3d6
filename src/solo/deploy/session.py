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


class Session:
    """Owns the devices of a run."""

    def __init__(
        self,
        contract: Contract,
        policy: Policy,
        robot: Robot,
        camera: Camera | None,
        operator: Operator,
        cfg: RuntimeCfg | None = None,
        faults: Path | None = None,
        log: Path | None = None,
        realtime: bool = False,
    ) -> None:
        """Put the parts together; nothing is started yet.

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
        """
        self.contract, self.policy, self.robot = contract, policy, robot
        self.camera, self.operator, self.cfg = camera, operator, cfg or RuntimeCfg()
        self._faults, self._log, self._realtime = faults, log, realtime
        self.runtime: Runtime | None = None
        """The runtime, while it runs; a dashboard polls its ``snapshot``."""
        self.signal = ""
        """Name of the signal that ended the run."""

    def run(
        self, max_ticks: int | None = None, on_tick: Callable[[], None] | None = None
    ) -> dict[str, Any]:
        """Run until stopped, and close all devices whatever happens.

        Args:
            max_ticks: End after so many ticks.
            on_tick: Called after each tick, in the loop's thread; it must be quick.

        Returns:
            How the run went: the phase it ended in, faults, deadline accounting with
            the causes of late ticks, memory at start, middle and end, depth frames, the
            signal that ended it.

        Raises:
            SoloError: A device or a folder cannot be used.
        """
        memory = MemoryLog()

        def watch() -> None:
            assert self.runtime is not None
            memory.sample(self.runtime.snapshot.time_s)
            if on_tick is not None:
                on_tick()

        with self._signals(), ExitStack() as stack:
            writer = LogWriter()
            stack.callback(writer.close)
            recorder = self._recorder(writer, stack)
            stack.callback(self.robot.close)
            self.robot.start()
            capture = None
            if self.camera is not None:
                capture = Capture(self.camera, DepthProcessor(self.contract.depth))
                stack.callback(capture.close)
                capture.start()
            stack.callback(self.operator.close)
            self.operator.start()
            self.runtime = Runtime(
                self.contract,
                self.robot,
                self.policy,
                self.operator,
                capture,
                self.cfg,
                recorder,
            )
            if self._realtime:  # Last, so that other threads do not inherit it.
                ask_for_priority()
            result = self.runtime.run(max_ticks, watch)
            result["memory_mb"] = memory.summary()
        result["signal"] = self.signal
        result["log_failure"] = writer.failure
        result["depth_frames"] = capture.num_frames if capture is not None else 0
        return result

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Let signals damp the robot; Python allows it in the main thread only."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def handle(number: int, _frame: object) -> None:
            if self.runtime is None or self.signal:
                raise KeyboardInterrupt  # Nothing moves yet, or it is damping already.
            self.signal = signal.Signals(number).name
            self.runtime.stop()

        before = {number: signal.signal(number, handle) for number in STOPPING}
        before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _recorder(self, writer: LogWriter, stack: ExitStack) -> Recorder:
        if self._faults is not None:
            try:
                self._faults.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise SoloError(
                    f"Cannot make the folder {str(self._faults)!r}: {error.strerror}. "
                    "Choose another with --faults."
                ) from error
        run_log = None
        if self._log is not None:
            meta = {"start": self.cfg.start.name, "robot": self.robot.name}
            run_log = RunLog(self._log, self.contract, writer, meta)
            stack.callback(run_log.close)
        return Recorder(self.contract, 2.0, self._faults, run_log, writer)


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
