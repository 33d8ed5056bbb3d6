"""Names that several parts of an environment's configuration refer to."""

COMMAND = "twist"
"""The velocity command: vx, vy, wz."""

FEET_CONTACT = "feet_contact"
"""Sensor of both feet against the terrain, with air and contact times."""

BODY_CONTACT = "body_contact"
"""Sensor of every other body that can touch the terrain."""

FALL = "fall"
"""Termination: waist or head touched the terrain."""
