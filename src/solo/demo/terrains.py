"""Names of the terrains to walk on; light, so that a wrong name is told at once."""

from __future__ import annotations

from solo.errors import unknown_name
from solo.terrains.strip_catalogue import STRIPS
from solo.terrains.variants import VARIANTS

COURSE = "course"
"""The indoor course of the paper."""

TERRAINS = (
    COURSE,
    *(name for name in STRIPS if name != COURSE),
    *(name for name in VARIANTS if name not in STRIPS),
)
"""All names. Of one that is both, the isolated terrain is meant, not that of training.
"""


def check_terrain(name: str) -> None:
    """Refuse an unknown name.

    Raises:
        SoloError: There is no such terrain.
    """
    if name not in TERRAINS:
        raise unknown_name("terrain", name, TERRAINS, "Choose one of these.")
