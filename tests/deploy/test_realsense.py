"""The real RealSense library without a device: its software device and frame queue."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

from solo.deploy.camera import Capture, DepthProcessor
from solo.deploy.contract import DepthContract
from solo.deploy.drivers.realsense import RealsenseCamera, to_millimetres
from solo.errors import SoloError


def software_camera(rs, record: Path | None = None, fx: float = 384.0):
    """A software depth sensor with a queue of one frame, and how to feed it."""
    width, height = 640, 480
    device = rs.software_device()
    sensor = device.add_sensor("depth")
    sensor.add_read_only_option(rs.option.depth_units, 0.001)
    stream = rs.video_stream()
    stream.type, stream.fmt = rs.stream.depth, rs.format.z16
    stream.width, stream.height, stream.fps, stream.bpp = width, height, 60, 2
    stream.index, stream.uid = 0, 1
    intrinsics = rs.intrinsics()
    intrinsics.width, intrinsics.height = width, height
    intrinsics.fx = intrinsics.fy = fx
    intrinsics.ppx, intrinsics.ppy = width / 2 - 0.5, height / 2 - 0.5
    stream.intrinsics = intrinsics
    profile = sensor.add_video_stream(stream)
    queue = rs.frame_queue(1)
    recorder = rs.recorder(str(record), device) if record is not None else None
    source = sensor if recorder is None else recorder.query_sensors()[0]
    source.open(profile if recorder is None else source.get_stream_profiles()[0])
    source.start(queue)

    def feed(depth_mm: np.ndarray, number: int) -> None:
        frame = rs.software_video_frame()
        frame.pixels = np.ascontiguousarray(depth_mm.astype(np.uint16))
        frame.stride, frame.bpp = 2 * width, 2
        frame.timestamp, frame.frame_number = 16.7 * number, number
        frame.profile = profile.as_video_stream_profile()
        sensor.on_video_frame(frame)

    return queue, feed, (device, sensor, source, recorder)


@pytest.fixture
def rs():
    return pytest.importorskip(
        "pyrealsense2",
        reason='needs librealsense: pip install "solo-locomotion[realsense]" and '
        "apt-get install libusb-1.0-0",
        exc_type=ImportError,
    )


def test_frames_pass_the_real_queue_to_the_networks_image(rs):
    queue, feed, _keep = software_camera(rs)
    cfg = DepthContract()
    camera = RealsenseCamera(cfg, queue=queue)
    camera.start()
    rows, columns = np.mgrid[:480, :640]
    raw = 500 + rows + 2 * columns
    feed(raw, 1)
    frame = camera.wait(60.0)
    assert frame is not None
    assert frame.depth_mm.dtype == np.uint16
    assert (frame.depth_mm == raw).all()
    image = DepthProcessor(cfg)(frame)
    assert image.depth.shape == (64, 113)
    assert image.depth[0, 0] == pytest.approx((500 + 3 + 2 * 2) / 3000)
    camera.close()


def test_the_queue_drops_the_older_frame(rs):
    queue, feed, _keep = software_camera(rs)
    camera = RealsenseCamera(DepthContract(), queue=queue)
    camera.start()
    for number in range(1, 6):
        feed(np.full((480, 640), 1000 + number), number)
    frame = camera.wait(60.0)
    assert frame is not None
    assert (frame.depth_mm == 1005).all()
    assert camera.wait(0.05) is None  # Time is up: no frame, no error.


def test_capture_follows_the_camera(rs):
    queue, feed, _keep = software_camera(rs)
    capture = Capture(
        RealsenseCamera(DepthContract(), queue=queue), DepthProcessor(DepthContract())
    )
    feed(np.full((480, 640), 1500), 1)
    capture.start(timeout_s=60.0)
    image = capture.newest()
    assert image is not None
    assert image.depth == pytest.approx(0.5)
    capture.close()


def test_another_lens_is_refused_when_the_camera_opens(rs):
    for fx, is_refused in ((389.0, False), (424.0, True)):
        queue, feed, _keep = software_camera(rs, fx=fx)
        camera = RealsenseCamera(DepthContract(), queue=queue)
        capture = Capture(camera, DepthProcessor(DepthContract()))
        feed(np.full((480, 640), 1500), 1)
        if is_refused:  # 320 px from the axis: 320 (1 - 384 / 424) = 30.2.
            with pytest.raises(SoloError, match=r"fx 424.*384.*off by 30 .allowed 12"):
                capture.start(timeout_s=60.0)
        else:
            capture.start(timeout_s=60.0)
            capture.close()


def test_a_recording_plays_through_the_real_pipeline(rs, tmp_path):
    path = tmp_path / "run.db3"
    _, feed, keep = software_camera(rs, path)
    for number in range(1, 16):
        feed(np.full((480, 640), 1000 + number), number)
        time.sleep(0.017)
    keep[2].stop()
    keep[2].close()
    del feed, keep  # Letting go of the recorder finishes the file.
    camera = RealsenseCamera(DepthContract(), path)
    camera.start()
    frames = [camera.wait(60.0) for _ in range(3)]
    camera.close()
    depths = [int(frame.depth_mm[0, 0]) for frame in frames if frame is not None]
    assert len(depths) == 3
    assert depths == sorted(depths)
    assert 1001 <= depths[0] <= 1015


def test_no_device_is_one_clear_error(rs):
    if len(rs.context().query_devices()):
        pytest.skip("a RealSense is plugged in")
    with pytest.raises(SoloError, match=r"No RealSense.*640x480 at 60 Hz"):
        RealsenseCamera(DepthContract()).start()


def test_missing_recording_is_one_clear_error(rs, tmp_path):
    with pytest.raises(SoloError, match=r"no recording.*run\.bag"):
        RealsenseCamera(DepthContract(), tmp_path / "run.bag").start()


def test_missing_library_is_one_clear_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyrealsense2", None)
    with pytest.raises(SoloError, match=r"solo-locomotion\[realsense\].*libusb"):
        RealsenseCamera(DepthContract()).start()


def test_other_units_become_millimetres():
    raw = np.array([0, 10, 65535], dtype=np.uint16)
    assert to_millimetres(raw, 0.001) is raw
    assert to_millimetres(raw, 0.0001).tolist() == [0, 1, 6554]
    assert to_millimetres(raw, 0.01).tolist() == [0, 100, 65535]
