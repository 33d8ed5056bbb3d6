"""The dashboard's process: a small web server that reads the slot and writes nothing.

It answers ``/`` with the page and ``/state`` with JSON. Nothing that arrives here can
reach the loop: the slot is the only thing that both share, and the server only reads.
"""

from __future__ import annotations

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

from solo.deploy.dashboard.slot import Slot
from solo.deploy.dashboard.state import describe
from solo.deploy.health import memory_mb

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

        Args:
            address: Host and port; port 0 takes a free one.
            slot: What to show.
            info: What does not change during the run.
            token: What a visitor must know; None for visitors of this computer alone.
            pid: The process of the loop, for its memory.
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
