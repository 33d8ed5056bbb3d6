"""Gaits on the ground: numbers, footholds, swings, zero-moment point, pendulum.

Complex numbers stand for points on the ground, x + iy, in the world frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

GRAVITY = 9.81

_PAUSE = 0.04
"""Share of the swing at both ends in which the foot moves only up or down."""

_RAMP = 0.4
"""Share of the way in which the swinging foot speeds up, and slows down."""


@dataclass(frozen=True)
class GaitCfg:
    """One steady gait.

    The paper states only which motions its clips show, not their numbers. Ours are
    those of human walking scaled to a leg of 0.65 m by equal Froude number, except
    that a foot lands flat: rigid soles have no heel to roll over.
    """

    name: str
    """Name of the clip."""
    vx: float = 0.0
    """Forward speed, m/s."""
    vy: float = 0.0
    """Speed to the left, m/s."""
    wz: float = 0.0
    """Turning rate, positive to the left, rad/s."""
    step_hz: float = 1.6
    """Steps per second, of both feet together."""
    double_support: float = 0.16
    """Share of each step during which both feet stand."""
    width: float = 1.0
    """Distance between the feet, as a share of that in the default pose."""
    clearance_m: float = 0.08
    """Height of the lowest point of the sole in the middle of the swing."""
    base_drop_m: float = 0.015
    """How much lower than in the default pose the base is on average."""
    bob_m: float = 0.008
    """Amplitude of the base's rise over the standing leg."""
    roll_rad: float = 0.02
    """How far the base drops to the side of the swinging leg."""
    yaw_rad: float = 0.0
    """How far the base turns with the leg that swings forward."""
    lean_rad: float = 0.0
    """Constant forward lean of the torso."""
    arm_rad: float = 0.1
    """Amplitude of the shoulders, opposite to the legs."""
    toe_off_rad: float = 0.0
    """Largest pitch of the foot, toes down, as it rolls over the toes and lifts off."""
    toe_off_share: float = 0.08
    """Share of the period, before lift-off, in which the heel rises already. It is the
    time both feet stand, so that the foot that carries all weight is flat."""
    toe_up_rad: float = 0.0
    """How far the toes are raised before the foot lands."""
    zmp_roll_m: float = 0.0
    """How far the pressure travels forward in the sole during a stance."""
    zmp_inward_m: float = 0.008
    """How far inside the middle of the sole the pressure is; the body sways less."""

    @property
    def duty(self) -> float:
        """Share of the period during which a foot stands."""
        return 0.5 * (1.0 + self.double_support)

    @property
    def velocity(self) -> complex:
        """Velocity over the ground in the heading frame, x + iy, m/s."""
        return complex(self.vx, self.vy)


@dataclass(frozen=True, eq=False)
class FootPaths:
    """Where both feet are in each of T frames; left first."""

    sole_w: np.ndarray
    """Middle of the sole over the ground, complex [2, T], metres."""
    height_m: np.ndarray
    """Height of the middle of the sole, [2, T]."""
    yaw: np.ndarray
    """Heading of the foot, [2, T], rad."""
    pitch: np.ndarray
    """Pitch of the foot, positive with the toes down, [2, T], rad."""
    stance: np.ndarray
    """Share of the stance that is over, [2, T]; at most 0 or at least 1 in swing."""


def nominal_path(cfg: GaitCfg, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where a robot is that moves with constant velocity, complex, and its yaw."""
    yaw = cfg.wz * time
    # np.sinc makes the chord of the arc exact for any rate, zero included.
    chord = time * np.sinc(yaw / (2 * np.pi))
    return cfg.velocity * chord * np.exp(0.5j * yaw), yaw


def place_feet(
    cfg: GaitCfg,
    half_width_m: float,
    half_length_m: float,
    time: np.ndarray,
    period_s: float,
) -> FootPaths:
    """Let the feet stand and swing in turn; the left stance begins at time 0.

    A period is two steps; footholds are ``half_width_m`` from the nominal path.
    """
    soles, heights, yaws, pitches, stances = [], [], [], [], []
    for side, offset in ((1.0, 0.0), (-1.0, 0.5)):
        phase = time / period_s - offset
        cycle = np.floor(phase)
        stance = (phase - cycle) / cfg.duty
        swing = np.clip((phase - cycle - cfg.duty) / (1.0 - cfg.duty), 0.0, 1.0)
        # A foot stands under its hip in the middle of the stance.
        middle = (cycle + offset + 0.5 * cfg.duty) * period_s
        here, here_yaw = _foothold(cfg, middle, side * half_width_m)
        there, there_yaw = _foothold(cfg, middle + period_s, side * half_width_m)
        way = _ease((swing - _PAUSE) / (1.0 - 2.0 * _PAUSE))
        yaw = here_yaw + way * (there_yaw - here_yaw)
        # The heel rises before lift-off and is down again late in the swing.
        begin, end = cfg.duty - cfg.toe_off_share, 1.0 - 0.15 * (1.0 - cfg.duty)
        toe_off = cfg.toe_off_rad * _bump((phase - cycle - begin) / (end - begin), 3, 4)
        toe_up = cfg.toe_up_rad * _bump(swing, 5, 3)
        clearance = cfg.clearance_m * (4.0 * swing * (1.0 - swing)) ** 2
        # Turning about the toes moves the middle; the lowest point stays in place.
        forward = half_length_m * (1.0 - np.cos(toe_off))
        soles.append(here + way * (there - here) + forward * np.exp(1j * yaw))
        heights.append(clearance + half_length_m * (np.sin(toe_off) + np.sin(toe_up)))
        yaws.append(yaw)
        pitches.append(toe_off - toe_up)
        stances.append(stance)
    return FootPaths(*map(np.array, (soles, heights, yaws, pitches, stances)))


def wanted_zmp(cfg: GaitCfg, feet: FootPaths) -> np.ndarray:
    """The zero-moment point of the gait, complex [T], metres."""
    roll = cfg.zmp_roll_m * (np.clip(feet.stance, 0.0, 1.0) - 0.5)
    inward = cfg.zmp_inward_m * np.array([[-1j], [1j]])
    offset = roll + inward
    centre = feet.sole_w + offset * np.exp(1j * feet.yaw)  # [2, T]
    # Both stand at the beginning and end of the left stance; the weight moves then.
    double = (cfg.duty - 0.5) / cfg.duty  # As a share of the stance.
    stance = feet.stance[0]
    left = np.where(
        stance < 0.5,
        _smoothstep(stance / double),
        1.0 - _smoothstep((stance - 1.0 + double) / double),
    )
    return left * centre[0] + (1.0 - left) * centre[1]


def follow_zmp(
    cfg: GaitCfg, zmp: np.ndarray, time: np.ndarray, height_m: float
) -> np.ndarray:
    """Centre of mass, complex [T], of a linear inverted pendulum with a given ZMP.

    ``c - (h / g) c'' = zmp`` has one solution that repeats with the gait. In
    coordinates that move and turn with the robot the ZMP is periodic, so each of its
    harmonics, of angular frequency w in the world, is divided by ``1 + (h / g) w^2``.
    Times are evenly spaced from 0, over one period.
    """
    moving, turning = _coordinates(cfg, time)
    harmonics = np.fft.fft((zmp - moving) / turning)
    step_s = time[1] - time[0]
    rates = 2 * np.pi * np.fft.fftfreq(len(time), step_s) + cfg.wz
    harmonics /= 1.0 + height_m / GRAVITY * rates**2
    return moving + turning * np.fft.ifft(harmonics)


def smooth_on_path(
    cfg: GaitCfg, offset: np.ndarray, time: np.ndarray, num_harmonics: int
) -> np.ndarray:
    """Keep the slow part of a displacement that is periodic in the robot's frame."""
    turning = _coordinates(cfg, time)[1]
    harmonics = np.fft.fft(offset / turning)
    harmonics[num_harmonics + 1 : -num_harmonics] = 0.0
    return turning * np.fft.ifft(harmonics)


def _coordinates(cfg: GaitCfg, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Origin and rotation of the coordinates in which the gait is periodic.

    The origin moves straight, or rests in the centre of the curve.
    """
    if cfg.wz == 0.0:
        return cfg.velocity * time, np.ones(len(time), dtype=complex)
    centre = np.full(len(time), 1j * cfg.velocity / cfg.wz)
    return centre, np.exp(1j * cfg.wz * time)


def _foothold(
    cfg: GaitCfg, time: np.ndarray, side_m: float
) -> tuple[np.ndarray, np.ndarray]:
    position, yaw = nominal_path(cfg, time)
    return position + 1j * side_m * np.exp(1j * yaw), yaw


def _ease(share: np.ndarray) -> np.ndarray:
    """From 0 to 1 with continuous acceleration and constant speed in the middle."""
    share = np.clip(share, 0.0, 1.0)
    early = np.minimum(share, 1.0 - share)
    ramp = np.minimum(early, _RAMP)
    way = 0.5 * (ramp - _RAMP / np.pi * np.sin(np.pi * ramp / _RAMP))
    way = (way + np.maximum(early - _RAMP, 0.0)) / (1.0 - _RAMP)
    return np.where(share < 0.5, way, 1.0 - way)


def _bump(share: np.ndarray, rise: int, fall: int) -> np.ndarray:
    """A bump of height 1 from 0 to 1, smooth at both ends, and 0 elsewhere."""
    share = np.clip(share, 0.0, 1.0)
    peak = rise / (rise + fall)
    scale = peak**rise * (1.0 - peak) ** fall
    return share**rise * (1.0 - share) ** fall / scale


def _smoothstep(share: np.ndarray) -> np.ndarray:
    share = np.clip(share, 0.0, 1.0)
    return share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
