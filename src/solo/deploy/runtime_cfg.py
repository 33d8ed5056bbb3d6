"""Settings of a run."""

from __future__ import annotations

from dataclasses import dataclass, field

from solo.deploy.command import CommandCfg
from solo.deploy.phase import Phase
from solo.deploy.safety import SafetyCfg


@dataclass(frozen=True)
class RuntimeCfg:
    """What the operator may choose. None of it is stated in the paper."""

    start: Phase = Phase.IDLE
    """Phase to start in; damping on a real robot."""
    stand_up_s: float = 2.0
    """Duration of the ramp to the default pose.

    Chosen because no joint of a G1 then moves faster than 2 rad/s from any usual pose.
    """
    damping_scale: float = 2.0
    """Damping of the damping phase, as a multiple of the policy's.

    Chosen because the robot sinks slowly and the gain stays within what PD control at
    1 kHz can track on the lightest motors.
    """
    safety: SafetyCfg = field(default_factory=SafetyCfg)
    """Limits and reactions."""
    command: CommandCfg = field(default_factory=CommandCfg)
    """Limits of the velocity command."""
