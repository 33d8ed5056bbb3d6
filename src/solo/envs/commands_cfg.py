"""Velocity commands: for training, and for the stress test of the evaluation."""

from __future__ import annotations

import math

from mjlab.tasks.velocity.mdp import UniformVelocityCommandCfg

from solo.errors import unknown_name


def make_command(name: str = "training") -> UniformVelocityCommandCfg:
    """A command distribution by name, see `COMMANDS`.

    Raises:
        SoloError: There is no distribution of that name.
    """
    if name not in COMMANDS:
        raise unknown_name("command", name, COMMANDS, "Choose one of these.")
    return COMMANDS[name]()


def _training() -> UniformVelocityCommandCfg:
    """All directions, with a heading to turn to.

    Not stated in the paper; ranges chosen to hold those of its evaluation, with
    turning and sideways steps as a joystick asks for them. The heading is drawn for
    all robots, as in Isaac Lab's rough-terrain tasks: it makes them walk straight over
    long stretches.
    """
    return UniformVelocityCommandCfg(
        entity_name="robot",
        resampling_time_range=(10.0, 10.0),
        heading_command=True,
        heading_control_stiffness=0.5,
        rel_standing_envs=0.05,
        ranges=UniformVelocityCommandCfg.Ranges(
            lin_vel_x=(-0.5, 1.0),
            lin_vel_y=(-0.5, 0.5),
            ang_vel_z=(-1.0, 1.0),
            heading=(-math.pi, math.pi),
        ),
    )


def _stress() -> UniformVelocityCommandCfg:
    """Straight ahead along +x at a constant speed (paper, stress test)."""
    return UniformVelocityCommandCfg(
        entity_name="robot",
        resampling_time_range=(1e6, 1e6),
        heading_command=True,
        heading_control_stiffness=0.5,
        rel_standing_envs=0.0,
        ranges=UniformVelocityCommandCfg.Ranges(
            lin_vel_x=(0.4, 1.0),
            lin_vel_y=(0.0, 0.0),
            ang_vel_z=(-1.0, 1.0),
            heading=(0.0, 0.0),
        ),
    )


COMMANDS = {"training": _training, "stress": _stress}
"""Name to a function that makes the configuration."""
