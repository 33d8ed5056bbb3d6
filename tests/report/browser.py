"""A headless Chromium that is asked questions through its debugging protocol."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--no-first-run", "--remote-debugging-port=0",
)  # fmt: skip
_PATIENCE_S = 600.0
"""Long: a browser that draws in software beside other work may take minutes."""
_TROUBLE = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")


class Browser:
    """One tab."""

    def __init__(self, connection: Any) -> None:
        self._connection, self._count = connection, 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask, and remember what happens meanwhile."""
        self._count += 1
        request = {"id": self._count, "method": method, "params": params}
        self._connection.send(json.dumps(request))
        while True:
            reply = json.loads(self._connection.recv(timeout=_PATIENCE_S))
            if reply.get("id") == self._count:
                assert "error" not in reply, reply
                return reply["result"]
            self.events.append(reply)

    def open(self, page: Path, width: int, dark: bool = False) -> None:
        """Show a page in a window of a width, and wait for all of it."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.events.clear()
        self.call("Page.navigate", url=page.as_uri())
        end = time.monotonic() + _PATIENCE_S
        while self.ask("document.readyState + location.protocol") != "completefile:":
            assert time.monotonic() < end, "The page does not load."
            time.sleep(0.1)

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")

    @property
    def troubles(self) -> list[dict[str, Any]]:
        """Errors and messages of the console since the page was opened."""
        return [event for event in self.events if event["method"] in _TROUBLE]

    @property
    def requests(self) -> list[str]:
        """Addresses that were asked for since."""
        sent = [e for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]


@contextmanager
def open_browser(folder: Path) -> Iterator[Browser]:
    """Start Chromium, or skip the test with what to install."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("needs a browser: apt-get install -y chromium")
    client = pytest.importorskip(
        "websockets.sync.client", reason="needs: pip install websockets"
    )
    process = subprocess.Popen(
        [program, *_FLAGS, f"--user-data-dir={folder}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port_file = folder / "DevToolsActivePort"
        end = time.monotonic() + _PATIENCE_S
        while not port_file.exists() or not port_file.read_text().strip():
            assert process.poll() is None, "Chromium ended."
            assert time.monotonic() < end, "Chromium does not start."
            time.sleep(0.1)
        port = port_file.read_text().split()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
            tabs = json.load(answer)
        address = next(t["webSocketDebuggerUrl"] for t in tabs if t["type"] == "page")
        with client.connect(address, max_size=None) as connection:
            yield Browser(connection)
    finally:
        process.terminate()
        process.wait(_PATIENCE_S)
