"""What the robot looks with and at: depth camera, its mount, and the height map window.

Continuous image coordinates are used throughout: pixel ``i`` covers ``[i, i + 1)``, so
the centre of a 640 pixel wide image is 320. A RealSense reports its principal point
relative to the centre of pixel 0; add 0.5 to both of its coordinates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

CAMERA_TO_MUJOCO = np.diag([1.0, -1.0, -1.0])
"""Turns camera axes (x right, y down, z forward) into MuJoCo's (x right, y up, z back).

It is its own inverse, and it multiplies from the right:
``rotation_mujoco_to_world = rotation_camera_to_world @ CAMERA_TO_MUJOCO``.
"""


@dataclass(frozen=True)
class CameraMountCfg:
    """Where the depth camera sits and how far it looks down."""

    body: str
    """Body that carries the camera; its x axis points forward and its z axis up."""
    pos_m: tuple[float, float, float]
    """Optical centre of the depth image, metres, in the frame of ``body``."""
    pitch_down_deg: float
    """Angle of the optical axis below the x axis of ``body``, degrees."""

    def __post_init__(self) -> None:
        if not -90.0 <= self.pitch_down_deg <= 90.0:
            raise ValueError(
                f"CameraMountCfg.pitch_down_deg is {self.pitch_down_deg}; allowed is "
                "-90 (straight up) to 90 (straight down). Check the unit and the sign."
            )

    def rotation_camera_to_body(self) -> np.ndarray:
        """Rotation whose columns are the camera's right, down and forward axes.

        Returns:
            Matrix of shape (3, 3) in the frame of ``body``. At 0 degrees the columns
            are -y, -z and +x of the body.
        """
        pitch = math.radians(self.pitch_down_deg)
        sin, cos = math.sin(pitch), math.cos(pitch)
        return np.array([[0.0, -sin, cos], [-1.0, 0.0, 0.0], [0.0, -cos, -sin]])


@dataclass(frozen=True)
class DepthCameraCfg:
    """Pinhole intrinsics of the raw stream, and what is left of it for the network.

    The defaults are a RealSense D455 streaming 640x480: the paper gives the sensor,
    the stream and the network input, the focal length is the 384 px that D455 units
    report for this stream (79.6 x 64.0 deg).
    """

    width: int = 640
    """Columns of the raw depth image."""
    height: int = 480
    """Rows of the raw depth image."""
    fx: float = 384.0
    """Horizontal focal length, raw pixels."""
    fy: float = 384.0
    """Vertical focal length, raw pixels."""
    cx: float = 320.0
    """Column of the optical axis, raw pixels, continuous coordinates."""
    cy: float = 240.0
    """Row of the optical axis, raw pixels, continuous coordinates."""
    output_width: int = 113
    """Columns of the network input; the whole raw image is resized to it."""
    output_height: int = 64
    """Rows of the network input."""
    min_range_m: float = 0.3
    """Smallest depth along the optical axis that is measured, metres.

    Not stated in the paper; chosen because stereo matching at 640x480 over a 95 mm
    baseline ends at about 0.29 m.
    """
    max_range_m: float = 3.0
    """Largest depth along the optical axis that is used, metres.

    Not stated in the paper; chosen because the whole image then lies within range when
    the G1 stands on flat ground (its top row meets the ground at 2.6 m).
    """

    def __post_init__(self) -> None:
        sizes = (self.width, self.height, self.output_width, self.output_height)
        if min(sizes) < 1 or min(self.fx, self.fy) <= 0.0:
            raise ValueError(
                f"DepthCameraCfg has sizes {sizes} and focal lengths "
                f"({self.fx}, {self.fy}); all must be positive."
            )
        if not 0.0 < self.min_range_m < self.max_range_m:
            raise ValueError(
                f"DepthCameraCfg range is {self.min_range_m} to {self.max_range_m} m; "
                "allowed is 0 < min_range_m < max_range_m."
            )

    @property
    def fov_deg(self) -> tuple[float, float]:
        """Horizontal and vertical field of view in degrees."""
        left, right = self.cx / self.fx, (self.width - self.cx) / self.fx
        up, down = self.cy / self.fy, (self.height - self.cy) / self.fy
        return (
            math.degrees(math.atan(left) + math.atan(right)),
            math.degrees(math.atan(up) + math.atan(down)),
        )


@dataclass(frozen=True)
class HeightMapCfg:
    """The window of ground the policy sees, in the heading frame of the base.

    Cell ``[iy, ix]`` has its centre at ``x = x_range_m[0] + (ix + 0.5) * cell_m`` and
    ``y = y_range_m[0] + (iy + 0.5) * cell_m``: index ``[0, 0]`` is behind on the right,
    the last index is ahead on the left.
    """

    cells: tuple[int, int] = (16, 32)
    """Number of cells along y and along x, as in the shape of the map."""
    cell_m: float = 0.05
    """Edge of one square cell, metres."""
    x_range_m: tuple[float, float] = (-0.3, 1.3)
    """Rear and front edge of the window, metres ahead of the base.

    Not stated in the paper, which gives only 32 cells; chosen because it covers the
    next two steps ahead and the trailing foot behind.
    """
    y_range_m: tuple[float, float] = (-0.4, 0.4)
    """Right and left edge of the window, metres to the left of the base.

    Not stated in the paper, which gives only 16 cells; chosen because it is symmetric.
    """

    def __post_init__(self) -> None:
        for axis, count, (low, high) in (
            ("y", self.cells[0], self.y_range_m),
            ("x", self.cells[1], self.x_range_m),
        ):
            if not math.isclose(high - low, count * self.cell_m, abs_tol=1e-9):
                raise ValueError(
                    f"HeightMapCfg.{axis}_range_m spans {high - low:g} m but {count} "
                    f"cells of {self.cell_m:g} m span {count * self.cell_m:g} m. "
                    f"Change {axis}_range_m, cells or cell_m so that they agree."
                )

    def centres_h(self) -> np.ndarray:
        """Cell centres (x, y) in the heading frame.

        Returns:
            Array of shape (Y, X, 2) in metres; (16, 32, 2) by default.
        """
        y = self.y_range_m[0] + (np.arange(self.cells[0]) + 0.5) * self.cell_m
        x = self.x_range_m[0] + (np.arange(self.cells[1]) + 0.5) * self.cell_m
        return np.stack(np.broadcast_arrays(x[None, :], y[:, None]), axis=-1)
