"""The viewers obey their own page and no other."""

from __future__ import annotations

import http.client

import pytest
import viser
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from solo.viewer.server import start_server


@pytest.fixture(scope="module")
def port():
    server = start_server(8791)
    yield server.get_port()
    server.stop()


def get(port: int, host: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.putrequest("GET", "/", skip_host=True)
    connection.putheader("Host", host)
    connection.endheaders()
    return connection.getresponse().status


def socket(port: int, host: str, origin: str | None):
    return connect(
        f"ws://{host}:{port}",
        sock=None,
        origin=Origin(origin) if origin else None,
        subprotocols=[Subprotocol(f"viser-v{viser.__version__}")],
        max_size=None,
        compression=None,
        proxy=None,
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_its_own_page_is_served_and_connected(port, host):
    assert get(port, f"{host}:{port}") == 200
    with socket(port, host, f"http://{host}:{port}") as opened:
        assert opened.recv(timeout=60)  # The scene.


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "http://evil.example",
        "https://127.0.0.1",
        "http://127.0.0.1:1",  # Another server of this machine.
        "http://127.0.0.1.evil.example",
    ],
)
def test_pages_from_elsewhere_do_not_get_through(port, origin):
    with pytest.raises(InvalidStatus) as error, socket(port, "127.0.0.1", origin):
        pass
    assert error.value.response.status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "[::1", "", "localhost.evil.example"])
def test_a_foreign_name_that_points_here_gets_nothing(port, host):
    assert get(port, host) == 403
