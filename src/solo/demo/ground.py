"""Where the demo walks: the indoor course, an isolated terrain or one of training."""

from __future__ import annotations

from dataclasses import dataclass, replace

from solo.demo.terrains import check_terrain
from solo.evaluation.protocols import STRESS, Cell, Protocol
from solo.evaluation.sim_env import make_scene_cfg
from solo.evaluation.strips import COURSE, StripCell, StripProtocol, time_limit
from solo.terrains.scene import TerrainSceneCfg
from solo.terrains.strip import Element
from solo.terrains.strip_catalogue import STRIPS

FORWARD_M_S = 0.7
"""Speed that is commanded on the straight, the middle of the evaluation's range."""


@dataclass(frozen=True)
class Ground:
    """A terrain with a start and a finish on a line along +x."""

    name: str
    difficulty: float
    protocol: Protocol
    """How the evaluation begins there."""
    cell: Cell
    """Which of its jobs this is."""
    scene: TerrainSceneCfg
    half_width_m: float
    """How far from the line a robot may get."""
    finish_m: float
    """Place of the finish, from the start."""
    time_s: float
    """How long it may take."""
    elements: tuple[Element, ...]
    """What lies on the way."""


def make_ground(name: str, difficulty: float = 1.0, seed: int = 0) -> Ground:
    """Find a terrain and how it is walked: as in the evaluation, at one speed.

    Args:
        name: One of `solo.demo.terrains.TERRAINS`.
        difficulty: 0 to 1; 1 is the paper's course, or the hardest of training.
        seed: Seed of starts and of random terrain.

    Raises:
        SoloError: There is no such terrain.
    """
    check_terrain(name)
    speed = (FORWARD_M_S, FORWARD_M_S)
    is_strip = name in STRIPS
    protocol: Protocol = replace(
        COURSE if is_strip else STRESS,
        name="demo",
        terrains=(name,),
        difficulties=(difficulty,),
        seed=seed,
        num_patches=1,
        forward_m_s=speed,
    )
    cell = protocol.cells[0]
    if isinstance(protocol, StripProtocol) and isinstance(cell, StripCell):
        scene: TerrainSceneCfg = protocol.scene(cell)
        finish_m, elements = cell.finish_m, cell.elements
    else:
        scene, elements = make_scene_cfg(protocol, cell), ()
        finish_m = protocol.limits.pass_m
    return Ground(
        name=name,
        difficulty=difficulty,
        protocol=protocol,
        cell=cell,
        scene=scene,
        half_width_m=cell.patch_m / 2,
        finish_m=finish_m,
        time_s=time_limit(finish_m, speed),
        elements=elements,
    )
