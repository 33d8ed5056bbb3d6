"""The runtime's side of the dashboard: start its process, overwrite the slot."""

from __future__ import annotations

import ipaddress
import multiprocessing
import secrets
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from solo.deploy.command import CommandCfg
from solo.deploy.contract import Contract
from solo.deploy.dashboard.server import serve
from solo.deploy.dashboard.slot import Slot
from solo.deploy.loop import LATE_S
from solo.deploy.phase import Phase
from solo.deploy.recorder import Snapshot
from solo.errors import SoloError

RECENT = 500
"""Ticks whose duration and lateness are kept: ten seconds."""


class Dashboard:
    """Shows a run on a web page. The loop calls `put` after each tick."""

    def __init__(
        self,
        contract: Contract,
        command: CommandCfg,
        title: str,
        robot: str,
        height_map: Mapping[str, Any],
        host: str = "127.0.0.1",
        port: int = 8088,
    ) -> None:
        """Reserve the memory; nothing is started yet.

        Args:
            contract: Rate and image size.
            command: Limits of the velocity command.
            title: Name of the policy.
            robot: Name of the robot.
            height_map: ``height_map`` of the bundle's metadata.
            host: Address to bind; another than this computer's needs a token.
            port: Port; 0 takes a free one.
        """
        self.host, self.port = host, port
        self.failure: str | None = None
        """Why nothing is shown any more; the run goes on."""
        self.url = ""
        """Where the page is, with its token; known once it is started."""
        self._slot, self._recorder = Slot(), TickRecorder(contract)
        self._info = {
            "title": title,
            "robot": robot,
            "period_ms": 1e3 * contract.period_s,
            "late_ms": 1e3 * LATE_S,
            "min_range_m": contract.depth.min_range_m,
            "max_range_m": contract.depth.max_range_m,
            "needs_depth": contract.needs_depth,
            "command_low": list(command.low),
            "command_high": list(command.high),
            "x_range_m": list(height_map["x_range_m"]),
            "y_range_m": list(height_map["y_range_m"]),
        }
        self._process: Any = None
        self._pipe: Any = None

    def start(self, timeout_s: float = 60.0) -> None:
        """Start the process and wait until it listens."""
        host, port = self.host, self.port
        token = None if is_loopback(host) else secrets.token_urlsafe(16)
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=serve,
            args=(self._slot, self._info, host, port, token, theirs),
            name="dashboard",
            daemon=True,
        )
        self._process.start()
        theirs.close()
        try:
            found = self._pipe.recv() if self._pipe.poll(timeout_s) else "no answer"
        except EOFError:
            found = "its process ended"
        if not isinstance(found, int):
            self.close()
            raise SoloError(
                f"The dashboard cannot be served on {host}:{port}: {found}. Choose "
                "another --dashboard-port or --dashboard-host, or leave it out."
            )
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{found}/" + (f"?token={token}" if token else "")

    def put(self, tick: Snapshot) -> None:
        """Show a tick. Never raises: nobody may fall because of a page."""
        if self.failure is not None:
            return
        try:
            self._slot.write(self._recorder.record(tick))
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"

    def close(self) -> None:
        """End the process; a second call does nothing."""
        if self._process is None:
            return
        self._pipe.close()
        self._process.join(timeout=2.0)
        if self._process.is_alive():
            self._process.terminate()
        self._process = None


class TickRecorder:
    """Makes a record of a tick, with what is remembered of those before it."""

    def __init__(self, contract: Contract) -> None:
        depth = contract.depth
        self._depth_mm = np.zeros((depth.output_height, depth.output_width), np.uint16)
        self._recent: deque[tuple[float, float]] = deque(maxlen=RECENT)
        self._faults: dict[str, dict[str, Any]] = {}
        self._phase, self._phase_since_s = Phase.IDLE, -np.inf

    def record(self, tick: Snapshot) -> dict[str, Any]:
        """What `server.describe` makes a page of; call it every tick."""
        state, view, stats = tick.state, tick.view, tick.stats
        if tick.phase != self._phase or not np.isfinite(self._phase_since_s):
            self._phase, self._phase_since_s = tick.phase, tick.time_s
        if stats.num_ticks > 0:  # This tick has not ended: the one before is known.
            self._recent.append((stats.last_tick_s, stats.last_jitter_s))
        if tick.image is not None:
            self._depth_mm = tick.image.depth_mm
        self._remember(tick)
        turn = state.ang_vel_b[2] if state is not None else 0.0
        return {
            "time_s": tick.time_s,
            "phase": tick.phase.name.lower(),
            "phase_s": tick.time_s - self._phase_since_s,
            "note": tick.note,
            "quat_wxyz": state.quat_wxyz if state is not None else (1.0, 0.0, 0.0, 0.0),
            "ages_s": tick.ages_s,
            "command": tick.command,
            "wanted": tick.wish.velocity,
            "measured": None if view is None else (*view.velocity[:2], turn),
            "stats": stats,
            "recent": self._recent,
            "faults": self._faults,
            "depth_sequence": tick.image.sequence if tick.image is not None else -1,
            "depth_mm": self._depth_mm,
            "map": None if view is None else (view.height_map, view.attention),
        }

    def _remember(self, tick: Snapshot) -> None:
        active = {fault.name for fault in tick.faults}
        for fault in tick.faults:
            before = self._faults.get(fault.name, {"count": 0, "is_active": False})
            self._faults[fault.name] = {
                "count": before["count"] + (not before["is_active"]),
                "is_active": True,
                "time_s": tick.time_s,
                "reaction": fault.reaction.name.lower(),
                "message": fault.message,
            }
        for name in self._faults.keys() - active:
            self._faults[name]["is_active"] = False


def is_loopback(host: str) -> bool:
    """Whether only programs of this computer can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
