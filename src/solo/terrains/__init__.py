"""Height-grid terrains: families, the 17 variants, the scene, and their MuJoCo form.

Nothing here needs mjlab or torch; `solo.envs.grid_terrain` makes an mjlab entity of it.
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
