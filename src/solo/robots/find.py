"""Robots by name."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

from solo import names
from solo.errors import SoloError, unknown_name
from solo.robots.robot_cfg import RobotCfg


def get_robot(name: str) -> RobotCfg:
    """Look a robot up.

    Args:
        name: A name that is registered, here or by an installed package through the
            entry point group ``solo.robots``; or ``module:ATTRIBUTE`` of a `RobotCfg`
            in any module that Python finds. Runs and bundles keep this name.

    Raises:
        SoloError: There is no such robot, or it cannot be imported.
    """
    places = names.robot_places()
    module, _, attribute = places.get(name, name).partition(":")
    if not attribute:
        raise unknown_name(
            "robot", name, places, "Or give module:ATTRIBUTE, see docs/own-robot.md."
        )
    try:
        found = getattr(import_module(module), attribute, None)
    except (ImportError, ValueError) as error:
        raise SoloError(
            f"The robot {name!r} cannot be imported: {error}. Install its package, or "
            "add its folder to PYTHONPATH."
        ) from error
    if not isinstance(found, RobotCfg):
        raise SoloError(
            f"The robot {name!r}: {attribute!r} in the module {module!r} is a "
            f"{type(found).__name__}, not a RobotCfg. Correct the name."
        )
    return found if found.name == name else replace(found, name=name)
