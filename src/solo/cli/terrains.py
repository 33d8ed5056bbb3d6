"""`solo terrains list`, `solo terrains show` and `solo depth show`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from solo.cli import Verb, print_table
from solo.cli.checks import check_picture_path, say_loading
from solo.errors import SoloError, check_number
from solo.files import written_aside
from solo.terrains.patch import blank_patch
from solo.terrains.variants import VARIANTS, get_variant

SEEN = (
    "flat",
    "stairs_up_30",
    "stairs_down_30",
    "random_grid",
    "gap",
    "stones_staggered",
)
"""Terrains whose depth images are drawn when none is named."""


@dataclass(frozen=True)
class TerrainsList(Verb):
    """List the terrain variants with their curriculum ranges."""

    def run(self) -> dict[str, Any]:
        table = Table("name", "family", "easiest -> hardest")
        for variant in VARIANTS.values():
            table.add_row(variant.name, variant.family, variant.description)
        print_table(table)
        return {
            "terrains": [
                {
                    "name": variant.name,
                    "family": variant.family,
                    "description": variant.description,
                }
                for variant in VARIANTS.values()
            ]
        }


@dataclass(frozen=True)
class TerrainsShow(Verb):
    """Draw terrain variants into a PNG: a relief and a profile of each."""

    difficulty: float = 0.99
    """Difficulty from 0 (easiest) to 1 (hardest)."""

    terrains: tuple[str, ...] = ()
    """Terrain variants to draw; all if omitted."""

    seed: int = 0
    """Seed of random terrains."""

    patch_m: float = 8.0
    """Side length of each patch, in metres."""

    output: Path = Path("terrains.png")
    """PNG file to write; an existing one is replaced."""

    def run(self) -> dict[str, Any]:
        names = self.terrains or tuple(VARIANTS)
        for name in names:
            get_variant(name)
        check_number("seed", self.seed, 0)
        try:
            blank_patch(self.difficulty, self.patch_m)
        except ValueError as error:
            raise SoloError(str(error)) from error
        check_picture_path(self.output, (".png",))

        # Matplotlib takes a second to import, which listing should not pay.
        from solo.pictures.terrains import draw_contact_sheet

        with written_aside(self.output) as unfinished:
            draw_contact_sheet(
                names, self.difficulty, unfinished, self.seed, self.patch_m
            )
        print(f"Wrote {self.output}")
        return {
            "output": str(self.output),
            "difficulty": self.difficulty,
            "terrains": list(names),
        }


@dataclass(frozen=True)
class DepthShow(Verb):
    """Draw clean and corrupted depth images of several terrains into a PNG."""

    terrains: tuple[str, ...] = ()
    """Terrain variants to draw, one row each; a selection if omitted."""

    difficulty: float = 0.7
    """Difficulty from 0 (easiest) to 1 (hardest)."""

    seed: int = 0
    """Seed of the terrains and of the corruption."""

    output: Path = Path("depth.png")
    """PNG file to write; an existing one is replaced."""

    def run(self) -> dict[str, Any]:
        names = self.terrains or SEEN
        for name in names:
            get_variant(name)
        check_number("seed", self.seed, 0)
        check_number("difficulty", self.difficulty, 0.0, 1.0)
        check_picture_path(self.output, (".png",))

        # Matplotlib and Warp take seconds to import, which `--help` should not pay.
        say_loading()
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
