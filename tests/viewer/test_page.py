"""The page in a real browser: it loads, the robot moves, controls have their effect."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from solo.evaluation.policies import open_policy
from solo.sim.threads import stepping_threads
from solo.viewer.controls import Choice
from solo.viewer.page import PUSH_M_S, Page, PageCfg
from solo.viewer.server import start_server
from tests.export.helpers import bundle_path
from tests.report.browser import Browser, open_browser

pytestmark = pytest.mark.slow

_PATIENCE_S = 600.0
"""Long: a browser that draws in software beside other work may take minutes."""
_BY_TEXT = """(text => [...document.querySelectorAll('button, label, input')].find(
  e => (e.innerText || e.value || '').trim() === text))"""
_BY_LABEL = """(label => {
  let row = [...document.querySelectorAll('label')].find(
    e => e.innerText.trim() === label);
  while (row && !row.querySelector('input')) row = row.parentElement;
  const inputs = row ? [...row.querySelectorAll('input')] : [];
  return inputs.filter(e => e.type !== 'hidden').pop();
})"""
_AIM = """(found => {
  if (!found) return null;
  found.scrollIntoView({block: 'center'});
  window.wasHit = false;
  found.addEventListener('click', () => { window.wasHit = true; }, {once: true});
  const box = found.getBoundingClientRect();
  return JSON.stringify([box.x + box.width / 2, box.y + box.height / 2]);
})"""


def wait_for(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen."
        time.sleep(0.1)


def click(browser: Browser, found: str, count: int = 1) -> None:
    """Press and release the mouse on what a script finds, as a person does.

    A panel may move between look and click, so a click may miss; a person then clicks
    again.
    """

    def hit() -> bool:
        place = browser.ask(f"{_AIM}({found})")
        if place is None:
            return False
        x, y = json.loads(place)
        for kind in ("mousePressed", "mouseReleased"):
            browser.call(
                "Input.dispatchMouseEvent",
                type=kind, x=x, y=y, button="left", clickCount=count,
            )  # fmt: skip
        return browser.ask("window.wasHit")

    wait_for(hit, f"A click on {found}")


def enter(browser: Browser, label: str, value: str) -> None:
    """Replace the number beside a slider, until the field shows it."""
    field = f"{_BY_LABEL}({label!r})"

    def is_entered() -> bool:
        click(browser, field, count=3)
        browser.call("Input.insertText", text=value)
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
        for kind in ("keyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, **key)
        return browser.ask(f"Number({field}.value) === {value}")

    wait_for(is_entered, f"{value} in the field {label}")


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Iterator[tuple[Page, str]]:
    """A page that runs in a thread, and its address."""
    with stepping_threads():
        server, stop = start_server(8790), threading.Event()
        source = open_policy(str(bundle_path()))
        folder = tmp_path_factory.mktemp("recordings")
        page = Page(server, source, PageCfg(Choice("gap", 1.0), folder=folder))
        thread = threading.Thread(target=page.run, args=(stop,))
        thread.start()
        yield page, f"http://127.0.0.1:{server.get_port()}"
        stop.set()
        thread.join()
        server.stop()
        page.close()


@pytest.fixture(scope="module")
def browser(page, tmp_path_factory) -> Iterator[Browser]:
    with open_browser(tmp_path_factory.mktemp("profile")) as found:
        size = {"width": 960, "height": 720, "deviceScaleFactor": 1, "mobile": False}
        found.call("Emulation.setDeviceMetricsOverride", **size)
        for domain in ("Page", "Runtime", "Log"):
            found.call(f"{domain}.enable")
        found.call("Page.navigate", url=page[1])
        text = "document.body.innerText"
        wait_for(lambda: "policy step" in (found.ask(text) or ""), "The page")
        yield found


def test_it_shows_robot_pictures_and_numbers(browser: Browser):
    words = browser.ask("document.body.innerText")
    for part in ("What the robot sees", "map error", "falls", "Push", "difficulty"):
        assert part in words
    pictures = "[...document.images].filter(i => i.naturalWidth >= 200).length"
    wait_for(lambda: browser.ask(pictures) >= 3, "Pictures")
    assert browser.ask("document.querySelectorAll('canvas').length") >= 1
    errors = [e for e in browser.troubles if e["method"] == "Runtime.exceptionThrown"]
    assert errors == []


def test_the_robot_moves(page, browser: Browser):
    def look() -> str:
        clip = {"x": 400, "y": 200, "width": 500, "height": 500, "scale": 1}
        return browser.call("Page.captureScreenshot", format="png", clip=clip)["data"]

    walking = page[0]
    before, seconds = look(), walking.summarise()["simulated_s"]
    wait_for(lambda: look() != before, "Another picture")
    wait_for(
        lambda: walking.summarise()["simulated_s"] > seconds + 0.3, "Simulated time"
    )


def test_a_click_on_push_pushes(page, browser: Browser):
    walking = page[0]
    count = len(walking.pushes)
    click(browser, f"{_BY_TEXT}('Push')")
    wait_for(lambda: len(walking.pushes) == count + 1, "The push")
    assert np.hypot(*walking.pushes[-1]) == pytest.approx(PUSH_M_S)


def test_a_slider_drives_the_robot(page, browser: Browser):
    walking = page[0]
    click(browser, f"{_BY_LABEL}('drive yourself')")
    wait_for(lambda: walking.controls.wanted is not None, "Driving")
    enter(browser, "forward, m/s", "0.4")
    enter(browser, "turn, rad/s", "-0.6")
    wanted = [0.4, 0.0, -0.6]
    wait_for(
        lambda: np.allclose(walking.moment.command, wanted, atol=1e-6), "The command"
    )
    click(browser, f"{_BY_LABEL}('drive yourself')")
    wait_for(lambda: walking.moment.command[0] > 0.5, "The course's command")


def press(browser: Browser, key: str) -> None:
    """Press a key while no field has the focus."""
    browser.ask("document.activeElement.blur()")
    code = {"key": key, "code": f"Key{key.upper()}", "text": key}
    for kind in ("keyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent",
            type=kind, windowsVirtualKeyCode=ord(key.upper()), **code,
        )  # fmt: skip


def test_keys_drive_and_pause(page, browser: Browser):
    walking = page[0]
    assert walking.controls.wanted is None
    press(browser, "w")
    wait_for(lambda: walking.controls.wanted == (0.1, 0.0, 0.0), "Forward by a key")
    press(browser, "a")
    wait_for(lambda: walking.controls.wanted == (0.1, 0.0, 0.2), "A turn by a key")
    press(browser, "x")
    wait_for(lambda: walking.controls.wanted == (0.0, 0.0, 0.0), "A stop by a key")
    press(browser, "p")
    wait_for(lambda: walking.controls.paused.value, "The pause")

    def stands_still() -> bool:
        before = walking.summarise()["simulated_s"]
        time.sleep(1.0)
        return walking.summarise()["simulated_s"] == before

    wait_for(stands_still, "The end of the step under way")
    steps = walking.summarise()["simulated_s"]
    press(browser, "p")
    wait_for(lambda: walking.summarise()["simulated_s"] > steps, "The next step")
    walking.controls.drives.value = False


def test_a_recording_becomes_a_film(page, browser: Browser):
    walking = page[0]
    press(browser, "r")
    wait_for(lambda: len(walking._frames) >= 3, "Frames")
    press(browser, "r")
    wait_for(lambda: walking.recordings, "The film")
    (film,) = walking.recordings
    assert b"ftyp" in film.read_bytes()[:16]


def test_another_terrain_is_loaded_while_the_page_stays(page, browser: Browser):
    walking = page[0]
    walking.controls.terrain.value = "flat"
    enter(browser, "difficulty", "0.25")
    click(browser, f"{_BY_TEXT}('Load')")
    wait_for(lambda: walking.walk.ground.name == "flat", "The other terrain")
    assert walking.walk.ground.difficulty == 0.25
    steps = walking.summarise()["simulated_s"]
    wait_for(lambda: walking.summarise()["simulated_s"] > steps, "The next step")
    text = "document.body.innerText"
    wait_for(lambda: "of 5.0 m" in browser.ask(text), "The finish of the patch")


def read_terminal(file: int, end: str | None = None) -> str:
    """What a process prints, up to some words or to its end."""
    text, last_s = "", time.monotonic() + 2 * _PATIENCE_S
    while time.monotonic() < last_s and not (end and end in text):
        if select.select([file], [], [], 0.5)[0]:
            try:
                text += os.read(file, 65536).decode()
            except OSError:  # The other end is closed.
                break
    return text


def test_ctrl_c_in_a_terminal_prints_the_summary_and_ends():
    ours, theirs = pty.openpty()
    options = [str(bundle_path()), "--terrain", "gap", "--port", "8791"]
    process = subprocess.Popen(
        [sys.executable, "-m", "solo.cli.main", "play", *options],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        # As in a terminal, also where the tests run in the background and ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(theirs)
    try:
        text = read_terminal(ours, "Ctrl-C stops")
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        text += read_terminal(ours)
        assert process.wait(_PATIENCE_S) == 0, text
    finally:
        process.kill()
        os.close(ours)
    assert "http://127.0.0.1:" in text
    for part in ("distance m", "falls", "height map l1 cm", "policy ms", "terrain"):
        assert part in text
    assert "Traceback" not in text
