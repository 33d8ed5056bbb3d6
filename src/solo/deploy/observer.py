"""Keeps the windows of the past and puts together what a policy looks at."""

from __future__ import annotations

import numpy as np

from solo.deploy.camera import DepthImage, DepthWindow
from solo.deploy.contract import Contract
from solo.deploy.drivers.protocols import RobotState
from solo.deploy.observation import Observation, Window, assemble


class Observer:
    """Proprioception and depth of the last control steps."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        size = 9 + 3 * len(contract.joints.names)
        self._window = Window(contract.proprioception_frames, size)
        self._depth_window = DepthWindow(contract.depth)
        self._depth_sequence = -1

    def reset(self) -> None:
        """Begin anew: the next values stand in for older ones."""
        self._window.reset()
        self._depth_window.reset()
        self._depth_sequence = -1

    def observe(
        self,
        state: RobotState,
        image: DepthImage | None,
        command: np.ndarray,
        last_action: np.ndarray,
    ) -> Observation:
        """The observation of this control step; call it once per step.

        Args:
            state: What the robot measured.
            image: The newest image; not looked at if the policy is blind.
            command: Velocity command vx, vy, wz [3].
            last_action: Action of the previous step [joints].
        """
        proprioception = assemble(state, command, last_action, self.contract.joints)
        window = self._window.push(proprioception)
        if not self.contract.needs_depth or image is None:
            return Observation(proprioception, window, None, None)
        is_new = image.sequence != self._depth_sequence
        self._depth_sequence = image.sequence
        depth_window = self._depth_window.push(image.depth)
        return Observation(proprioception, window, image.depth, depth_window, is_new)
