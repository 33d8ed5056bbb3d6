"""SOLO: perceptive humanoid locomotion from one chest depth camera."""

from solo.gl import choose_gl

__version__ = "0.1.0"

choose_gl()
