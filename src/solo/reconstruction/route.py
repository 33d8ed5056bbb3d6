"""Where a scripted robot starts and which way it goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from solo.motions.footsteps import nominal_path
from solo.motions.gait_cfg import GaitCfg
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
