"""The web server of the viewers: for pages it served itself, on this machine only.

Listening on loopback keeps other computers out, but not other pages in the browser of
this one: a page from anywhere may open a WebSocket to any address, and would steer the
robot of the viewer. Browsers say in ``Origin`` where a page is from, and in ``Host``
under which name it asked, an attacker's if that points to this machine. viser has no
option to look at them, so its listening function is given a check.
"""

from __future__ import annotations

import contextlib
import io
import logging
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import viser
import websockets.asyncio.server as listening
from websockets.datastructures import Headers

HOST = "127.0.0.1"
"""Loopback: viser's default would offer the controls to the whole network."""

LOCAL_NAMES = ("localhost", "127.0.0.1")
"""Names by which a browser on this computer calls the server."""


def start_server(port: int) -> viser.ViserServer:
    """Start to listen; takes the next free port if this one is in use."""
    # A browser that opens a connection ahead of need and drops it is no error.
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
    serve, is_guarded = listening.serve, False

    def guarded(*args: Any, process_request: Any, **options: Any) -> listening.serve:
        nonlocal is_guarded
        is_guarded = True

        def check(connection: Any, request: Any) -> Any:
            if is_own(request.headers):
                return process_request(connection, request)
            return connection.respond(
                HTTPStatus.FORBIDDEN, "Open the address that solo printed.\n"
            )

        return serve(*args, process_request=check, **options)

    listening.serve = guarded  # type: ignore[misc]
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # Its banner.
            server = viser.ViserServer(
                host=HOST, port=port, label="SOLO", verbose=False
            )
    finally:
        listening.serve = serve
    if not is_guarded:
        server.stop()
        raise RuntimeError(f"viser {viser.__version__} does not listen as it used to")
    return server


def is_own(headers: Headers) -> bool:
    """Whether a request comes from a page of this server, or asks for one."""
    hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
    try:
        if len(hosts) != 1 or urlsplit(f"//{hosts[0]}").hostname not in LOCAL_NAMES:
            return False
    except ValueError:  # Not even an address.
        return False
    is_page = "Upgrade" not in headers and not origins
    return is_page or origins == [f"http://{hosts[0]}"]
