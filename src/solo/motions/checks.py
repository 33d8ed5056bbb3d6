"""How good a clip is, in numbers, and whether training can use it."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from solo.motions.clip import MotionClip, mean_velocity_h
from solo.motions.gait import measure_zmp
from solo.motions.skeleton import ROOT_QPOS, Skeleton
from solo.robots.robot_cfg import RobotCfg

CONTACT_M = 0.003
"""A point of a sole that is lower than this touches the ground."""


@dataclass(frozen=True)
class Limit:
    """What a quality should be, and what makes a clip useless."""

    label: str
    """Head of its column."""
    unit: str
    """Unit of the value as shown."""
    good: float
    """The value that our own clips keep to."""
    usable: float
    """The value beyond which a clip teaches something impossible."""
    at_least: bool = False
    """Whether the limits are lower ones."""

    def judge(self, value: float | None) -> str:
        """``good``, ``poor`` or ``unusable``; a value that does not apply is good."""
        if value is None:
            return "good"
        sign = -1.0 if self.at_least else 1.0
        if not sign * value <= sign * self.usable:
            return "unusable"
        return "good" if sign * value <= sign * self.good else "poor"


# Joint speed: the slowest of the G1's leg motors turns at 20 rad/s. Positions: 0.9 is
# the soft limit of the environment; files round, so a hair beyond 1 is usable.
LIMITS: dict[str, Limit] = {
    "slide_mm": Limit("slide", "mm", 5.0, np.inf),
    "slide_cmps": Limit("slide", "cm/s", 2.0, np.inf),
    "ground_mm": Limit("ground", "mm", 3.0, 100.0),
    "flat_mm": Limit("tilt", "mm", 3.0, np.inf),
    "lift_cm": Limit("lift", "cm", 5.0, 0.0, at_least=True),
    "single_percent": Limit("single", "%", 60.0, 0.0, at_least=True),
    "zmp_percent": Limit("ZMP in", "%", 90.0, 0.0, at_least=True),
    "range_percent": Limit("range", "%", 90.0, 103.0),
    "speed_radps": Limit("speed", "rad/s", 20.0, 40.0),
    "accel_radps2": Limit("accel", "rad/s2", 400.0, 4000.0),
    "closure_mrad": Limit("gap", "mrad", 1.0, 100.0),
}
"""Field of `ClipQuality` to its limits."""


@dataclass(frozen=True)
class ClipQuality:
    """Measured qualities of one clip."""

    name: str
    """Name of the clip."""
    duration_s: float
    """Its length."""
    velocity: tuple[float, float, float]
    """Mean forward and left velocity (m/s) and turning rate (rad/s)."""
    slide_mm: float
    """Largest way of a point of a sole over the ground while it touches."""
    slide_cmps: float
    """Largest speed of such a point."""
    ground_mm: float
    """How far the lowest point of all frames is above or below the ground."""
    flat_mm: float | None
    """Largest height in the sole that stands alone; None if none ever does."""
    lift_cm: float | None
    """Height of the lowest point of the sole at the top of the lowest swing."""
    single_percent: float | None
    """Share of time in which one foot stands; None if the feet never move."""
    zmp_percent: float
    """Share of time in which the zero-moment point is within the soles that touch."""
    range_percent: float
    """Largest distance of a joint from the middle of its range; 100 is the stop."""
    speed_radps: float
    """Largest joint speed."""
    accel_radps2: float
    """Largest joint acceleration, across the seam of a loop too."""
    closure_mrad: float | None
    """Largest difference between last and first frame of a loop: joints and tilt in
    mrad, height in mm."""

    def verdicts(self) -> dict[str, str]:
        """``good``, ``poor`` or ``unusable`` per quality."""
        return {
            name: limit.judge(getattr(self, name)) for name, limit in LIMITS.items()
        }


@dataclass(frozen=True, eq=False)
class SolePoints:
    """The points of both soles that can touch the ground, in each of T frames."""

    pos_w: tuple[np.ndarray, np.ndarray]
    """Left and right, each [T, P, 3], metres, world frame."""

    @property
    def lowest_m(self) -> np.ndarray:
        """Height of the lowest point of each sole, [2, T]."""
        return np.array([pos[..., 2].min(1) for pos in self.pos_w])

    @property
    def highest_m(self) -> np.ndarray:
        """Height of the highest point of each sole, [2, T]."""
        return np.array([pos[..., 2].max(1) for pos in self.pos_w])


def sole_points(robot: RobotCfg, skeleton: Skeleton, clip: MotionClip) -> SolePoints:
    """Place the soles of a clip by forward kinematics."""
    model = skeleton.model
    data = mujoco.MjData(model)
    local = [
        np.array([(x, y, foot.sole_z) for x, y in foot.points.values()])
        for foot in robot.feet
    ]
    points: tuple[list, list] = ([], [])
    for qpos in clip.qpos:
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        for side, body in enumerate(skeleton.foot_bodies):
            rotation = data.xmat[body].reshape(3, 3)
            points[side].append(local[side] @ rotation.T + data.xpos[body])
    return SolePoints((np.array(points[0]), np.array(points[1])))


def measure(robot: RobotCfg, skeleton: Skeleton, clip: MotionClip) -> ClipQuality:
    """Measure a clip on flat ground at z = 0."""
    soles = sole_points(robot, skeleton, clip)
    touches = soles.lowest_m < CONTACT_M  # [2, T]
    slide_m, slide_mps = _slide(soles, clip.fps)
    single = touches.sum(0) == 1
    standing_tilt = soles.highest_m[touches & single]
    swings = [h for side in (0, 1) for h in _apexes(soles.lowest_m[side], clip.loops)]
    moves = not touches.all()
    forward, left, turn = mean_velocity_h(clip).mean(0)
    limits = skeleton.model.jnt_range[1:]
    middle, half = limits.mean(1), 0.5 * np.ptp(limits, axis=1)
    return ClipQuality(
        name=clip.name,
        duration_s=clip.duration_s,
        velocity=(float(forward), float(left), float(turn)),
        slide_mm=1e3 * slide_m,
        slide_cmps=1e2 * slide_mps,
        ground_mm=1e3 * abs(float(soles.lowest_m.min())),
        flat_mm=1e3 * float(standing_tilt.max()) if standing_tilt.size else None,
        lift_cm=1e2 * min(swings) if swings else None,
        single_percent=1e2 * float(single[:-1].mean()) if moves else None,
        zmp_percent=1e2 * _share_supported(soles, measure_zmp(skeleton, clip)),
        range_percent=1e2 * float((np.abs(clip.joint_pos - middle) / half).max()),
        speed_radps=float(np.abs(clip.joint_vel).max()),
        accel_radps2=_peak_acceleration(clip),
        closure_mrad=_closure(clip) if clip.loops else None,
    )


def _slide(soles: SolePoints, fps: float) -> tuple[float, float]:
    """Largest drift, metres, and speed, m/s, of sole points while they touch."""
    drift, speed = 0.0, 0.0
    for pos in soles.pos_w:  # [T, P, 3]
        for point in range(pos.shape[1]):
            ground = pos[:, point, :2]
            for run in _runs(pos[:, point, 2] < CONTACT_M):
                path = ground[run]
                drift = max(drift, float(np.linalg.norm(path - path[0], axis=1).max()))
                steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
                speed = max(speed, fps * float(steps.max(initial=0.0)))
    return drift, speed


def _runs(flags: np.ndarray) -> list[slice]:
    """Stretches of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]])))
    return [slice(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _apexes(height_m: np.ndarray, loops: bool) -> list[float]:
    """Top of each whole swing of one foot, metres."""
    lifted = height_m >= CONTACT_M
    if loops and not lifted.all():
        # Begin the period on the ground, so that no swing is cut in two.
        first = int(lifted.argmin())
        height_m = np.roll(height_m[:-1], -first)
        lifted = height_m >= CONTACT_M
        return [float(height_m[run].max()) for run in _runs(lifted)]
    return [
        float(height_m[run].max())
        for run in _runs(lifted)
        if run.start > 0 and run.stop < len(lifted)
    ]


def _share_supported(soles: SolePoints, zmp: np.ndarray) -> float:
    """Share of frames in which the ZMP is in the hull of the points that touch.

    A point is in a convex hull if no direction leads further than the hull reaches.
    """
    directions = np.exp(1j * np.linspace(0.0, 2 * np.pi, 72, endpoint=False))
    points = np.concatenate(soles.pos_w, axis=1)  # [T, 2P, 3]
    ground = points[..., 0] + 1j * points[..., 1]
    along = (ground[..., None] * directions.conj()).real  # [T, 2P, D]
    along[points[..., 2] >= CONTACT_M] = -np.inf
    reach = along.max(1)  # [T, D]
    inside = (zmp[:, None] * directions.conj()).real <= reach
    return float(inside.all(1)[:-1].mean())


def _peak_acceleration(clip: MotionClip) -> float:
    joints = clip.extended_qpos()[:, ROOT_QPOS:]
    second = joints[2:] - 2.0 * joints[1:-1] + joints[:-2]
    return float(np.abs(second).max()) * clip.fps**2


def _closure(clip: MotionClip) -> float:
    gaps = [
        clip.joint_pos[-1] - clip.joint_pos[0],
        clip.projected_gravity_b[-1] - clip.projected_gravity_b[0],
        clip.root_pos_w[-1, 2:] - clip.root_pos_w[0, 2:],
    ]
    return 1e3 * float(np.abs(np.concatenate(gaps)).max())
