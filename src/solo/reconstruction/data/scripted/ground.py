"""Where a scripted robot goes on a height grid, and where it puts its feet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import grey_closing

from solo.motions.footsteps import GaitCfg, nominal_path
from solo.robots.robot_cfg import FootCfg
from solo.terrains.grid import HeightGrid

_TRIES = 24
"""Routes that are drawn before the best of them is taken."""

_CLIMB_M = 0.42
"""Height between two footholds that the legs manage: one of the paper's boxes (0.40 m),
but not two treads of its steepest stairs (0.25 m each)."""

_MARGIN_M = 0.4
"""Robots stay this far inside their patch."""


@dataclass(frozen=True)
class Route:
    """One robot's gait, and how the clip's ground lies in the world."""

    gait: int
    """Index of the gait."""
    phase_frame: int
    """Frame of the clip at which the motion begins."""
    start_w: complex
    """World point, x + iy, at which the clip's nominal path is in that frame."""
    turn_rad: float
    """Angle by which the clip's world is turned."""
    clip_start: complex
    """The clip's nominal path in that frame."""

    def to_world(self, points: np.ndarray) -> np.ndarray:
        """Move points x + iy of the clip's ground to the world."""
        turned = (points - self.clip_start) * np.exp(1j * self.turn_rad)
        return self.start_w + turned


def draw_route(
    cfgs: Sequence[GaitCfg],
    weights: np.ndarray,
    periods: Sequence[int],
    ground: HeightGrid,
    centre: complex,
    patch_m: float,
    num_frames: int,
    fps: float,
    rng: np.random.Generator,
) -> Route:
    """Draw a gait, then start and heading until the robot can walk there.

    Args:
        cfgs: The gaits.
        weights: How often each is drawn.
        periods: Frames in one period of each.
        ground: The terrain without holes.
        centre: Middle of the patch, x + iy, world.
        patch_m: Side of the patch.
        num_frames: Length of the route.
        fps: Frames per second.
        rng: Source of the draws.
    """
    best, least = None, np.inf
    half_m = 0.5 * patch_m - _MARGIN_M
    # Drawn once: other draws would leave only slow gaits on the hardest terrain.
    gait = int(rng.choice(len(cfgs), p=weights / weights.sum()))
    cfg, phase = cfgs[gait], int(rng.integers(periods[gait]))
    for _ in range(_TRIES):
        begin, yaw = nominal_path(cfg, np.array([phase / fps]))
        heading = rng.uniform(-np.pi, np.pi)
        start = centre + complex(*rng.uniform(-half_m, half_m, 2))
        route = Route(gait, phase, start, heading - float(yaw[0]), complex(begin[0]))
        path, _ = nominal_path(cfg, (phase + np.arange(num_frames)) / fps)
        path_w = route.to_world(path)
        away = path_w - centre
        outside = max(np.abs(np.real(away)).max(), np.abs(np.imag(away)).max()) - half_m
        step = max(1, round(fps / cfg.step_hz))
        height = ground.height_at(np.real(path_w), np.imag(path_w))
        climb = np.abs(height[step:] - height[:-step]).max(initial=0.0) - _CLIMB_M
        badness = max(outside, 0.0) + max(climb, 0.0)
        if badness < least:
            best, least = route, badness
        if badness == 0.0:
            break
    assert best is not None
    return best


HOLE_M = 0.30
"""Deeper and narrow holes are stepped over; the legs of a robot end there."""

_CLOSE_CELLS = 6
"""Holes of up to twice this many cells (0.6 m) are narrow; the paper's widest gap has
0.5 m, its stones are 0.3 m apart."""

_SIDE_M = np.arange(-2, 3) * 0.05
_AHEAD_M = np.arange(-5, 6) * 0.05
"""Places that are tried around the foothold of level ground."""

_LEVEL_WEIGHT = 6.0
"""Metres of detour that are worth a metre less between sole and ground on average."""

_HEIGHT_WEIGHT = 3.0
"""Metres of detour worth a metre less of height above or below the path."""


def walkable_ground(grid: HeightGrid) -> HeightGrid:
    """The grid with its narrow deep holes filled to their rim.

    A morphological closing: what a robot that steps over holes walks on. Stairs, slopes
    and wide pits stay as they are.
    """
    closed = grey_closing(grid.units, size=2 * _CLOSE_CELLS + 1, mode="nearest")
    deep = (closed.astype(np.int32) - grid.units) * grid.unit_m > HOLE_M
    units = np.where(deep, closed, grid.units)
    return HeightGrid(
        units, grid.corner_xy_m, grid.cell_m, grid.unit_m, grid.slope_threshold
    )


def choose_footholds(
    grid: HeightGrid,
    ground: HeightGrid,
    foot: FootCfg,
    places: np.ndarray,
    yaws: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Move footholds to where the whole sole is carried, if there is such a place near.

    Args:
        grid: The terrain.
        ground: The same without holes, see `walkable_ground`.
        foot: The sole.
        places: Middles of the soles on level ground, complex x + iy, world, [K].
        yaws: Headings of the feet, [K], rad.

    Returns:
        The places, complex [K], and the height of the sole there, [K], metres.
    """
    ends = np.array(list(foot.points.values()))
    ends[:, 0] -= 0.5 * (ends[:, 0].max() + ends[:, 0].min())
    ends += foot.radius * np.sign(ends)  # To the outer edge, or a little beyond.
    sole = ends[:, 0] + 1j * ends[:, 1]
    tries = (_AHEAD_M[:, None] + 1j * _SIDE_M[None, :]).ravel()  # [C]
    turn = np.exp(1j * yaws)[:, None]  # [K, 1]
    centres = places[:, None] + tries * turn  # [K, C]
    points = centres[..., None] + sole * turn[..., None]  # [K, C, points]
    heights = grid.height_at(np.real(points), np.imag(points))
    support = heights.max(axis=2)
    path = ground.height_at(np.real(places), np.imag(places))[:, None]
    gap = np.minimum(support[..., None] - heights, HOLE_M).mean(axis=2)
    cost = np.abs(tries) + _LEVEL_WEIGHT * gap + _HEIGHT_WEIGHT * np.abs(support - path)
    best = cost.argmin(axis=1)
    rows = np.arange(len(places))
    # Where nothing is near, the foot hangs over the hole rather than stand in it.
    height = np.maximum(support[rows, best], path[:, 0] - HOLE_M)
    return centres[rows, best], height
