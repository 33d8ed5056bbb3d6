"""The robot's shape as spheres and capsules: collision set and soles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Vec3 = tuple[float, float, float]


@dataclass(frozen=True)
class CollisionGeom:
    """One sphere (``pos`` given) or capsule (``fromto`` given) that can touch terrain.

    Spheres are preferred: against a height field they are the cheapest shape.
    """

    name: str
    """Name of the geom in the model."""
    body: str
    """Body that carries it."""
    radius: float
    """Radius of the sphere or capsule, metres."""
    pos: Vec3 | None = None
    """Centre of the sphere in the body frame, metres."""
    fromto: tuple[Vec3, Vec3] | None = None
    """End points of the capsule's axis in the body frame, metres."""
    condim: int = 1
    """Contact dimension; 1 is frictionless and costs a quarter of 3."""

    def __post_init__(self) -> None:
        if (self.pos is None) == (self.fromto is None):
            raise ValueError(
                f"CollisionGeom {self.name!r} has pos={self.pos} and "
                f"fromto={self.fromto}; give pos for a sphere or fromto for a capsule."
            )
        if self.radius <= 0.0:
            raise ValueError(
                f"CollisionGeom {self.name!r} has radius {self.radius}; it must be "
                "positive, in metres."
            )


@dataclass(frozen=True)
class FootCfg:
    """One foot: a flat sole held up by small spheres.

    A sphere touches the ground straight below its centre, so the points are the
    corners of the support polygon. Points in the middle of the foot carry it when only
    half of the sole is on a step.
    """

    body: str
    """Body that carries the sole."""
    site: str
    """Site at the sole; made at the centre of the points if the model has none."""
    points: Mapping[str, tuple[float, float]]
    """Name of each sphere to its centre (x, y) in the body frame, metres."""
    sole_z: float
    """Height of the sole in the body frame, metres (negative: below the ankle)."""
    radius: float
    """Radius of the spheres, metres; their lowest points lie at ``sole_z``."""

    def geoms(self) -> tuple[CollisionGeom, ...]:
        """The spheres, with friction, in the order of ``points``."""
        return tuple(
            CollisionGeom(
                name=f"{self.body}_sole_{name}",
                body=self.body,
                radius=self.radius,
                pos=(x, y, self.sole_z + self.radius),
                condim=3,
            )
            for name, (x, y) in self.points.items()
        )
