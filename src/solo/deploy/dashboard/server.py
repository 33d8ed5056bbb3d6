"""The dashboard's process: a small web server that reads the slot and writes nothing.

It answers ``/`` with the page and ``/state`` with the record as JSON, pictures as bytes
that the page colours itself. Nothing that arrives here can reach the loop: the slot is
the only thing that both share, and the server only reads.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
import signal
import socket
import socketserver
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from solo.deploy.dashboard.slot import Slot
from solo.deploy.loop import JITTER_EDGES_MS, LoopStats, memory_mb
from solo.deploy.observation import projected_gravity

PAGE = Path(__file__).with_name("page.html").read_text()
"""One document without anything from elsewhere, light and dark, any width. It asks for
the newest tick ten times a second and draws it."""

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
"""Names by which a browser on this computer calls the server."""

HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # The token is in the address.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "frame-ancestors 'none'; base-uri 'none'",
}


UNKNOWN_AGE_S = 1e6
"""What is older than this was never there."""


class DashboardServer(ThreadingHTTPServer):
    """Serves one slot."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(
        self,
        address: tuple[str, int],
        slot: Slot,
        info: Mapping[str, Any],
        token: str | None,
        pid: int,
    ) -> None:
        """Bind the address.

        Without a token only visitors of this computer are let in; ``pid`` is the
        process of the loop, whose memory is shown.
        """
        self.slot, self.info, self.token, self.pid = slot, info, token, pid
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Bind without asking a name server who we are, which may take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def state(self) -> bytes:
        """The newest tick as JSON."""
        found = describe(self.slot.read(), self.info)
        found["memory_mb"] = memory_mb(self.pid)
        return json.dumps(found, separators=(",", ":")).encode()


class _Handler(BaseHTTPRequestHandler):
    server: DashboardServer  # pyright: ignore[reportIncompatibleVariableOverride]
    protocol_version = "HTTP/1.1"
    timeout = 10.0

    def do_GET(self) -> None:
        """Answer with the page or the state."""
        parts = urlsplit(self.path)
        if not self._is_allowed(parts.query):
            self._answer(403, "text/plain", b"Open the address that solo printed.\n")
        elif parts.path == "/":
            self._answer(200, "text/html; charset=utf-8", PAGE.encode())
        elif parts.path == "/state":
            self._answer(200, "application/json", self.server.state())
        else:
            self._answer(404, "text/plain", b"There is / and /state.\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the terminal is the operator's."""

    def _is_allowed(self, query: str) -> bool:
        token = self.server.token
        if token is not None:
            given = parse_qs(query).get("token", [""])[0]
            return hmac.compare_digest(given.encode(), token.encode())
        # Other web pages can make a browser ask us under a name of theirs.
        try:
            name = urlsplit(f"//{self.headers.get('Host', '')}").hostname
        except ValueError:  # Not even an address.
            return False
        return name in LOCAL_NAMES

    def _answer(self, code: int, kind: str, body: bytes) -> None:
        try:
            self.send_response(code)
            for name, value in HEADERS.items():
                self.send_header(name, value)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # The visitor has left.


def serve(
    slot: Slot,
    info: Mapping[str, Any],
    host: str,
    port: int,
    token: str | None,
    answer: Connection,
) -> None:
    """The process: serve until the other end of ``answer`` is closed.

    The first thing sent over it is the port, or why there is none.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the runtime's to handle.
    if hasattr(os, "nice"):
        os.nice(10)  # The loop, the robot and the camera come first.
    try:
        server = DashboardServer((host, port), slot, info, token, os.getppid())
    except OSError as error:
        answer.send(error.strerror or str(error))
        return
    answer.send(server.server_address[1])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        answer.recv()  # Nothing is ever sent: it ends when the runtime does.
    except (EOFError, OSError):
        server.shutdown()


def describe(
    record: Mapping[str, Any] | None, info: Mapping[str, Any]
) -> dict[str, Any]:
    """What the page shows of the newest tick, None before the first."""
    if record is None:
        return {"tick": 0, "info": dict(info)}
    quat, stats = record["quat_wxyz"], record["stats"]
    upright = -projected_gravity(quat)[2] if np.linalg.norm(quat) > 0.5 else np.nan
    tilt_deg = np.degrees(np.arccos(np.clip(upright, -1.0, 1.0)))
    velocity = {name: record[name] for name in ("command", "wanted", "measured")}
    return {
        "info": dict(info),
        "tick": stats.num_ticks,
        "time_s": record["time_s"],
        "phase": record["phase"],
        "phase_s": record["phase_s"],
        "note": record["note"],
        "tilt_deg": _numbers(tilt_deg),
        "ages_ms": [_age_ms(age) for age in record["ages_s"]],
        "velocity": {name: _numbers(value) for name, value in velocity.items()},
        "timing": timing(stats, np.array(record["recent"]).reshape(-1, 2)),
        "faults": faults(record),
        "depth": {
            "sequence": record["depth_sequence"],
            "shape": list(record["depth_mm"].shape),
            "data": depth_bytes(record["depth_mm"], info["max_range_m"]),
        },
        "map": None if record["map"] is None else ground(*record["map"]),
    }


def timing(stats: LoopStats, recent_s: np.ndarray) -> dict[str, Any]:
    """Deadline accounting, and the last ten seconds tick by tick, in milliseconds.

    Of each tick [T, 2] they are its duration and its lateness.
    """
    tick_ms, jitter_ms = 1e3 * recent_s.T
    shares = np.quantile(tick_ms, [0.5, 0.95]) if len(tick_ms) else np.zeros(2)
    return {
        "late": int(stats.num_late),
        "overruns": int(stats.num_overruns),
        "skipped": stats.num_skipped,
        "max_jitter_ms": 1e3 * stats.max_jitter_s,
        "max_tick_ms": 1e3 * stats.max_tick_s,
        "median_tick_ms": float(shares[0]),
        "p95_tick_ms": float(shares[1]),
        "edges_ms": list(JITTER_EDGES_MS),
        "histogram": stats.histogram.tolist(),
        "causes": {cause: int(number) for cause, number in stats.causes.items()},
        "recent_tick_ms": np.round(tick_ms, 2).tolist(),
        "recent_jitter_ms": np.round(jitter_ms, 2).tolist(),
    }


def faults(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Faults that occurred, the newest first."""
    found = [
        {"name": name, **fault, "ago_s": record["time_s"] - fault["time_s"]}
        for name, fault in record["faults"].items()
    ]
    return sorted(found, key=lambda fault: fault["ago_s"])


def ground(height_m: np.ndarray, attention: np.ndarray) -> dict[str, Any]:
    """The map in millimetres, int16, and where the policy looks, 0 to 255."""
    height_mm = np.clip(1e3 * np.nan_to_num(height_m), -32e3, 32e3)
    attention = np.nan_to_num(attention)
    share = attention / max(float(attention.max()), 1e-9)
    return {
        "shape": list(height_mm.shape),
        "height_mm": _packed(np.rint(height_mm).astype("<i2")),
        "attention_shape": list(share.shape),
        "attention": _packed(np.rint(255.0 * np.clip(share, 0, 1)).astype(np.uint8)),
    }


def depth_bytes(depth_mm: np.ndarray, max_range_m: float) -> str:
    """One byte per pixel: 0 is invalid, 1 to 255 is near to ``max_range_m``."""
    share = np.minimum(depth_mm / (1e3 * max_range_m), 1.0)
    return _packed(np.where(depth_mm > 0, 1 + np.rint(254 * share), 0).astype(np.uint8))


def _age_ms(age_s: float) -> float | None:
    return 1e3 * float(age_s) if age_s < UNKNOWN_AGE_S else None


def _numbers(values: Any) -> Any:
    """Numbers as JSON has them: what is not finite becomes null."""
    if values is None:
        return None
    if np.ndim(values) == 0:
        return float(values) if np.isfinite(values) else None
    return [_numbers(value) for value in values]


def _packed(values: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
