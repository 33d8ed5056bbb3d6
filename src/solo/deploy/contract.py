"""What a policy was trained with and a robot must provide, as plain data.

A bundle carries these numbers in its metadata; the runtime takes all of its constants
from here and has none of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from solo.errors import SoloError

CONTROL_HZ = 50.0
"""Rate of the policy (paper)."""


@dataclass(frozen=True, eq=False)
class JointContract:
    """The joints of the policy, in its order; arrays have one entry per joint."""

    names: tuple[str, ...]
    """Joint names."""
    default_pos: np.ndarray
    """Default pose, rad; observed positions and actions are relative to it."""
    action_scale: np.ndarray
    """Radians of target offset per unit of action."""
    kp: np.ndarray
    """Stiffness, Nm/rad."""
    kd: np.ndarray
    """Damping, Nm s/rad."""
    pos_low: np.ndarray
    """Lower limit of the position, rad."""
    pos_high: np.ndarray
    """Upper limit of the position, rad."""
    vel_limit: np.ndarray
    """Largest speed of the motor, rad/s."""
    effort_limit: np.ndarray
    """Largest torque of the motor, Nm."""

    def __post_init__(self) -> None:
        for item in fields(self):
            if item.name == "names":
                continue
            values = np.asarray(getattr(self, item.name), dtype=np.float64)
            if values.shape != (len(self.names),) or not np.isfinite(values).all():
                raise SoloError(
                    f"Joint contract: {item.name} has shape {values.shape}; it must "
                    f"hold {len(self.names)} finite numbers, one per joint. Export the "
                    "bundle again."
                )
            values.setflags(write=False)
            object.__setattr__(self, item.name, values)
        outside = (self.default_pos < self.pos_low) | (self.default_pos > self.pos_high)
        if outside.any():
            listed = ", ".join(self.names[i] for i in np.flatnonzero(outside))
            raise SoloError(
                f"Joint contract: the default pose of {listed} is outside the joint's "
                "limits. Export the bundle again."
            )

    def targets(self, action: np.ndarray) -> np.ndarray:
        """Position targets [joints] of an action, kept within the limits, rad."""
        wanted = self.default_pos + self.action_scale * action
        return np.clip(wanted, self.pos_low, self.pos_high)


@dataclass(frozen=True)
class DepthContract:
    """The depth stream and what the network sees of it."""

    width: int = 640
    """Columns of the raw stream (paper)."""
    height: int = 480
    """Rows of the raw stream (paper)."""
    fx: float = 384.0
    """Horizontal focal length of the raw stream, pixels, as in training."""
    fy: float = 384.0
    """Vertical focal length."""
    cx: float = 320.0
    """Column of the optical axis; pixel ``i`` covers ``[i, i + 1)``."""
    cy: float = 240.0
    """Row of the optical axis."""
    output_width: int = 113
    """Columns of the network's input (paper)."""
    output_height: int = 64
    """Rows of the network's input (paper)."""
    min_range_m: float = 0.3
    """Nearer is invalid."""
    max_range_m: float = 3.0
    """Farther counts as this; depth is normalised by it."""
    frames: int = 4
    """Images in the window (paper)."""
    stride: int = 4
    """Control steps between two images of the window (paper)."""


@dataclass(frozen=True, eq=False)
class Contract:
    """All of it."""

    joints: JointContract
    depth: DepthContract = DepthContract()
    """Camera stream and window."""
    control_hz: float = CONTROL_HZ
    """Rate of the policy (paper)."""
    proprioception_frames: int = 10
    """Length of the proprioception window (paper)."""
    needs_depth: bool = True
    """Whether the policy looks at depth; a blind one runs without a camera."""

    @property
    def period_s(self) -> float:
        """Time between two ticks."""
        return 1.0 / self.control_hz


def reorder(
    names: tuple[str, ...], wanted: tuple[str, ...], robot: str
) -> tuple[int, ...]:
    """Index in ``names`` of each joint in ``wanted``."""
    missing = [name for name in wanted if name not in names]
    if missing:
        raise SoloError(
            f"The policy needs the joint {missing[0]!r} ({len(missing)} missing in "
            f"all), which the robot {robot!r} does not have. Its joints: "
            f"{', '.join(names)}. Use a bundle that was exported for this robot."
        )
    return tuple(names.index(name) for name in wanted)
