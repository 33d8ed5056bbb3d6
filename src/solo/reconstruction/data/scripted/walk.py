"""Walking over terrain without physics: clips of level ground, fitted to the relief.

For each robot a gait, a starting place and a heading are drawn. Its feet follow the
gait's schedule, but stand where the terrain carries them and at its height; the pelvis
follows the lower of the two feet, smoothed, with the gait's bobbing and some random
tilt; the legs are solved for.

Complex numbers stand for points on the ground, x + iy, in the world frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.ndimage import gaussian_filter1d, minimum_filter1d

from solo.motions import rotations
from solo.motions.catalogue import EXTRA, STAND, gaits
from solo.motions.clip import MotionClip
from solo.motions.footsteps import GaitCfg, nominal_path, place_feet
from solo.motions.gait import FPS, make_gait, make_stand
from solo.motions.skeleton import ROOT_QPOS, make_skeleton
from solo.reconstruction.data.scripted.ground import Route, choose_footholds
from solo.reconstruction.data.scripted.kinematics import LegSolver
from solo.robots.robot_cfg import FootCfg, RobotCfg
from solo.terrains.grid import HeightGrid

_SMOOTH_FRAMES = 6
"""Deviation of the Gaussian that smooths the pelvis, frames (0.12 s)."""

_HOLD_FRAMES = 6
"""The pelvis is low enough for a lower foot this long before and after it stands."""

_UPPER_SHARE = 0.2
"""How much of the height between the feet the pelvis rises: legs have 6 cm to spare,
and the less the upper one folds, the flatter its foot stands."""


class GaitSet:
    """Gaits, their clips on level ground, and the robot's legs."""

    def __init__(self, robot: RobotCfg, cfgs: Sequence[GaitCfg] | None = None) -> None:
        """Choose the gaits; standing and all of the catalogue by default."""
        self.robot = robot
        self.skeleton = make_skeleton(robot)
        every = (GaitCfg(STAND, clearance_m=0.0), *gaits())
        self.cfgs = every if cfgs is None else tuple(cfgs)

    @cached_property
    def weights(self) -> np.ndarray:
        """How often each gait is drawn."""
        return np.array([_weight(cfg) for cfg in self.cfgs])

    @cached_property
    def clips(self) -> tuple[MotionClip, ...]:
        """One period of each gait on level ground."""
        return tuple(
            make_stand(self.robot, self.skeleton, STAND, 1.0)
            if cfg.name == STAND
            else make_gait(self.robot, self.skeleton, cfg)
            for cfg in self.cfgs
        )

    @cached_property
    def legs(self) -> tuple[LegSolver, LegSolver]:
        """Solvers of the left and right leg."""
        model, feet = self.skeleton.model, self.skeleton.foot_bodies
        left, right = self.skeleton.legs
        return LegSolver(model, left, feet[0]), LegSolver(model, right, feet[1])


def _weight(cfg: GaitCfg) -> float:
    """Mostly ahead, as commands are; some of everything else."""
    if cfg.name == STAND:
        return 0.4
    if cfg.name.startswith(EXTRA):
        return 0.5 if "curve" in cfg.name else 0.2
    return 0.15 if cfg.vx == 0.0 else 1.0


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


@dataclass(frozen=True)
class PerturbationCfg:
    """How far a robot is from its clip, so that data covers what a policy visits.

    Not in the paper, whose sampler is a policy. Half widths of uniform amplitudes.
    """

    tilt_rad: float = 0.12
    """Roll and pitch of the pelvis: a constant and two slow waves share it."""
    drop_m: float = 0.06
    """Largest lowering of the pelvis."""
    joint_rad: float = 0.15
    """Arms and waist."""


def walk_routes(
    gait_set: GaitSet,
    routes: Sequence[Route],
    grid: HeightGrid,
    ground: HeightGrid,
    num_frames: int,
    rng: np.random.Generator,
    perturbation: PerturbationCfg,
) -> np.ndarray:
    """Positions of all robots, [T, N, 7 + J], at the control rate.

    Args:
        gait_set: The gaits.
        routes: Gait, place and heading of each robot.
        grid: The terrain.
        ground: The terrain without holes.
        num_frames: Frames T.
        rng: Source of the perturbations.
        perturbation: Their size.
    """
    qpos, feet = [], []
    for route in routes:
        time = (route.phase_frame + np.arange(num_frames)) / FPS
        steps = step_over(gait_set, route, grid, ground, time)
        qpos.append(_upper_body(gait_set, route, steps, time, rng, perturbation))
        feet.append(steps)
    walked = np.stack(qpos)  # [N, T, 7 + J]
    for side, leg in enumerate(gait_set.legs):
        _solve_leg(leg, gait_set.robot.feet[side], side, feet, walked)
    return walked.swapaxes(0, 1)


def _upper_body(
    gait_set: GaitSet,
    route: Route,
    feet: FeetOnTerrain,
    time: np.ndarray,
    rng: np.random.Generator,
    perturbation: PerturbationCfg,
) -> np.ndarray:
    """Pelvis, waist and arms of one robot, with the clip's legs, [T, 7 + J]."""
    cfg, clip = gait_set.cfgs[route.gait], gait_set.clips[route.gait]
    frame = np.round(time * FPS).astype(int) % (clip.num_frames - 1)
    clip_path, clip_yaw = nominal_path(cfg, frame / FPS)
    path, yaw = nominal_path(cfg, time)
    qpos = clip.qpos[frame]
    sway = (qpos[:, 0] + 1j * qpos[:, 1] - clip_path) * np.exp(1j * (yaw - clip_yaw))
    xy = route.to_world(path + sway)
    qpos[:, 0], qpos[:, 1] = np.real(xy), np.imag(xy)
    drop = perturbation.drop_m * rng.uniform() ** 2
    qpos[:, 2] += _smooth_ground(feet.ground_m) - drop
    turn = rotations.about_axis(2, yaw - clip_yaw + route.turn_rad)
    quat = rotations.multiply(turn, qpos[:, 3:ROOT_QPOS])
    for axis in (1, 0):
        tilt = _waves(time, 1, perturbation.tilt_rad, rng)[:, 0]
        quat = rotations.multiply(quat, rotations.about_axis(axis, tilt))
    qpos[:, 3:ROOT_QPOS] = quat
    legs = gait_set.skeleton.legs[0] + gait_set.skeleton.legs[1]
    others = np.setdiff1d(np.arange(clip.joint_pos.shape[1]), legs)
    columns = ROOT_QPOS + others
    qpos[:, columns] += _waves(time, len(others), perturbation.joint_rad, rng)
    return qpos


def _solve_leg(
    leg: LegSolver,
    foot: FootCfg,
    side: int,
    feet: Sequence[FeetOnTerrain],
    qpos: np.ndarray,
) -> None:
    """Put one foot of all robots in place, changing ``qpos`` [N, T, 7 + J]."""
    x = [point[0] for point in foot.points.values()]
    sole = np.array([0.5 * (max(x) + min(x)), 0.0, foot.sole_z])
    place = np.stack([f.place_w[side] for f in feet])  # [N, T]
    height = np.stack([f.height_m[side] for f in feet])
    quat_w = np.stack([f.quat_w[side] for f in feet])
    middle = np.stack([np.real(place), np.imag(place), height], axis=-1)
    pos_w = middle - rotations.rotate(quat_w, sole)
    to_base = rotations.conjugate(qpos[..., 3:ROOT_QPOS])
    pos_b = rotations.rotate(to_base, pos_w - qpos[..., :3])
    quat_b = rotations.multiply(to_base, quat_w)
    columns = ROOT_QPOS + np.array(leg.joints)
    start = qpos[..., columns]
    angles = leg.solve(
        start.reshape(-1, 6), pos_b.reshape(-1, 3), quat_b.reshape(-1, 4)
    )
    angles = np.pad(angles.reshape(start.shape), ((0, 0), (1, 1), (0, 0)), mode="edge")
    # Where a foot comes into reach again, an angle can jump; a motor cannot.
    smooth = 0.25 * (angles[:, :-2] + 2.0 * angles[:, 1:-1] + angles[:, 2:])
    qpos[..., columns] = smooth


def _smooth_ground(ground: np.ndarray) -> np.ndarray:
    """The height [T] that carries the pelvis, from that under both feet [2, T]."""
    lower, upper = ground.min(axis=0), ground.max(axis=0)
    height = lower + _UPPER_SHARE * (upper - lower)
    lowest = minimum_filter1d(height, 2 * _HOLD_FRAMES + 1, mode="nearest")
    return gaussian_filter1d(lowest, _SMOOTH_FRAMES, mode="nearest", truncate=3.0)


def _waves(
    time: np.ndarray, num: int, half_width: float, rng: np.random.Generator
) -> np.ndarray:
    """A random constant and two slow waves that stay within a bound, [T, num]."""
    share = rng.dirichlet(np.ones(3), size=num).T * rng.uniform(-1, 1, (3, num))
    rate, phase = rng.uniform(0.2, 1.5, (2, num)), rng.uniform(0, 1, (2, num))
    wave = np.cos(2 * np.pi * (rate * time[:, None, None] + phase))  # [T, 2, num]
    return half_width * (share[0] + (share[1:] * wave).sum(axis=1))
