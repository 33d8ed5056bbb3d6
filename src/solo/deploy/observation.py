"""What a policy looks at: windows of proprioception and depth.

Proprioception is, in the order of docs/conventions.md, base angular velocity, projected
gravity, command, joint position minus default, joint velocity, previous action:
3 + 3 + 3 + 25 + 25 + 25 = 84 numbers for the G1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from solo.deploy.camera import DepthImage
from solo.deploy.contract import Contract, JointContract
from solo.deploy.drivers.protocols import RobotState

TERMS = (
    "base_ang_vel",
    "projected_gravity",
    "command",
    "joint_pos",
    "joint_vel",
    "last_action",
)
"""Names as in the training environment, in order."""


def term_slices(num_joints: int) -> dict[str, slice]:
    """Where each term stands in the proprioception vector."""
    sizes = (3, 3, 3, num_joints, num_joints, num_joints)
    ends = np.cumsum(sizes)
    return {
        name: slice(int(end) - size, int(end))
        for name, size, end in zip(TERMS, sizes, ends, strict=True)
    }


def projected_gravity(quat_wxyz: np.ndarray) -> np.ndarray:
    """Unit vector of gravity [3] in the base frame; (0, 0, -1) when upright."""
    w, x, y, z = np.asarray(quat_wxyz, dtype=np.float64) / np.linalg.norm(quat_wxyz)
    return np.array(
        [
            -2.0 * (x * z - w * y),
            -2.0 * (y * z + w * x),
            2.0 * (x * x + y * y) - 1.0,
        ]
    )


def assemble(
    state: RobotState,
    command: np.ndarray,
    last_action: np.ndarray,
    joints: JointContract,
) -> np.ndarray:
    """Proprioception [9 + 3 * joints], float32.

    The command is vx, vy, wz in the heading frame, m/s and rad/s; the last action is
    what the policy gave in the tick before.
    """
    return np.concatenate(
        [
            state.ang_vel_b,
            projected_gravity(state.quat_wxyz),
            command,
            state.joint_pos - joints.default_pos,
            state.joint_vel,
            last_action,
        ],
        dtype=np.float32,
        casting="same_kind",
    )


@dataclass(frozen=True, eq=False)
class Observation:
    """What a policy may look at in one tick."""

    proprioception: np.ndarray
    """Newest proprioception [84], float32."""
    proprioception_window: np.ndarray
    """The last ten, oldest first [10, 84]."""
    depth: np.ndarray | None
    """Newest depth image [64, 113], float32, 0 to 1, invalid 0; None if blind."""
    depth_window: np.ndarray | None
    """Four images, four ticks apart, oldest first [4, 64, 113]; None if blind."""


class Policy(Protocol):
    """Maps what was observed to an action. It may keep a state between ticks."""

    def reset(self) -> None:
        """Forget the past: called when walking begins."""
        ...

    def step(self, observation: Observation) -> np.ndarray:
        """Action [joints]: offsets from the default pose in units of action scale."""
        ...


class Window:
    """Values of past control steps; the first one stands in for older ones.

    A step without a new image repeats the newest one, as a camera slower than the
    control loop does in training.
    """

    def __init__(self, frames: int, shape: tuple[int, ...], stride: int = 1) -> None:
        """Prepare a window of values that are ``stride`` control steps apart."""
        self._ages = np.arange(frames - 1, -1, -1) * stride
        self._ring = np.zeros((self._ages[0] + 1, *shape), dtype=np.float32)
        self._step = -1

    def reset(self) -> None:
        """Begin anew with the next value."""
        self._step = -1

    def push(self, value: np.ndarray) -> np.ndarray:
        """Add the value of this step; the window [frames, ...], oldest first."""
        self._step += 1
        self._ring[self._step % len(self._ring)] = value
        steps = np.maximum(self._step - self._ages, 0)
        return self._ring[steps % len(self._ring)]


class Observer:
    """Proprioception and depth of the last control steps."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        size, depth = 9 + 3 * len(contract.joints.names), contract.depth
        image = (depth.output_height, depth.output_width)
        self._window = Window(contract.proprioception_frames, (size,))
        self._depth_window = Window(depth.frames, image, depth.stride)

    def reset(self) -> None:
        """Begin anew: the next values stand in for older ones."""
        self._window.reset()
        self._depth_window.reset()

    def observe(
        self,
        state: RobotState,
        image: DepthImage | None,
        command: np.ndarray,
        last_action: np.ndarray,
    ) -> Observation:
        """The observation of this control step; call it once per step.

        A blind policy's has no image.
        """
        proprioception = assemble(state, command, last_action, self.contract.joints)
        if not self.contract.needs_depth or image is None:
            return self.push(proprioception, None)
        return self.push(proprioception, image.depth)

    def push(self, proprioception: np.ndarray, depth: np.ndarray | None) -> Observation:
        """The same from what was assembled [D] and the image [H, W], None if blind."""
        window = self._window.push(proprioception)
        depth_window = None if depth is None else self._depth_window.push(depth)
        return Observation(proprioception, window, depth, depth_window)
