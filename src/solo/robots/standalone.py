"""A robot of training on some ground as a file, for simulators in another process."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import mujoco
from mjlab.entity import Entity

from solo.robots.build import make_entity_cfg
from solo.robots.g1 import G1
from solo.robots.robot_cfg import RobotCfg


def write_model(
    path: Path, scene: Literal["flat", "stairs"] = "flat", robot: RobotCfg = G1
) -> None:
    """Write a robot of training, on some ground, as MJCF."""
    spec = Entity(make_entity_cfg(robot, visual=False)).spec
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.worldbody.add_geom(
        name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[20.0, 20.0, 0.1]
    )
    if scene == "stairs":
        for step in range(8):  # 15 cm high, 30 cm deep, from 1 m ahead.
            rise, start = 0.15 * (step + 1), 1.0 + 0.3 * step
            spec.worldbody.add_geom(
                name=f"step_{step}",
                type=mujoco.mjtGeom.mjGEOM_BOX,
                pos=[start + 2.0, 0.0, 0.5 * rise],
                size=[2.0, 1.5, 0.5 * rise],
            )
    spec.compile()
    path.write_text(spec.to_xml())
