"""`solo terrains list` and `solo terrains show`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from solo.cli.checks import check_at_least, check_picture_path
from solo.cli.tables import print_table
from solo.errors import SoloError
from solo.files import written_aside
from solo.terrains.patch import blank_patch
from solo.terrains.variants import VARIANTS, get_variant


@dataclass(frozen=True)
class ListTerrains:
    """List the terrain variants with their curriculum ranges."""

    json: Path | None = None
    """Also write the list to this file as JSON."""

    def run(self) -> dict[str, Any]:
        """Print one line per variant and return the same as a dictionary."""
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
class ShowTerrains:
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

    json: Path | None = None
    """Also write what was drawn to this file as JSON."""

    def run(self) -> dict[str, Any]:
        """Draw the picture, print its path and return what was drawn.

        Raises:
            SoloError: If a name, number or path is not usable.
        """
        names = self.terrains or tuple(VARIANTS)
        for name in names:
            get_variant(name)
        check_at_least("seed", self.seed, 0)
        try:
            blank_patch(self.difficulty, self.patch_m)
        except ValueError as error:
            raise SoloError(str(error)) from error
        check_picture_path(self.output, (".png",))

        # Matplotlib takes a second to import, which listing should not pay.
        from solo.terrains.contact_sheet import draw_contact_sheet

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
