"""A whole run: devices are started, the loop runs, everything is closed again.

Signals that would end the program damp the robot within the same moment and end the run
in order; a second one ends the program at once. Ctrl-Z does nothing.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from solo.deploy.camera import Capture, DepthProcessor
from solo.deploy.command import Operator
from solo.deploy.contract import Contract
from solo.deploy.drivers.protocols import Camera, Robot
from solo.deploy.log import LogWriter, RunLog
from solo.deploy.loop import MemoryLog, ask_for_priority
from solo.deploy.observation import Policy
from solo.deploy.recorder import Recorder
from solo.deploy.runtime import Runtime, RuntimeCfg
from solo.errors import SoloError

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals that end a run: Ctrl-C, kill, a terminal that closes, Ctrl-\\."""


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
