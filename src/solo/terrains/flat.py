"""Flat ground, the reference that every other family is compared with."""

from __future__ import annotations

import numpy as np

from solo.terrains.patch import blank_patch


def flat(difficulty: float, rng: np.random.Generator, size_m: float) -> np.ndarray:
    """A planar patch at height 0, the same at every difficulty."""
    del rng
    return blank_patch(difficulty, size_m)
