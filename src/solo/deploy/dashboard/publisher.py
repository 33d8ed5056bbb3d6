"""The runtime's side of the dashboard: start its process, overwrite the slot."""

from __future__ import annotations

import ipaddress
import multiprocessing
import secrets
from collections.abc import Mapping
from typing import Any

from solo.deploy.command import CommandCfg
from solo.deploy.contract import Contract
from solo.deploy.dashboard.server import serve
from solo.deploy.dashboard.slot import Slot
from solo.deploy.loop import LATE_S
from solo.deploy.recorder import Snapshot
from solo.errors import SoloError


class Dashboard:
    """Shows a run on a web page. The loop calls `put` after each tick."""

    def __init__(
        self,
        contract: Contract,
        command: CommandCfg,
        title: str,
        robot: str,
        height_map: Mapping[str, Any],
        attention: tuple[int, int],
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
            attention: Cells of the policy's attention along y and x.
            host: Address to bind; another than this computer's needs a token.
            port: Port; 0 takes a free one.
        """
        self.host, self.port = host, port
        self.failure: str | None = None
        """Why nothing is shown any more; the run goes on."""
        self.url = ""
        """Where the page is, with its token; known once it is started."""
        self._slot = Slot(
            (contract.depth.output_height, contract.depth.output_width),
            tuple(height_map["cells"]),
            attention,
        )
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
            self._slot.write(tick)
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


def is_loopback(host: str) -> bool:
    """Whether only programs of this computer can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
