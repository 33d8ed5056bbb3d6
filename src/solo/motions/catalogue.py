"""The clips that `solo motions make` synthesises."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from solo.motions.clip import MotionClip
from solo.motions.footsteps import GaitCfg
from solo.motions.gait import make_gait, make_stand
from solo.motions.leg_ik import UnreachableError
from solo.motions.skeleton import Skeleton, make_skeleton
from solo.robots.robot_cfg import RobotCfg

FORWARD_MPS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Low and medium speeds: up to 0.9 m/s a leg of 0.65 m has a Froude number of 0.13."""

TURN_RADPS = (0.4, 0.7, 1.0)

STAND = "stand"
"""Name of the clip that stands still."""

EXTRA = "extra_"
"""Prefix of clips that the paper's set does not have."""

_STAND_S = 1.0

_LOWER_M = (0.0, 0.01, 0.02, 0.03, 0.04, 0.06)
"""How much lower than configured the base may go, in turn, until the legs reach."""


def walk(vx: float, vy: float = 0.0, wz: float = 0.0, name: str = "") -> GaitCfg:
    """The gait of a humanoid of 1.3 m at a speed, m/s, m/s and rad/s."""
    speed = abs(vx)
    return GaitCfg(
        name=name,
        vx=vx,
        vy=vy,
        wz=wz,
        step_hz=1.65 + 0.35 * speed,
        width=0.7 + 0.3 * min(1.0, abs(wz) / 0.8 + abs(vy) / 0.1),
        clearance_m=0.07,
        base_drop_m=0.003 + 0.030 * speed,
        bob_m=0.004 + 0.014 * speed,
        yaw_rad=0.1 * vx,
        lean_rad=0.03 * vx,
        arm_rad=0.06 + 0.35 * speed,
        toe_off_rad=0.4 * max(vx, 0.0),
        toe_up_rad=0.08 * max(vx, 0.0),
        zmp_roll_m=0.08 * vx,
    )


def gaits() -> tuple[GaitCfg, ...]:
    """All gaits: the paper's forward walking and turning, then extras."""
    found = [walk(vx, name=f"walk_forward_{vx:.2f}") for vx in FORWARD_MPS]
    for rate in TURN_RADPS:
        found.append(walk(0.0, wz=rate, name=f"turn_left_{rate:.2f}"))
        found.append(walk(0.0, wz=-rate, name=f"turn_right_{rate:.2f}"))
    for vx in (0.2, 0.4):
        found.append(walk(-vx, name=f"{EXTRA}walk_backward_{vx:.2f}"))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        found.append(walk(0.0, vy=sign * 0.15, name=f"{EXTRA}side_{side}_0.15"))
        for vx, wz in ((0.4, 0.5), (0.7, 0.4)):
            name = f"{EXTRA}curve_{side}_{vx:.2f}"
            found.append(walk(vx, wz=sign * wz, name=name))
    return tuple(found)


def make_clips(
    robot: RobotCfg, seed: int = 0, extras: bool = True
) -> tuple[MotionClip, ...]:
    """Synthesise the reference set: standing, walking, turning and extras.

    Another seed than 0 varies cadence, clearance and arm swing a little.

    Raises:
        SoloError: The robot's legs cannot walk like that.
    """
    skeleton = make_skeleton(robot)
    rng = np.random.default_rng(seed)
    clips = [make_stand(robot, skeleton, STAND, _STAND_S)]
    for cfg in gaits():
        varied = _vary(cfg, rng) if seed else cfg
        if extras or not cfg.name.startswith(EXTRA):
            clips.append(_within_reach(robot, skeleton, varied))
    return tuple(clips)


def make_clip(robot: RobotCfg, name: str) -> MotionClip:
    """Synthesise one clip of `solo.names.MOTIONS`."""
    skeleton = make_skeleton(robot)
    if name == STAND:
        return make_stand(robot, skeleton, STAND, _STAND_S)
    cfg = next(cfg for cfg in gaits() if cfg.name == name)
    return _within_reach(robot, skeleton, cfg)


def _within_reach(robot: RobotCfg, skeleton: Skeleton, cfg: GaitCfg) -> MotionClip:
    """The gait; shorter legs than the G1's take long steps with a lower base."""
    for lower_m in _LOWER_M[:-1]:
        lower = replace(cfg, base_drop_m=cfg.base_drop_m + lower_m)
        with suppress(UnreachableError):
            return make_gait(robot, skeleton, lower)
    lowest = replace(cfg, base_drop_m=cfg.base_drop_m + _LOWER_M[-1])
    return make_gait(robot, skeleton, lowest)


def _vary(cfg: GaitCfg, rng: np.random.Generator) -> GaitCfg:
    """The same speed with other steps; never longer ones, the legs end there."""
    return replace(
        cfg,
        step_hz=cfg.step_hz * rng.uniform(1.0, 1.08),
        clearance_m=cfg.clearance_m * rng.uniform(0.85, 1.15),
        arm_rad=cfg.arm_rad * rng.uniform(0.7, 1.2),
        roll_rad=cfg.roll_rad * rng.uniform(0.5, 1.5),
    )
