"""`solo depth show`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solo.cli.checks import check_at_least, check_picture_path
from solo.errors import SoloError
from solo.files import written_aside
from solo.terrains.variants import get_variant

SELECTION = (
    "flat",
    "stairs_up_30",
    "stairs_down_30",
    "random_grid",
    "gap",
    "stones_staggered",
)
"""Terrains drawn when none is named."""


@dataclass(frozen=True)
class ShowDepth:
    """Draw clean and corrupted depth images of several terrains into a PNG."""

    terrains: tuple[str, ...] = ()
    """Terrain variants to draw, one row each; a selection if omitted."""

    difficulty: float = 0.7
    """Difficulty from 0 (easiest) to 1 (hardest)."""

    seed: int = 0
    """Seed of the terrains and of the corruption."""

    output: Path = Path("depth.png")
    """PNG file to write; an existing one is replaced."""

    json: Path | None = None
    """Also write what was drawn to this file as JSON."""

    def run(self) -> dict[str, Any]:
        """Draw the picture, print its path and return what was drawn.

        Raises:
            SoloError: If a name, number or path is not usable.
        """
        names = self.terrains or SELECTION
        for name in names:
            get_variant(name)
        check_at_least("seed", self.seed, 0)
        if not 0.0 <= self.difficulty <= 1.0:
            raise SoloError(f"--difficulty is {self.difficulty}; allowed is 0 to 1.")
        check_picture_path(self.output, (".png",))

        # Matplotlib and Warp take seconds to import, which `--help` should not pay.
        from solo.pictures.depth import draw_depth_picture
        from solo.robots.g1 import G1

        with written_aside(self.output) as unfinished:
            shares = draw_depth_picture(
                G1, names, self.difficulty, unfinished, self.seed
            )
        print(f"Wrote {self.output}")
        return {
            "output": str(self.output),
            "terrains": list(names),
            "difficulty": self.difficulty,
            "invalid_share": shares,
        }
