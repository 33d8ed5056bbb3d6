"""A policy that needs no training: it stands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solo.deploy.contract import JointContract
from solo.deploy.observation import Observation, term_slices


@dataclass(frozen=True)
class StandCfg:
    """Gains and lengths of `StandPolicy`, for the G1; gains found in simulation."""

    thigh_m: float = 0.30
    """Hip to knee."""
    shank_m: float = 0.30
    """Knee to ankle."""
    trunk_m: float = 0.17
    """Hip to the centre of mass of the whole robot, along the trunk."""
    aim_m: float = 0.02
    """Where to hold the centre of mass, ahead of the ankles."""
    offset_gain: float = 20.0
    """Ankle angle per distance from the aim, rad/m."""
    velocity_gain: float = 4.0
    """Ankle angle per velocity, rad s/m."""
    trunk_gain: float = 2.0
    """Hip angle per lean of the base, rad/rad."""


class StandPolicy:
    """Stands still on what a robot can measure: gravity, angular velocity, joints.

    PD control alone cannot: tipping over the ankles takes more torque per angle than
    the gains of the G1's ankles give (docs/conventions.md). Legs and trunk are taken as
    a chain above flat feet; the ankles push its centre of mass back over them, the hips
    keep the trunk upright.
    """

    def __init__(self, joints: JointContract, cfg: StandCfg | None = None) -> None:
        self.joints, self.cfg = joints, cfg or StandCfg()
        self._slices = term_slices(len(joints.names))
        self._hip_pitch = self._ids("_hip_pitch_joint")
        self._hip_roll = self._ids("_hip_roll_joint")
        self._knee = self._ids("_knee_joint")
        self._ankle_pitch = self._ids("_ankle_pitch_joint")
        self._ankle_roll = self._ids("_ankle_roll_joint")

    def reset(self) -> None:
        """Nothing to forget."""

    def step(self, observation: Observation) -> np.ndarray:
        """Push the ankles against lean and sway."""
        cfg, values = self.cfg, observation.proprioception.astype(np.float64)
        gravity_b = values[self._slices["projected_gravity"]]
        rate_b = values[self._slices["base_ang_vel"]]
        position = values[self._slices["joint_pos"]] + self.joints.default_pos
        velocity = values[self._slices["joint_vel"]]
        # Angles of trunk, thigh and shank from the vertical, about y, rad and rad/s.
        trunk, trunk_rate = np.arcsin(np.clip(gravity_b[0], -1.0, 1.0)), rate_b[1]
        thigh = trunk + position[self._hip_pitch].mean()
        thigh_rate = trunk_rate + velocity[self._hip_pitch].mean()
        shank = thigh + position[self._knee].mean()
        shank_rate = thigh_rate + velocity[self._knee].mean()
        ahead = (
            cfg.trunk_m * np.sin(trunk)
            + cfg.thigh_m * np.sin(thigh)
            + cfg.shank_m * np.sin(shank)
            - cfg.aim_m
        )
        ahead_rate = (
            cfg.trunk_m * trunk_rate * np.cos(trunk)
            + cfg.thigh_m * thigh_rate * np.cos(thigh)
            + cfg.shank_m * shank_rate * np.cos(shank)
        )
        # The same about x, where the leg is one piece; positive to the right.
        tilt, tilt_rate = np.arcsin(np.clip(-gravity_b[1], -1.0, 1.0)), rate_b[0]
        leg = tilt + position[self._hip_roll].mean()
        leg_rate = tilt_rate + velocity[self._hip_roll].mean()
        length = cfg.thigh_m + cfg.shank_m
        right = cfg.trunk_m * np.sin(tilt) + length * np.sin(leg)
        right_rate = cfg.trunk_m * tilt_rate + length * leg_rate

        offsets = np.zeros(len(self.joints.names))
        push = cfg.offset_gain * ahead + cfg.velocity_gain * ahead_rate
        offsets[self._ankle_pitch] = push
        offsets[self._ankle_roll] = (
            cfg.offset_gain * right + cfg.velocity_gain * right_rate
        )
        offsets[self._hip_pitch] = cfg.trunk_gain * trunk
        offsets[self._hip_roll] = cfg.trunk_gain * tilt
        return offsets / self.joints.action_scale

    def _ids(self, suffix: str) -> list[int]:
        return [i for i, n in enumerate(self.joints.names) if n.endswith(suffix)]
