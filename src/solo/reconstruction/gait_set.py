"""The gaits of scripted robots, with what fitting them to terrain needs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from solo.motions.catalogue import EXTRA, STAND, gaits
from solo.motions.clip import MotionClip
from solo.motions.gait import make_gait, make_stand
from solo.motions.gait_cfg import GaitCfg
from solo.motions.skeleton import make_skeleton
from solo.reconstruction.kinematics import LegSolver
from solo.robots.robot_cfg import RobotCfg


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
