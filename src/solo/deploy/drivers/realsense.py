"""A RealSense depth camera, or anything that fills one of its frame queues.

The queue holds one frame: librealsense drops the older one when a newer arrives.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from solo.deploy.camera import check_intrinsics
from solo.deploy.contract import DepthContract
from solo.deploy.drivers.protocols import DepthFrame
from solo.errors import SoloError

INSTALL = (
    'pip install "solo-locomotion[realsense]" (and on Debian or Ubuntu: apt-get '
    "install libusb-1.0-0)"
)
"""What brings librealsense."""

STREAM_HZ = 60
"""Frames per second of the depth stream (paper)."""


def import_realsense() -> Any:
    """The library."""
    try:
        import pyrealsense2
    except ImportError as error:
        raise SoloError(
            f"The RealSense library cannot be loaded ({error}). Install it: {INSTALL}."
        ) from error
    return pyrealsense2


class RealsenseCamera:
    """The depth stream of a device, or of a recorded ``.bag`` or ``.db3`` file."""

    name = "realsense"

    def __init__(
        self,
        cfg: DepthContract,
        recording: Path | None = None,
        queue: Any = None,
    ) -> None:
        """Choose the source; it is opened by `start`.

        Args:
            cfg: Size of the stream.
            recording: File to play instead of a device.
            queue: A frame queue that somebody else fills, such as the sensor of a
                ``software_device``, with millimetres; no pipeline is opened then.
        """
        self.cfg, self._recording = cfg, recording
        self._queue, self._unit_m = queue, 0.001
        self._pipeline: Any = None
        self._num_frames = 0

    def start(self) -> None:
        """Open the stream."""
        rs = import_realsense()
        if self._queue is not None:
            return
        cfg, options = self.cfg, rs.config()
        if self._recording is not None:
            if not self._recording.is_file():
                raise SoloError(
                    f"There is no recording {str(self._recording)!r}. Give a .bag or "
                    ".db3 file of the RealSense tools."
                )
            options.enable_device_from_file(str(self._recording))
        else:
            options.enable_stream(
                rs.stream.depth, cfg.width, cfg.height, rs.format.z16, STREAM_HZ
            )
        queue, self._pipeline = rs.frame_queue(1), rs.pipeline()
        try:
            if self._recording is None and not len(rs.context().query_devices()):
                raise RuntimeError("no device is connected")  # At once, not after 15 s.
            profile = self._pipeline.start(options, queue)
        except RuntimeError as error:
            self._pipeline = None
            raise SoloError(
                f"No RealSense with a depth stream of {cfg.width}x{cfg.height} at "
                f"{STREAM_HZ} Hz: {error}. Check the cable (USB 3) and that no other "
                "program uses the camera."
            ) from error
        self._queue = queue
        self._unit_m = profile.get_device().first_depth_sensor().get_depth_scale()

    def wait(self, timeout_s: float) -> DepthFrame | None:
        """Block until a depth frame arrives."""
        try:
            frame = self._queue.wait_for_frame(round(1e3 * timeout_s))
        except RuntimeError:  # The library's way to say that time is up.
            return None
        now = time.monotonic()
        depth = frame.as_frameset().get_depth_frame() if frame.is_frameset() else frame
        if not depth:
            return None
        if self._num_frames == 0:
            self._check(depth)
        self._num_frames += 1
        # A copy: the library uses the memory again when the frame is let go.
        raw = np.array(depth.get_data(), dtype=np.uint16)
        return DepthFrame(now, to_millimetres(raw, self._unit_m), self._num_frames)

    def _check(self, depth: Any) -> None:
        """Compare the camera with the one of training, at the first frame."""
        found = depth.get_profile().as_video_stream_profile().get_intrinsics()
        # The library counts from the centre of the first pixel, we from its edge.
        cx, cy = found.ppx + 0.5, found.ppy + 0.5
        check_intrinsics(self.cfg, found.fx, found.fy, cx, cy)

    def close(self) -> None:
        """Close the stream."""
        if self._pipeline is not None:
            self._pipeline.stop()
            self._pipeline = None


def to_millimetres(raw: np.ndarray, unit_m: float) -> np.ndarray:
    """Depth in millimetres, uint16, from a sensor's own unit in metres."""
    if abs(unit_m - 0.001) < 1e-9:
        return raw
    scaled = np.round(raw * (1e3 * unit_m))
    return np.minimum(scaled, np.iinfo(np.uint16).max).astype(np.uint16)
