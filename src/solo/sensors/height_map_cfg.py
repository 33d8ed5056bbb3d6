"""The window of ground that a policy sees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


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

    @staticmethod
    def of(cfg: HeightMapCfg | Mapping[str, Any] | None) -> HeightMapCfg:
        """Accept a plain dict, and undo the lists that YAML and JSON make of tuples."""
        if isinstance(cfg, HeightMapCfg):
            return cfg
        values: dict[str, Any] = dict(cfg or {})
        values = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return HeightMapCfg(**values)

    def centres_h(self) -> np.ndarray:
        """Cell centres (x, y) in the heading frame.

        Returns:
            Array of shape (Y, X, 2) in metres; (16, 32, 2) by default.
        """
        y = self.y_range_m[0] + (np.arange(self.cells[0]) + 0.5) * self.cell_m
        x = self.x_range_m[0] + (np.arange(self.cells[1]) + 0.5) * self.cell_m
        return np.stack(np.broadcast_arrays(x[None, :], y[:, None]), axis=-1)
