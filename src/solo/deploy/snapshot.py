"""What one tick of the runtime looks like from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from solo.deploy.camera import DepthImage
from solo.deploy.drivers.protocols import JointCommand, RobotState
from solo.deploy.loop import LoopStats
from solo.deploy.phase import Phase
from solo.deploy.safety import Fault

if TYPE_CHECKING:
    from solo.deploy.bundle_policy import PolicyView


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The last tick, for those who watch.

    The runtime replaces its snapshot and never changes one, and nobody else writes to
    its arrays: a dashboard can poll it from any thread without holding up the loop.
    """

    time_s: float
    """When the tick began."""
    phase: Phase
    """Phase of the runtime."""
    faults: tuple[Fault, ...]
    """What was wrong."""
    state: RobotState | None
    """What the robot measured."""
    image: DepthImage | None
    """What the camera saw."""
    command: np.ndarray
    """Velocity command vx, vy, wz [3] that the policy saw."""
    action: np.ndarray
    """Action of the policy [joints]."""
    target: JointCommand | None
    """What was sent to the robot; None if nothing."""
    stats: LoopStats
    """Deadline accounting; the one part that goes on counting."""
    note: str
    """Why the last request was refused; empty if it was not."""
    wanted: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Velocity that the operator asked for, before clamping; m/s, m/s, rad/s."""
    ages_s: tuple[float, float, float] = (np.inf, np.inf, np.inf)
    """Age of robot state, depth image and operator input."""
    view: PolicyView | None = None
    """What the policy thought in its last step; None if it does not tell."""
