"""The phases of a run and how one follows another, as a pure function.

idle --stand up--> stand-up --walk--> walking
  any --damp, fault--> damping --stand up--> stand-up
  any --stop, fault--> stopped
"""

from __future__ import annotations

import enum

from solo.deploy.safety import Reaction


class Phase(enum.IntEnum):
    """What the runtime is doing."""

    IDLE = 0
    """Watches; sends nothing."""
    STAND_UP = 1
    """Ramps to the default pose, and holds it."""
    WALKING = 2
    """The policy is in control."""
    DAMPING = 3
    """No stiffness, only damping."""
    STOPPED = 4
    """Damping, and the run is over."""


class Request(enum.IntEnum):
    """What the operator asks for."""

    NONE = 0
    STAND_UP = 1
    WALK = 2
    DAMP = 3
    STOP = 4


def next_phase(
    phase: Phase, request: Request, reaction: Reaction, is_up: bool
) -> Phase:
    """The phase of this tick. Reactions come before requests."""
    if phase == Phase.STOPPED or request == Request.STOP or reaction == Reaction.STOP:
        return Phase.STOPPED
    if request == Request.DAMP:
        return Phase.DAMPING
    if reaction == Reaction.DAMP:
        return phase if phase == Phase.IDLE else Phase.DAMPING
    if request == Request.STAND_UP and phase in (Phase.IDLE, Phase.DAMPING):
        return Phase.STAND_UP
    if request == Request.WALK and phase == Phase.STAND_UP and is_up:
        return Phase.WALKING
    return phase
