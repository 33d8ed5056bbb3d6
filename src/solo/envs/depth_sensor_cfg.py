"""The depth camera as the perceptive student has it: view, errors, latency, history."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from solo.robots.geom_cfg import CapsuleCfg
from solo.robots.robot_cfg import RobotCfg
from solo.sensors.depth_corruption import DepthCorruptionCfg
from solo.sensors.perception_cfg import CameraMountCfg, DepthCameraCfg

Range = tuple[float, float]


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

    @staticmethod
    def for_robot(robot: RobotCfg, clean: bool = False) -> DepthSensorCfg:
        """The robot's camera with the paper's errors, or without any."""
        cfg = DepthSensorCfg(robot.depth_camera, robot.camera_mount, robot.self_view)
        if clean:
            cfg = replace(cfg, extrinsics=None, corruption=None, max_delay=0)
        return cfg
