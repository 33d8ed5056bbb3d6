"""Feet on terrain: a gait's schedule with the terrain's footholds and heights.

Complex numbers stand for points on the ground, x + iy, in the world frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solo.motions import rotations
from solo.motions.footsteps import nominal_path, place_feet
from solo.motions.gait import FPS
from solo.reconstruction.footholds import choose_footholds
from solo.reconstruction.gait_set import GaitSet
from solo.reconstruction.route import Route
from solo.terrains.grid import HeightGrid


@dataclass(frozen=True, eq=False)
class FeetOnTerrain:
    """The feet of one robot in T frames; left first."""

    place_w: np.ndarray
    """Middle of the sole, complex x + iy, [2, T], metres."""
    height_m: np.ndarray
    """Height of the middle of the sole, [2, T]."""
    ground_m: np.ndarray
    """The part of it that is terrain, [2, T]."""
    quat_w: np.ndarray
    """Rotation foot to world, [2, T, 4]."""


def step_over(
    gait_set: GaitSet,
    route: Route,
    grid: HeightGrid,
    ground: HeightGrid,
    time: np.ndarray,
) -> FeetOnTerrain:
    """Place the feet of one robot: the gait's schedule on the terrain's heights."""
    cfg, foot = gait_set.cfgs[route.gait], gait_set.robot.feet[0]
    period_s = (gait_set.clips[route.gait].num_frames - 1) / FPS
    half_width = cfg.width * gait_set.skeleton.half_width_m
    x = [point[0] for point in foot.points.values()]
    level = place_feet(cfg, half_width, 0.5 * (max(x) - min(x)), time, period_s)
    places, heights, grounds = [], [], []
    for index, (side, offset) in enumerate(((1.0, 0.0), (-1.0, 0.5))):
        phase = time / period_s - offset
        cycle = np.floor(phase).astype(int)
        swing = np.clip((phase - cycle - cfg.duty) / (1.0 - cfg.duty), 0.0, 1.0)
        numbers = np.arange(cycle.min(), cycle.max() + 2)
        middle, yaw = nominal_path(cfg, (numbers + offset + 0.5 * cfg.duty) * period_s)
        wanted = middle + 1j * side * half_width * np.exp(1j * yaw)
        wanted, yaw = route.to_world(wanted), yaw + route.turn_rad
        chosen, height = choose_footholds(grid, ground, foot, wanted, yaw)
        detour, here = chosen - wanted, cycle - numbers[0]
        way = _smoothstep(swing)
        # Up before ahead, and down after it, so that no edge is cut through.
        is_up = height[here + 1] > height[here]
        climb = _smoothstep(np.where(is_up, swing / 0.5, (swing - 0.5) / 0.5))
        rise = height[here] + climb * (height[here + 1] - height[here])
        move = detour[here] + way * (detour[here + 1] - detour[here])
        places.append(route.to_world(level.sole_w[index]) + move)
        heights.append(level.height_m[index] + rise)
        grounds.append(rise)
    quat = rotations.multiply(
        rotations.about_axis(2, level.yaw + route.turn_rad),
        rotations.about_axis(1, level.pitch),
    )
    return FeetOnTerrain(np.array(places), np.array(heights), np.array(grounds), quat)


def _smoothstep(share: np.ndarray) -> np.ndarray:
    share = np.clip(share, 0.0, 1.0)
    return share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
