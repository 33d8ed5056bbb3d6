"""What the demo keeps of a control step, and of many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_FIX_S = 1.0

END_WORDS = {
    "success": "finished",
    "fall": "fell",
    "time_out": "too slow",
    "left_patch": "left the way",
    "left_terrain": "left the terrain",
    "safety_stop": "stopped by the runtime",
    "diverged": "physics broke down",
}
"""End of an attempt to how people say it."""


@dataclass(frozen=True, eq=False)
class Moment:
    """One control step: the state that was acted in, and what came of it."""

    seconds: float
    """Simulated time since the start of the attempt."""
    qpos: np.ndarray
    """The robot's, [7 + joints], and the obstacle's behind it if there is one, [7]."""
    position_m: np.ndarray
    """Base from the start of the terrain, along and across, [2]."""
    command: np.ndarray
    """vx, vy, wz, [3]."""
    velocity: np.ndarray
    """The same as realised, in the base's frame, [3]."""
    map_error_m: float
    """Mean error of the reconstructed map; NaN when the policy did not act."""
    policy_s: float
    """What the tick of the runtime took."""
    step_s: float
    """What all took: runtime, physics and camera."""
    end: str | None
    """How the attempt ended with this step; None if it goes on."""


@dataclass(frozen=True, eq=False)
class Perception:
    """What the policy had before it in one step."""

    depth_m: np.ndarray
    """Newest image, [H, W]; 0 is invalid."""
    true_m: np.ndarray
    """Ground relative to the base, [Y, X]."""
    seen_m: np.ndarray
    """The same as reconstructed, [Y, X]."""
    attention: np.ndarray
    """How much the policy looks at each cell or block of cells, [Y', X']."""
    points_w: np.ndarray
    """Where the reconstructed cells are, world, [Y, X, 3]."""


class Odometer:
    """Length of a path without the sway of the steps: from fix to fix, 1 s apart."""

    def __init__(self) -> None:
        self._sum_m, self._fix_s = 0.0, 0.0
        self._fix: np.ndarray | None = None
        self._here: np.ndarray | None = None

    @property
    def distance_m(self) -> float:
        """Up to now."""
        if self._fix is None or self._here is None:
            return self._sum_m
        return self._sum_m + float(np.linalg.norm(self._here - self._fix))

    def begin(self) -> None:
        """The robot is put somewhere else, which does not count."""
        self._sum_m, self._fix = self.distance_m, None

    def add(self, position_m: np.ndarray, seconds: float) -> None:
        """The robot is here, at this time of the attempt."""
        self._here = position_m
        if self._fix is None:
            self._fix, self._fix_s = position_m, seconds
        elif seconds - self._fix_s >= _FIX_S:
            self._sum_m = self.distance_m
            self._fix, self._fix_s = position_m, seconds


def cell_points_w(
    map_m: np.ndarray, centres_h: np.ndarray, qpos: np.ndarray
) -> np.ndarray:
    """Where the cells of a height map are in the world, [Y, X, 3].

    Args:
        map_m: Ground relative to the base, [Y, X].
        centres_h: Cells ahead and to the left of the base, [Y, X, 2].
        qpos: Begins with the base: position and orientation wxyz.
    """
    px, py, pz, w, x, y, z = qpos[:7]
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    ahead, left = centres_h[..., 0], centres_h[..., 1]
    return np.stack(
        [
            px + np.cos(yaw) * ahead - np.sin(yaw) * left,
            py + np.sin(yaw) * ahead + np.cos(yaw) * left,
            pz + map_m,
        ],
        axis=-1,
    )
