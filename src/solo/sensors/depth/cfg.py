"""The depth camera of a robot, from its pose and rays to what a network gets.

`DepthSensorCfg` holds everything; sizes of network inputs and a bundle's contract with
the runtime follow from it.

Continuous image coordinates are used throughout: pixel ``i`` covers ``[i, i + 1)``, so
the centre of a 640 pixel wide image is 320. A RealSense reports its principal point
relative to the centre of pixel 0; add 0.5 to both of its coordinates.

Corruption. The paper names the kinds (value and edge noise, missing pixels, blind
regions, blur) and resamples their probabilities per episode; it gives no values. All
values of the corruptions below are therefore "not stated in the paper"; each field says
why it was chosen. Sizes are in pixels of the raw stream, so they stay the same angle at
any output size. A pair is the range of a uniform distribution, drawn anew for each
episode.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace

import numpy as np

Vec3 = tuple[float, float, float]
Range = tuple[float, float]

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
        """Rotation (3, 3) whose columns are the camera's right, down and forward axes.

        In the frame of ``body``; at 0 degrees they are its -y, -z and +x.
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
    def output_shape(self) -> tuple[int, int]:
        """Rows and columns of the network input."""
        return self.output_height, self.output_width

    def pixel_rays(self, shape: tuple[int, int] | None = None) -> np.ndarray:
        """What one metre of depth is in camera axes [H, W, 3], at the pixels' centres.

        Images of any size are of the whole view, as `DepthCamera` renders them and the
        runtime resizes them; by default of the network input's.
        """
        rows, columns = shape or self.output_shape
        u = (np.arange(columns) + 0.5) * self.width / columns
        v = (np.arange(rows) + 0.5) * self.height / rows
        rays = np.ones((rows, columns, 3))
        rays[..., 0] = (u - self.cx) / self.fx
        rays[..., 1] = ((v - self.cy) / self.fy)[:, None]
        return rays

    @property
    def fov_deg(self) -> tuple[float, float]:
        """Horizontal and vertical field of view in degrees."""
        left, right = self.cx / self.fx, (self.width - self.cx) / self.fx
        up, down = self.cy / self.fy, (self.height - self.cy) / self.fy
        return (
            math.degrees(math.atan(left) + math.atan(right)),
            math.degrees(math.atan(up) + math.atan(down)),
        )


def _check(cfg: object, name: str, lowest: float, highest: float) -> None:
    low, high = span = getattr(cfg, name)
    if not lowest <= low <= high <= highest:
        raise ValueError(
            f"{type(cfg).__name__}.{name} is {span}; allowed are two numbers from "
            f"{lowest:g} to {highest:g}, the smaller one first."
        )


@dataclass(frozen=True)
class ValueNoiseCfg:
    """Error of matched pixels, growing with the square of the distance."""

    subpixel_px: Range = (0.05, 0.10)
    """Disparity noise, raw pixels; the range of Intel's tuning guide for the D400."""
    scale_error: Range = (-0.01, 0.01)
    """Relative error of all depths, from calibration; a D455 promises 2 % at 4 m."""

    def __post_init__(self) -> None:
        _check(self, "subpixel_px", 0.0, math.inf)
        _check(self, "scale_error", -0.5, 0.5)


@dataclass(frozen=True)
class EdgeCfg:
    """Errors where the depth jumps; see `DepthCorruptionCfg.edge_limit_px`."""

    prob: Range
    """Probability per edge pixel."""

    def __post_init__(self) -> None:
        _check(self, "prob", 0.0, 1.0)


@dataclass(frozen=True)
class MissingCfg:
    """Pixels and small patches without a match: poor texture, reflections."""

    pixel_prob: Range = (0.0, 0.01)
    """Probability per pixel; others use 0.001 to 0.01."""
    blobs: Range = (0.0, 3.0)
    """Mean number of patches per image, at most 8; 3 of them cover about 0.5 %."""
    max_blob_radius_px: float = 20.0
    """Largest half axis, raw pixels: about twice a stereo matching window."""

    def __post_init__(self) -> None:
        _check(self, "pixel_prob", 0.0, 1.0)
        _check(self, "blobs", 0.0, 8.0)


@dataclass(frozen=True)
class CloseBlocksCfg:
    """What is nearer than stereo can match turns invalid or false, in blocks."""

    near_m: Range = (0.26, 0.34)
    """Least distance; computed 0.29 m at 640x480, reported 0.26 to 0.35 m nearby."""
    hole_prob: Range = (0.0, 0.6)
    """Probability that a block with a too close pixel is invalid as a whole."""
    false_prob: Range = (0.0, 0.05)
    """Probability that it holds one false depth instead; a rare sight on real units."""
    block_px: float = 24.0
    """Side of a block, raw pixels: two to three matching windows."""

    def __post_init__(self) -> None:
        _check(self, "near_m", 0.0, math.inf)
        _check(self, "hole_prob", 0.0, 1.0)
        _check(self, "false_prob", 0.0, 1.0)


@dataclass(frozen=True)
class StereoCfg:
    """A region that the left imager sees and the right one does not."""

    strength: Range
    """Width relative to the geometry of the two imagers."""

    def __post_init__(self) -> None:
        _check(self, "strength", 0.0, math.inf)


@dataclass(frozen=True)
class SideMaskCfg:
    """Columns that are blind for a whole episode: housing, cables, clothes."""

    prob: Range = (0.2, 0.2)
    """Probability per side; rare, because it is a fault of the mount."""
    max_width: float = 0.1
    """Largest width as a share of the image."""

    def __post_init__(self) -> None:
        _check(self, "prob", 0.0, 1.0)


@dataclass(frozen=True)
class BlurCfg:
    """Smoothing by filters and resizing."""

    sigma_px: Range = (0.0, 5.0)
    """Standard deviation, raw pixels: up to the size of one output pixel."""

    def __post_init__(self) -> None:
        _check(self, "sigma_px", 0.0, math.inf)


@dataclass(frozen=True)
class DepthCorruptionCfg:
    """All corruptions; None switches one off."""

    value_noise: ValueNoiseCfg | None = field(default_factory=ValueNoiseCfg)
    edge_noise: EdgeCfg | None = field(default_factory=lambda: EdgeCfg((0.0, 0.5)))
    """Depth of a neighbour; up to half, as a matching window straddles the edge."""
    edge_holes: EdgeCfg | None = field(default_factory=lambda: EdgeCfg((0.0, 0.3)))
    """No depth; others invalidate 20 % of the edge pixels."""
    missing: MissingCfg | None = field(default_factory=MissingCfg)
    close_blocks: CloseBlocksCfg | None = field(default_factory=CloseBlocksCfg)
    left_band: StereoCfg | None = field(default_factory=lambda: StereoCfg((0.9, 1.1)))
    """Left edge of the image; 1 is a D455, 10 % allow for units and windows."""
    shadow: StereoCfg | None = field(default_factory=lambda: StereoCfg((0.5, 1.0)))
    """Left of near objects; less than 1 because the sensor fills narrow gaps."""
    side_masks: SideMaskCfg | None = field(default_factory=SideMaskCfg)
    blur: BlurCfg | None = field(default_factory=BlurCfg)
    baseline_m: float = 0.095
    """Distance of the two imagers (D455)."""
    edge_limit_px: float = 1.0
    """Second difference of the disparity beyond which a pixel is at an edge.

    Raw pixels; ten times the disparity noise. A plane has none at any slope; a step of
    5 cm at 1 m has 1.8.
    """

    def only(self, *names: str) -> DepthCorruptionCfg:
        """The same with all corruptions off except the named ones."""
        return replace(self, **{n: None for n in CORRUPTIONS if n not in names})


CORRUPTIONS = tuple(f.name for f in fields(DepthCorruptionCfg) if "Cfg" in str(f.type))
"""Names of the fields that switch a corruption."""


@dataclass(frozen=True)
class ExtrinsicsCfg:
    """How far the camera's pose is from where it should be (paper's table).

    Drawn anew for each episode, in the axes of the body that carries the camera.
    """

    x_m: Range = (-0.005, 0.005)
    y_m: Range = (-0.010, 0.010)
    z_m: Range = (-0.010, 0.010)
    roll_rad: Range = (-0.05, 0.05)
    pitch_rad: Range = (-0.05, 0.05)
    yaw_rad: Range = (-0.05, 0.05)

    @property
    def ranges(self) -> tuple[Range, ...]:
        """All six, position first."""
        return (
            self.x_m, self.y_m, self.z_m, self.roll_rad, self.pitch_rad, self.yaw_rad
        )  # fmt: skip


@dataclass(frozen=True)
class CapsuleCfg:
    """A link as the depth camera sees it; it takes no part in physics."""

    body: str
    """Body that carries it."""
    fromto: tuple[Vec3, Vec3]
    """End points of the axis in the body frame, metres."""
    radius: float
    """Radius, metres."""


@dataclass(frozen=True)
class DepthSensorCfg:
    """A depth camera on a robot, from the rays to what the network gets."""

    camera: DepthCameraCfg
    """Intrinsics, size and range."""
    mount: CameraMountCfg
    """Nominal pose on the robot."""
    self_view: tuple[CapsuleCfg, ...] = ()
    """The robot's own links that can come into view."""
    extrinsics: ExtrinsicsCfg | None = field(default_factory=ExtrinsicsCfg)
    """Errors of the pose; None for the nominal one."""
    corruption: DepthCorruptionCfg | None = field(default_factory=DepthCorruptionCfg)
    """Errors of the image; None for clean depth."""
    frames: int = 4
    """Number of images in the window (paper)."""
    stride: int = 4
    """Control steps between two images of the window (paper)."""
    max_delay: int = 3
    """Largest latency in control steps, drawn from 0..max for each episode (paper)."""
