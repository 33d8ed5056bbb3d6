"""The page shows the run, asks nothing of it, and lets only those in who may see it."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import replace

import numpy as np
import pytest

from solo.deploy.bundle.policy import PolicyView
from solo.deploy.command import CommandCfg
from solo.deploy.dashboard.publisher import Dashboard, TickRecorder, is_loopback
from solo.deploy.dashboard.server import PAGE, depth_bytes, describe
from solo.deploy.dashboard.slot import Slot
from solo.deploy.phase import Request
from solo.errors import SoloError

from .helpers import Rig, tiny_contract

WINDOW = {"cells": (2, 3), "x_range_m": (-0.1, 0.5), "y_range_m": (-0.2, 0.2)}
INFO = {"max_range_m": 3.0}


@pytest.fixture
def rig(tmp_path):
    rig = Rig(tmp_path)
    yield rig
    rig.close()


def make_dashboard(**cfg) -> Dashboard:
    contract, command = tiny_contract(), CommandCfg()
    place = {"port": 0, **cfg}
    return Dashboard(contract, command, "tiny.onnx", "fake", WINDOW, **place)


@pytest.fixture
def dashboard():
    made = make_dashboard()
    made.start()
    yield made
    made.close()


def get(url: str, **headers: str) -> tuple[int, bytes]:
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60.0) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def unpacked(text: str, dtype: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype)


def test_a_record_holds_the_tick(rig):
    slot, recorder = Slot(), TickRecorder(rig.contract)
    assert slot.read() is None
    rig.walk()
    rig.operator.velocity = (0.5, 0.0, 9.0)
    rig.tick(3)
    view = PolicyView(
        np.arange(6.0).reshape(2, 3) / 10.0, np.array([0.3, -0.1, 0.0]), np.eye(2)[:1]
    )
    slot.write(recorder.record(replace(rig.runtime.snapshot, view=view)))
    state = describe(slot.read(), INFO)
    assert state["phase"] == "walking"
    assert state["velocity"]["command"] == pytest.approx([0.06, 0.0, 0.12])
    assert state["velocity"]["wanted"] == [0.5, 0.0, 9.0]
    assert state["velocity"]["measured"] == pytest.approx([0.3, -0.1, 0.0])
    assert state["ages_ms"] == pytest.approx([0.0, 0.0, 0.0])
    assert state["tilt_deg"] == pytest.approx(0.0)
    height = unpacked(state["map"]["height_mm"], "<i2")
    assert height.tolist() == [0, 100, 200, 300, 400, 500]
    assert unpacked(state["map"]["attention"], "u1").tolist() == [255, 0]
    depth_mm = 1000 + rig.depth.count
    pixels = unpacked(state["depth"]["data"], "u1")
    assert (pixels == 1 + round(254 * depth_mm / 3000)).all()
    assert json.dumps(state, allow_nan=False)


def test_depth_is_one_byte_per_pixel_and_invalid_is_zero():
    depth_mm = np.array([[0, 1, 1500, 3000, 60000]], dtype=np.uint16)
    assert unpacked(depth_bytes(depth_mm, 3.0), "u1").tolist() == [0, 1, 128, 255, 255]


def test_faults_of_a_single_tick_are_not_missed(rig):
    recorder = TickRecorder(rig.contract)
    rig.walk()
    rig.policy.action = np.array([0.0, np.nan, 0.0])
    rig.tick()
    recorder.record(rig.runtime.snapshot)
    rig.policy.action = np.zeros(3)
    for _ in range(50):
        rig.tick()
        record = recorder.record(rig.runtime.snapshot)
    (fault,) = describe(record, INFO)["faults"]
    assert (fault["name"], fault["reaction"]) == ("nan_action", "damp")
    assert (fault["count"], fault["is_active"]) == (1, False)
    assert fault["ago_s"] == pytest.approx(1.0)
    assert "knee" in fault["message"]


def test_what_is_not_a_number_does_not_break_the_page(rig):
    recorder = TickRecorder(rig.contract)
    rig.robot.quat_wxyz = np.zeros(4)
    rig.depth.is_silent = True
    rig.operator.velocity = (np.nan, np.inf, 0.0)
    rig.tick()
    view = PolicyView(np.full((2, 3), np.nan), np.full(3, np.nan), np.zeros((1, 2)))
    record = recorder.record(replace(rig.runtime.snapshot, view=view))
    state = describe(record, INFO)
    assert state["tilt_deg"] is None
    assert state["ages_ms"][1] is None
    assert state["velocity"]["wanted"] == [None, None, 0.0]
    assert json.dumps(state, allow_nan=False)


def test_recent_ticks_come_in_order_and_the_ring_closes(rig):
    recorder = TickRecorder(rig.contract)
    rig.tick()
    stats = rig.runtime.loop.stats
    for index in range(1, 701):
        stats.add(0.0, 1e-3 * index, 0.02)
        record = recorder.record(rig.runtime.snapshot)
    timing = describe(record, INFO)["timing"]
    assert timing["recent_tick_ms"] == pytest.approx(list(range(201, 701)), abs=0.01)
    assert timing["overruns"] == 680
    assert sum(timing["histogram"]) == 700


def test_a_half_written_record_is_not_taken(rig):
    slot = Slot()
    slot.write(TickRecorder(rig.contract).record(rig.runtime.snapshot))
    whole = slot.read()
    assert whole is not None
    slot._memory[100] ^= 1  # As if the loop was in the middle of a tick,
    begin = time.monotonic()
    assert slot.read(timeout_s=0.05) is whole  # and died there.
    assert time.monotonic() - begin >= 0.05


def test_the_page_is_served_and_follows_the_run(rig, dashboard):
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", dashboard.url)
    code, page = get(dashboard.url)
    assert (code, page.decode()) == (200, PAGE)
    assert json.loads(get(dashboard.url + "state")[1])["tick"] == 0
    rig.operator.request = Request.STAND_UP
    rig.tick(3)
    dashboard.put(rig.runtime.snapshot)
    state = json.loads(get(dashboard.url + "state")[1])
    assert state["phase"] == "stand_up"
    assert state["info"]["title"] == "tiny.onnx"
    assert state["info"]["command_high"] == [1.0, 0.5, 1.0]
    assert state["memory_mb"] is None or state["memory_mb"] > 10.0
    assert get(dashboard.url + "other")[0] == 404
    assert dashboard.failure is None


def test_the_attention_may_have_fewer_cells_than_the_map(rig, dashboard):
    rig.tick()
    view = PolicyView(np.zeros((2, 3)), np.zeros(3), np.ones((1, 2)))
    dashboard.put(replace(rig.runtime.snapshot, view=view))
    assert dashboard.failure is None
    state = json.loads(get(dashboard.url + "state")[1])
    assert state["map"]["shape"] == [2, 3]
    assert state["map"]["attention_shape"] == [1, 2]


def test_another_site_cannot_read_it_through_the_browser(dashboard):
    assert get(dashboard.url + "state", Host="evil.example")[0] == 403
    assert get(dashboard.url + "state", Host="[::1")[0] == 403
    assert get(dashboard.url + "state", Host="localhost:8088")[0] == 200


def test_another_address_needs_the_token():
    made = make_dashboard(host="0.0.0.0")
    made.start()
    try:
        address, token = made.url.split("?token=")
        assert len(token) >= 16
        address = address.replace("0.0.0.0", "127.0.0.1")
        assert get(address)[0] == 403
        assert get(address + "state")[0] == 403
        assert get(address + "state?token=" + "x" * len(token))[0] == 403
        assert get(address + "state?token=" + token)[0] == 200
        assert get(address + "?token=" + token)[0] == 200
    finally:
        made.close()


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False),
     ("192.168.1.4", False), ("robot.example", False)],
)  # fmt: skip
def test_loopback_is_told_from_the_rest(host, expected):
    assert is_loopback(host) == expected


def test_a_taken_port_is_one_clear_error(dashboard):
    port = int(re.findall(r":(\d+)/", dashboard.url)[0])
    with pytest.raises(SoloError, match=r"Address already in use.*--dashboard-port"):
        make_dashboard(port=port).start()


def test_nothing_that_happens_to_it_reaches_the_loop(rig, dashboard):
    rig.walk()
    dashboard._process.terminate()
    dashboard._process.join()
    dashboard.put(rig.runtime.snapshot)  # Nobody reads: nothing waits.
    wrong = PolicyView(np.zeros((999, 999)), np.zeros(3), np.zeros((1, 2)))
    dashboard.put(replace(rig.runtime.snapshot, view=wrong))
    assert "there is room" in (dashboard.failure or "")
    dashboard.put(rig.runtime.snapshot)
    rig.tick()
    assert not rig.runtime.faults


def test_a_tick_is_put_in_a_fraction_of_a_millisecond(rig, dashboard):
    rig.walk()
    seconds = []
    for _ in range(200):
        begin = time.thread_time()
        dashboard.put(rig.runtime.snapshot)
        seconds.append(time.thread_time() - begin)
    assert np.median(seconds) < 5e-4


def test_the_process_ends_with_the_runtime():
    script = (
        "from tests.deploy.test_dashboard import make_dashboard\n"
        "if __name__ == '__main__':\n"
        "    made = make_dashboard(); made.start(); print(made.url, flush=True)\n"
        "    import os; os._exit(0)\n"  # As a crash does: nothing is closed.
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300
    )
    url = result.stdout.strip()
    assert url, result.stderr
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        try:
            get(url + "state")
        except OSError:
            return
        time.sleep(0.1)
    pytest.fail("The dashboard outlived the run.")


def test_the_page_needs_nothing_from_elsewhere():
    assert not re.search(r"(?:src|href)\s*=\s*[\"'](?!data:)", PAGE)
    assert "://" not in PAGE
    assert "@import" not in PAGE
    for name in re.findall(r"\$\(\"([a-z-]+)\"\)", PAGE):
        assert f'id="{name}"' in PAGE, name
