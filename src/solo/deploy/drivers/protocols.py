"""What the runtime asks of a robot and of a camera, and the data they exchange.

Times are seconds of `time.monotonic` on the computer that runs the runtime, stamped
when the data arrived. Clocks of other computers are never compared with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np


@dataclass(frozen=True, eq=False)
class RobotHealth:
    """What the robot reports about itself."""

    clock_ms: int
    """The robot's own clock; it starts again at 2^32."""
    motors: tuple[str, ...]
    """Names of all motors, also of those that the policy does not know."""
    errors: np.ndarray
    """Error bits of each motor; 0 is none."""
    casing_c: np.ndarray
    """Temperature of each motor's casing, degrees Celsius."""
    winding_c: np.ndarray
    """Temperature of each motor's winding."""
    voltage: np.ndarray
    """Voltage at each motor, V; all 0 if it is not reported."""
    battery: float
    """Charge of the battery, per cent; not a number if it is not known."""


@dataclass(frozen=True, eq=False)
class RobotState:
    """What the robot measured last, joints in the policy's order."""

    time_s: float
    """When it arrived."""
    joint_pos: np.ndarray
    """Joint positions [joints], rad."""
    joint_vel: np.ndarray
    """Joint velocities [joints], rad/s."""
    quat_wxyz: np.ndarray
    """Orientation of the base in the world [4]."""
    ang_vel_b: np.ndarray
    """Angular velocity of the base [3], base frame, rad/s."""
    joint_torque: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Estimated torques [joints], Nm; empty if the robot does not report them."""
    remote: bytes = b""
    """Raw data of the robot's own remote control; empty if there is none."""
    sequence: int = 0
    """Counts the messages that arrived."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """What the driver found wrong by itself: name of a fault to a message."""
    health: RobotHealth | None = None
    """What the robot reports about itself; None if it does not."""


@dataclass(frozen=True, eq=False)
class JointCommand:
    """One command for all policy joints: torque = tau + kp (q - pos) + kd (dq - vel).

    The robot tracks it at its own, higher rate until the next command.
    """

    q: np.ndarray
    """Target positions [joints], rad."""
    dq: np.ndarray
    """Target velocities [joints], rad/s."""
    kp: np.ndarray
    """Stiffness [joints], Nm/rad."""
    kd: np.ndarray
    """Damping [joints], Nm s/rad."""
    tau: np.ndarray
    """Feed-forward torques [joints], Nm."""


@dataclass(frozen=True, eq=False)
class DepthFrame:
    """One depth image as it comes from the sensor."""

    time_s: float
    """When it arrived."""
    depth_mm: np.ndarray
    """Distance along the optical axis [H, W], uint16, millimetres; 0 is invalid."""
    sequence: int = 0
    """Counts the frames of the camera."""


class Robot(Protocol):
    """A robot that tracks joint commands. No method blocks except `start`."""

    name: str

    def start(self) -> None:
        """Connect and wait for the first state.

        Raises:
            SoloError: The robot does not answer, or is not the one we expect.
        """
        ...

    def read(self) -> RobotState | None:
        """The newest state, the same one again if none has arrived since."""
        ...

    def write(self, command: JointCommand) -> None:
        """Hand over the next command."""
        ...

    def close(self) -> None:
        """Let go of the robot; called once, also after errors."""
        ...


class Camera(Protocol):
    """A depth camera, used by one capture thread."""

    name: str

    def start(self) -> None:
        """Open the device.

        Raises:
            SoloError: There is no such device, or not the stream we need.
        """
        ...

    def wait(self, timeout_s: float) -> DepthFrame | None:
        """Block until a frame arrives; None if none does in time."""
        ...

    def close(self) -> None:
        """Close the device, if there is one; called once, also after errors."""


def damping_command(num_joints: int, kd: np.ndarray | float) -> JointCommand:
    """No stiffness, only damping, Nm s/rad: the robot sinks down slowly."""
    zeros = np.zeros(num_joints)
    return JointCommand(
        q=zeros, dq=zeros, kp=zeros, kd=np.broadcast_to(kd, num_joints), tau=zeros
    )
