"""Resizing picks known pixels, ranges are as in training, the newest frame wins."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, fields

import numpy as np
import pytest

from solo.deploy.camera import Capture, DepthProcessor
from solo.deploy.contract import DepthContract
from solo.deploy.drivers.protocols import DepthFrame
from solo.deploy.observation import Window
from solo.errors import SoloError
from solo.sensors.depth.cfg import DepthCameraCfg, DepthSensorCfg

D455 = DepthContract()


def test_a_contract_by_default_is_the_camera_of_training():
    training = {f.name: f.default for f in fields(DepthSensorCfg)}
    training |= asdict(DepthCameraCfg())
    assert asdict(D455) == {name: training[name] for name in asdict(D455)}


def frame(depth_mm: np.ndarray, sequence: int = 1) -> DepthFrame:
    return DepthFrame(time.monotonic(), depth_mm.astype(np.uint16), sequence)


def test_resizing_takes_the_raw_pixel_at_each_output_centre():
    rows, columns = np.mgrid[:480, :640]
    small_rows = DepthProcessor(D455).resize(rows.astype(np.uint16))
    small_columns = DepthProcessor(D455).resize(columns.astype(np.uint16))
    assert small_rows.shape == (64, 113)
    # 480 / 64 = 7.5: centres at 3.75, 11.25 ...; 640 / 113: 2.83, 8.50 ... 637.2.
    assert small_rows[:3, 0].tolist() == [3, 11, 18]
    assert small_columns[0, [0, 1, 56, 112]].tolist() == [2, 8, 320, 637]


def test_range_and_normalisation():
    processor = DepthProcessor(D455)
    raw = np.array([0, 299, 300, 1500, 3000, 9000], dtype=np.uint16)
    assert processor.normalise(raw) == pytest.approx([0, 0, 0.1, 0.5, 1, 1])
    assert processor.normalise(raw).dtype == np.float32


def test_other_sizes_are_refused_and_small_ones_pass():
    processor = DepthProcessor(D455)
    with pytest.raises(SoloError, match=r"848x480.*640x480"):
        processor.resize(np.zeros((480, 848), dtype=np.uint16))
    assert processor(frame(np.full((64, 113), 1500))).depth == pytest.approx(0.5)


def test_window_equals_the_history_of_training():
    torch = pytest.importorskip("torch")
    from solo.sensors.depth.camera import DepthHistory

    history = DepthHistory(1, max_delay=0, shape=(64, 113))
    window = Window(D455.frames, (64, 113), D455.stride)
    rng = np.random.default_rng(0)
    for _ in range(30):
        image = rng.random((64, 113), dtype=np.float32)
        history.push(torch.from_numpy(image)[None])
        assert (window.push(image) == history.read()[0].numpy()).all()


class ScriptedCamera:
    """Hands out frames when the test lets it."""

    name = "scripted"

    def __init__(self) -> None:
        self.pending: list[DepthFrame] = []
        self.handed = threading.Event()
        self.error: Exception | None = None
        self.is_closed = False

    def start(self) -> None: ...

    def wait(self, timeout_s: float) -> DepthFrame | None:
        if self.error is not None:
            raise self.error
        if not self.pending:
            time.sleep(0.001)
            return None
        return self.pending.pop(0)

    def close(self) -> None:
        self.is_closed = True


def wait_until(condition) -> None:
    deadline = time.monotonic() + 60.0  # A loaded machine is slow.
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_the_newest_frame_wins_and_keeps_its_time():
    camera = ScriptedCamera()
    camera.pending = [frame(np.full((64, 113), 1000 + k), k) for k in range(5)]
    last_time = camera.pending[-1].time_s
    capture = Capture(camera, DepthProcessor(D455))
    capture.start(timeout_s=60.0)
    wait_until(lambda: capture.num_frames == 5)
    image = capture.newest()
    assert image is not None
    assert image.sequence == 4
    assert image.time_s == last_time
    assert (image.depth_mm == 1004).all()
    assert capture.newest() is image  # Reading does not consume it.
    capture.close()
    assert camera.is_closed


def test_a_camera_that_breaks_leaves_an_old_image_and_a_reason():
    camera = ScriptedCamera()
    camera.pending = [frame(np.full((64, 113), 1000))]
    capture = Capture(camera, DepthProcessor(D455))
    capture.start(timeout_s=60.0)
    camera.error = OSError("unplugged")
    wait_until(lambda: capture.failure is not None)
    assert "unplugged" in str(capture.failure)
    assert capture.newest() is not None
    capture.close()


def test_a_silent_camera_is_one_clear_error():
    camera = ScriptedCamera()
    with pytest.raises(SoloError, match=r"scripted.*no image"):
        Capture(camera, DepthProcessor(D455)).start(timeout_s=0.05)
    assert camera.is_closed


def test_a_wrong_stream_is_refused_at_the_start():
    camera = ScriptedCamera()
    camera.pending = [frame(np.zeros((480, 848)))]
    with pytest.raises(SoloError, match="848x480"):
        Capture(camera, DepthProcessor(D455)).start(timeout_s=60.0)
