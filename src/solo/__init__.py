"""SOLO: perceptive humanoid locomotion from one chest depth camera."""

__version__ = "0.1.0"
