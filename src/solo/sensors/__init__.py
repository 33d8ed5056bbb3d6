"""What the robot senses of the terrain."""

from solo.sensors.height_map import HeightMap

__all__ = ["HeightMap"]
