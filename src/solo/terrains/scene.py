"""The curriculum scene: levels along +x, variants along +y, one grid for all of it.

`solo.terrains.strips.strip` has another arrangement with the same interface.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from solo.terrains.grid import HeightGrid
from solo.terrains.patch import CELL_M, UNIT_M, count_cells
from solo.terrains.variants import FAMILY_RGB, VARIANTS, get_variant

_TEXELS_PER_PATCH = 16


@dataclass(frozen=True)
class TerrainSceneCfg:
    """What the scene contains; the defaults are the paper's 10 x 17 patches."""

    variants: tuple[str, ...] = tuple(VARIANTS)
    """Names of the columns, each at most once. All have equal weight."""

    num_levels: int = 10
    """Number of difficulty levels, the rows of the curriculum."""

    patch_m: float = 8.0
    """Side of one square patch."""

    border_m: float = 20.0
    """Width of the flat ground around all patches."""

    seed: int = 0
    """Seed of the random families."""

    difficulty: float | None = None
    """Difficulty of all levels, in [0, 1]; None spreads the levels evenly from 0 to 1.

    Not stated in the paper; chosen because both end points of its table are then
    reached exactly. A single level without a difficulty has difficulty 0.
    """

    def __post_init__(self) -> None:
        if not self.variants:
            raise ValueError("Terrain scene has no variants; name at least one.")
        for name in self.variants:
            get_variant(name)
        if len(set(self.variants)) != len(self.variants):
            raise ValueError(
                f"Terrain scene lists a variant twice: {', '.join(self.variants)}. "
                "Each may appear once."
            )
        if self.num_levels < 1:
            raise ValueError(
                f"Terrain scene has num_levels={self.num_levels}; at least 1 is needed."
            )
        if self.seed < 0:
            raise ValueError(f"Terrain seed is {self.seed}; it must not be negative.")
        count_cells(self.patch_m)
        border_cells = round(self.border_m / CELL_M)
        if border_cells < 2 or abs(border_cells * CELL_M - self.border_m) > 1e-6:
            raise ValueError(
                f"Terrain border is {self.border_m} m; it must be a multiple of "
                f"{CELL_M} m and at least {2 * CELL_M} m."
            )
        if self.difficulty is not None and not 0.0 <= self.difficulty <= 1.0:
            raise ValueError(
                f"Terrain difficulty is {self.difficulty}; allowed are numbers from 0 "
                "to 1, or None for a curriculum."
            )

    def build(self) -> TerrainScene:
        """Generate the scene."""
        return build_scene(self)


@dataclass(frozen=True, eq=False)
class TerrainScene:
    """A generated scene, centred on the world origin."""

    cfg: TerrainSceneCfg
    """What it was built from."""

    grid: HeightGrid
    """Heights of all patches and the border."""

    origins_m: np.ndarray
    """Centre of each patch at ground height, float64 [levels, columns, 3]."""

    difficulties: np.ndarray
    """Difficulty of each level, float64 [levels]."""

    def patch_cells(self, level: int, column: int) -> tuple[slice, slice]:
        """Index of one patch in `grid.units`."""
        border = round(self.cfg.border_m / CELL_M)
        size = count_cells(self.cfg.patch_m)
        first_x, first_y = border + level * size, border + column * size
        return slice(first_x, first_x + size), slice(first_y, first_y + size)

    def colours(self) -> np.ndarray:
        """A picture of the ground, RGB from 0 to 1, [rows along y, columns along x, 3].

        Each patch has the colour of its family.
        """
        num_levels, num_columns = self.origins_m.shape[:2]
        image = np.empty((num_columns, num_levels, 3))
        for column, name in enumerate(self.cfg.variants):
            image[column] = FAMILY_RGB[get_variant(name).family]
        image[(np.indices((num_columns, num_levels)).sum(axis=0) % 2) == 1] *= 0.88
        return image.repeat(_TEXELS_PER_PATCH, axis=0).repeat(_TEXELS_PER_PATCH, axis=1)


def generate_patch(
    name: str, difficulty: float, seed: int, level: int, patch_m: float
) -> np.ndarray:
    """One patch in units, int16 [n, n].

    The generator is seeded from the variant's name, so a patch does not depend on which
    other variants are in the scene.
    """
    rng = np.random.default_rng([seed, zlib.crc32(name.encode()), level])
    return get_variant(name).function(difficulty, rng, patch_m)


def build_scene(cfg: TerrainSceneCfg) -> TerrainScene:
    """Generate all patches and put them into one grid."""
    num_levels, num_columns = cfg.num_levels, len(cfg.variants)
    if cfg.difficulty is None:
        difficulties = np.linspace(0.0, 1.0, num_levels)
    else:
        difficulties = np.full(num_levels, cfg.difficulty)

    patches = [
        [
            generate_patch(name, float(difficulty), cfg.seed, level, cfg.patch_m)
            for name in cfg.variants
        ]
        for level, difficulty in enumerate(difficulties)
    ]
    border_cells = round(cfg.border_m / CELL_M)
    units = np.pad(np.block(patches), border_cells)
    corner_xy_m = (-units.shape[0] * CELL_M / 2, -units.shape[1] * CELL_M / 2)

    centre = count_cells(cfg.patch_m) // 2
    origins_m = np.empty((num_levels, num_columns, 3))
    origins_m[..., 0] = _centred_positions(num_levels, cfg.patch_m)[:, None]
    origins_m[..., 1] = _centred_positions(num_columns, cfg.patch_m)[None, :]
    origins_m[..., 2] = [[p[centre, centre] * UNIT_M for p in row] for row in patches]
    return TerrainScene(cfg, HeightGrid(units, corner_xy_m), origins_m, difficulties)


def _centred_positions(count: int, spacing_m: float) -> np.ndarray:
    return (np.arange(count) - (count - 1) / 2) * spacing_m


VOID_VARIANTS = ("gap", "stones_aligned", "stones_staggered")
"""Terrain variants whose cells below the ground are holes, not steps down."""


def void_mask(scene: TerrainScene) -> np.ndarray:
    """Which cells of the grid are holes, bool [X, Y]."""
    mask = np.zeros(scene.grid.units.shape, dtype=bool)
    for column, name in enumerate(scene.cfg.variants):
        if name in VOID_VARIANTS:
            for level in range(len(scene.difficulties)):
                cells = scene.patch_cells(level, column)
                mask[cells] = scene.grid.units[cells] < 0
    return mask
