"""Height-grid terrains: families, the 17 variants, the scene, and their MuJoCo form.

`solo.terrains.entity` is imported by name where mjlab is wanted; everything here needs
NumPy only.
"""

from solo.terrains.grid import HeightGrid
from solo.terrains.scene import TerrainScene, TerrainSceneCfg, build_scene
from solo.terrains.variants import VARIANTS, TerrainVariant, get_variant

__all__ = [
    "VARIANTS",
    "HeightGrid",
    "TerrainScene",
    "TerrainSceneCfg",
    "TerrainVariant",
    "build_scene",
    "get_variant",
]
