"""Pieces of a strip: ground of one kind along +x, all across the strip.

A segment is data. `heights` makes cells of it, in units relative to the ground where it
begins; `rise_units` is where it ends, which is where the next one begins. Lengths are
rounded to cells and heights to units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from solo.terrains.gap import GAP_DEPTH
from solo.terrains.patch import CELL_M, UNIT_M, round_half_up


class Segment(Protocol):
    """What a strip needs of its pieces."""

    @property
    def name(self) -> str:
        """Name of the element; empty for ground that only joins others."""
        ...

    @property
    def family(self) -> str:
        """Terrain family, which has a colour; see `solo.terrains.variants`."""
        ...

    @property
    def cells(self) -> int:
        """Length along x."""
        ...

    @property
    def rise_units(self) -> int:
        """Height of the end over the beginning."""
        ...

    def heights(self, rng: np.random.Generator, num_y: int) -> np.ndarray:
        """Cells in units over the beginning, int16 [cells, num_y]."""
        ...

    def scaled(self, scale: float) -> Segment:
        """The same with heights, gaps and distances of stones times `scale`."""
        ...


@dataclass(frozen=True)
class Flat:
    """Level ground."""

    length_m: float
    name: str = ""
    family = "flat"
    rise_units = 0

    @property
    def cells(self) -> int:
        return to_cells(self.length_m)

    def heights(self, rng: np.random.Generator, num_y: int) -> np.ndarray:
        return blank(self, num_y)

    def scaled(self, scale: float) -> Flat:
        return self


@dataclass(frozen=True)
class ObstacleGround(Flat):
    """Level ground with a movable obstacle in the middle of it."""

    name: str = "movable_obstacle"
    family = "boxes"


@dataclass(frozen=True)
class Stairs:
    """Equal steps; the first riser is where it begins, the last tread its end."""

    rise_m: float
    """Of a step; negative to go down."""
    run_m: float
    """Depth of a tread."""
    count: int
    """Number of steps."""
    name: str = "stairs"
    family = "stairs"

    @property
    def cells(self) -> int:
        return self.count * to_cells(self.run_m)

    @property
    def rise_units(self) -> int:
        return self.count * to_units(self.rise_m)

    def heights(self, rng: np.random.Generator, num_y: int) -> np.ndarray:
        patch = blank(self, num_y)
        steps = 1 + np.arange(self.cells) // to_cells(self.run_m)
        patch[:] = to_units(self.rise_m) * steps[:, None]
        return patch

    def scaled(self, scale: float) -> Stairs:
        return replace(self, rise_m=scale * self.rise_m)


@dataclass(frozen=True)
class Slope:
    """A plane; each cell has the height of the plane at its centre."""

    degrees: float
    """Negative to go down."""
    length_m: float
    """Along x, not along the slope."""
    name: str = "slope"
    family = "slopes"

    @property
    def cells(self) -> int:
        return to_cells(self.length_m)

    @property
    def rise_units(self) -> int:
        return int(round_half_up(self._units(self.cells)))

    def heights(self, rng: np.random.Generator, num_y: int) -> np.ndarray:
        patch = blank(self, num_y)
        patch[:] = round_half_up(self._units(np.arange(self.cells) + 0.5))[:, None]
        return patch

    def scaled(self, scale: float) -> Slope:
        rise = scale * math.tan(math.radians(self.degrees))
        return replace(self, degrees=math.degrees(math.atan(rise)))

    def _units(self, cells: np.ndarray | int) -> np.ndarray:
        rise = math.tan(math.radians(self.degrees))
        return rise * np.asarray(cells) * (CELL_M / UNIT_M)


@dataclass(frozen=True)
class Platform:
    """One step up, and at its end one down."""

    height_m: float
    length_m: float
    name: str = "platform"
    family = "boxes"
    rise_units = 0

    @property
    def cells(self) -> int:
        return to_cells(self.length_m)

    def heights(self, rng: np.random.Generator, num_y: int) -> np.ndarray:
        return blank(self, num_y) + np.int16(to_units(self.height_m))

    def scaled(self, scale: float) -> Platform:
        return replace(self, height_m=scale * self.height_m)


@dataclass(frozen=True)
class Gap:
    """A ditch all across the strip."""

    length_m: float
    depth_m: float = GAP_DEPTH.hardest
    """Not stated in the paper for its hardware; that of training's hardest gap."""
    name: str = "gap"
    family = "gap"
    rise_units = 0

    @property
    def cells(self) -> int:
        return to_cells(self.length_m)

    def heights(self, rng: np.random.Generator, num_y: int) -> np.ndarray:
        return blank(self, num_y) - np.int16(to_units(self.depth_m))

    def scaled(self, scale: float) -> Gap:
        return replace(
            self, length_m=scale * self.length_m, depth_m=scale * self.depth_m
        )


def to_cells(length_m: float) -> int:
    """A length in cells, halves rounded up."""
    return int(round_half_up(length_m / CELL_M))


def to_units(height_m: float) -> int:
    """A height in units; halves are rounded away from 0, so up and down are alike."""
    count = int(round_half_up(abs(height_m) / UNIT_M))
    return count if height_m >= 0 else -count


def blank(segment: Segment, num_y: int) -> np.ndarray:
    """A segment at the height of its beginning, int16 [cells, num_y]."""
    return np.zeros((segment.cells, num_y), dtype=np.int16)
