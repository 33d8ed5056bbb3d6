"""The numbers of a gait."""

from __future__ import annotations

from dataclasses import dataclass


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
