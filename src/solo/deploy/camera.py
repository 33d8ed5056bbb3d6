"""From the sensor's frames to the network's images: capture thread, resize.

The capture thread does the work on each frame; the control loop only picks up the
newest finished image and its age.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from solo.deploy.contract import DepthContract
from solo.deploy.drivers.protocols import Camera, DepthFrame
from solo.errors import SoloError


@dataclass(frozen=True, eq=False)
class DepthImage:
    """A depth image of the network's size."""

    time_s: float
    """When the frame arrived."""
    depth_mm: np.ndarray
    """Millimetres [H, W], uint16, before clipping: what a log has to keep."""
    depth: np.ndarray
    """Share of the largest range [H, W], float32, 0 to 1, invalid 0."""
    sequence: int
    """Counts the frames of the camera."""


MAX_SHIFT_PX = 12.0
"""How far a ray may lie from where training had it, raw pixels.

Chosen because it is two pixels of the paper's network image (640 / 113). How far units
of one camera differ was not looked at: no device was there.
"""


def check_intrinsics(
    cfg: DepthContract, fx: float, fy: float, cx: float, cy: float
) -> None:
    """Compare a camera, in pixels, with the one of training.

    Raises:
        SoloError: The image would show things in other places.
    """
    columns, rows = np.array([0.0, cfg.width]), np.array([0.0, cfg.height])
    shift_px = max(
        np.abs(cfg.fx * (columns - cx) / fx + cfg.cx - columns).max(),
        np.abs(cfg.fy * (rows - cy) / fy + cfg.cy - rows).max(),
    )
    if not shift_px <= MAX_SHIFT_PX:
        raise SoloError(
            f"The camera has fx {fx:.1f}, fy {fy:.1f}, cx {cx:.1f}, cy {cy:.1f}; the "
            f"policy was trained with {cfg.fx:g}, {cfg.fy:g}, {cfg.cx:g}, {cfg.cy:g}. "
            f"Pixels would be off by {shift_px:.0f} (allowed {MAX_SHIFT_PX:g}). Use "
            "the camera of training, or a bundle trained with this one."
        )


class DepthSource(Protocol):
    """Where the newest image comes from: `Capture`, or a replay."""

    def newest(self) -> DepthImage | None: ...


def picked_pixels(cfg: DepthContract) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the raw pixels that hold the centres of output pixels."""
    rows = (np.arange(cfg.output_height) + 0.5) * cfg.height / cfg.output_height
    columns = (np.arange(cfg.output_width) + 0.5) * cfg.width / cfg.output_width
    return rows.astype(int), columns.astype(int)


class DepthProcessor:
    """Resizes a raw frame and brings it into the network's range."""

    def __init__(self, cfg: DepthContract) -> None:
        self.cfg = cfg
        self._pixels = np.ix_(*picked_pixels(cfg))

    def resize(self, depth_mm: np.ndarray) -> np.ndarray:
        """Nearest raw pixel at the centre of each output pixel, [output H, output W].

        A frame that already has the output size (from a simulation or a log) passes.
        """
        cfg = self.cfg
        if depth_mm.shape == (cfg.output_height, cfg.output_width):
            return depth_mm
        if depth_mm.shape != (cfg.height, cfg.width):
            raise SoloError(
                f"The camera gives images of {depth_mm.shape[1]}x{depth_mm.shape[0]} "
                f"pixels; the policy needs {cfg.width}x{cfg.height}. Set the stream of "
                "the camera, or use a bundle trained with this camera."
            )
        return depth_mm[self._pixels]

    def normalise(self, depth_mm: np.ndarray) -> np.ndarray:
        """Share of the largest range, float32; nearer than the smallest is 0."""
        cfg = self.cfg
        depth = depth_mm * np.float32(1e-3 / cfg.max_range_m)
        depth[depth < np.float32(cfg.min_range_m / cfg.max_range_m)] = 0.0
        return np.minimum(depth, np.float32(1.0), out=depth)

    def __call__(self, frame: DepthFrame) -> DepthImage:
        small = np.ascontiguousarray(self.resize(frame.depth_mm))
        return DepthImage(frame.time_s, small, self.normalise(small), frame.sequence)


class Capture:
    """Reads a camera in a thread of its own; the newest image wins."""

    def __init__(self, camera: Camera, processor: DepthProcessor) -> None:
        self.camera = camera
        self.failure: str | None = None
        """Why the thread ended by itself; the image then goes stale."""
        self.num_frames = 0
        """Frames captured so far."""
        self._processor = processor
        self._newest: DepthImage | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="depth", daemon=True)

    def start(self, timeout_s: float = 5.0) -> None:
        """Open the camera and wait for its first image.

        Raises:
            SoloError: The camera cannot be used.
        """
        self.camera.start()
        self._thread.start()
        deadline = time.monotonic() + timeout_s
        while self._newest is None and self.failure is None:
            if time.monotonic() > deadline:
                self.failure = f"no image within {timeout_s:g} s; check its cable"
            time.sleep(0.005)
        if self.failure is not None:
            self.close()
            raise SoloError(f"Camera {self.camera.name!r}: {self.failure}")

    def newest(self) -> DepthImage | None:
        """The newest image; never blocks."""
        return self._newest

    def close(self) -> None:
        """End the thread and close the camera."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=2.0)
        self.camera.close()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                frame = self.camera.wait(0.1)
                if frame is not None:
                    self._newest = self._processor(frame)
                    self.num_frames += 1
        except Exception as error:  # A dead thread must show as stale depth.
            kind = "" if isinstance(error, SoloError) else f"{type(error).__name__}: "
            self.failure = f"{kind}{error}"
