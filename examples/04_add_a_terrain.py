"""Add a terrain and see how the shipped policy walks on it.

python examples/04_add_a_terrain.py
"""

from pathlib import Path

import numpy as np

import solo
from solo.terrains.patch import Parameter, blank_patch, rings_around_platform
from solo.terrains.scene import TerrainSceneCfg, build_scene
from solo.terrains.variants import VARIANTS, TerrainVariant

HEIGHT = Parameter("kerb height", 0.02, 0.20)  # Metres at difficulty 0 and 1.


def kerb(difficulty: float, rng: np.random.Generator, size_m: float) -> np.ndarray:
    """A kerb of 20 cm depth around the platform in the middle, where robots start.

    Returns:
        Heights in units of 5 mm on cells of 5 cm.
    """
    patch = blank_patch(difficulty, size_m)
    rings = rings_around_platform(len(patch))
    patch[(rings >= 8) & (rings < 12)] = HEIGHT.count(difficulty)
    return patch


VARIANTS["kerb"] = TerrainVariant("kerb", "boxes", kerb, (HEIGHT,))


def main() -> None:
    scene = build_scene(TerrainSceneCfg(variants=("flat", "kerb"), num_levels=3))
    print(
        f"grid of {scene.grid.units.shape} cells, up to {scene.grid.units.max()} x 5 mm"
    )

    policy = solo.open_policy(str(solo.shipped_bundle()))
    protocol = solo.Protocol(
        "kerb", terrains=("kerb",), difficulties=(0.0,), rollouts=4
    )
    found = solo.evaluate(protocol, policy, Path("results/kerb"))
    for job in found.cells:
        height_cm = 100 * HEIGHT.at(job.difficulty or 0.0)
        passed, rollouts = job.success.successes, job.success.rollouts
        print(f"kerb of {height_cm:.0f} cm: {passed} of {rollouts} walk 5 m")


if __name__ == "__main__":
    main()
