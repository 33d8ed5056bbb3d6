"""The ground around each foot, cut out of the height map by the robot's kinematics.

Where the feet are follows from joint positions and gravity, which are in
proprioception. A network that has to learn this first, and then where on the map that
is, stays blind at its feet for millions of samples. Here each foot gets the heights on
a lattice around it, in its own coordinates: the edge of a stone 12 cm ahead looks the
same wherever the foot is.

Not in the paper. It adds no input: all of it follows from map and proprioception.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn.functional import normalize

from solo.sensors.height_map import HeightMapCfg


@dataclass(frozen=True)
class LegCfg:
    """The joints from the base to a foot, outwards."""

    pos_m: tuple[tuple[float, float, float], ...]
    """Origin of each body in the frame of the one before, metres."""
    rotation: tuple[tuple[tuple[float, float, float], ...], ...]
    """Orientation of each body in the same at zero, 3 x 3."""
    axis: tuple[tuple[float, float, float], ...]
    """Axis of each joint, in its own body."""
    index: tuple[int, ...]
    """Where each joint's offset from the default stands in the vector."""
    default_rad: tuple[float, ...]
    """Default position of each joint."""


@dataclass(frozen=True)
class FootViewCfg:
    """What is seen around the feet."""

    legs: tuple[LegCfg, LegCfg]
    """Left, right."""
    gravity: int = 3
    """First of the three numbers of projected gravity in the vector."""
    lattice: HeightMapCfg = field(
        default_factory=lambda: HeightMapCfg(
            cells=(5, 16), cell_m=0.05, x_range_m=(-0.2, 0.6), y_range_m=(-0.125, 0.125)
        )
    )
    """Places around a foot, along the heading."""
    features: int = 32
    """Size of the description of a foot's surroundings."""

    @staticmethod
    def of(cfg: FootViewCfg | Mapping[str, Any]) -> FootViewCfg:
        """Accept the plain dict that rsl_rl's configs are made of."""
        if isinstance(cfg, FootViewCfg):
            return cfg
        values: dict[str, Any] = dict(cfg)
        values["legs"] = tuple(LegCfg(**leg) for leg in values["legs"])
        if isinstance(lattice := values.get("lattice"), Mapping):
            values["lattice"] = HeightMapCfg.of(lattice)
        return FootViewCfg(**values)


class FootView(nn.Module):
    """Describes the ground around both feet."""

    def __init__(
        self,
        cfg: FootViewCfg,
        window: HeightMapCfg,
        unit_m: float,
        base_height_m: float,
        height_limit_m: float,
    ) -> None:
        """Take kinematics and lattice; the lengths are those of `AmeCfg`."""
        super().__init__()
        self.unit_m, self.cell_m = unit_m, window.cell_m
        self.base_height_m, self.height_limit_m = base_height_m, height_limit_m
        self.gravity = cfg.gravity
        self.num_joints = len(cfg.legs[0].index)
        lattice, cells = cfg.lattice.centres_h(), window.centres_h()
        self.pos: torch.Tensor
        self.rotation: torch.Tensor
        self.skew: torch.Tensor
        self.index: torch.Tensor
        self.default: torch.Tensor
        self.lattice_x: torch.Tensor
        self.lattice_y: torch.Tensor
        self.map_x: torch.Tensor
        self.map_y: torch.Tensor
        constants = {
            "pos": torch.tensor([leg.pos_m for leg in cfg.legs]),  # [2, J, 3]
            "rotation": torch.tensor([leg.rotation for leg in cfg.legs]),
            "skew": torch.stack([_skew(torch.tensor(leg.axis)) for leg in cfg.legs]),
            "index": torch.tensor([leg.index for leg in cfg.legs]).flatten(),
            "default": torch.tensor([leg.default_rad for leg in cfg.legs]),
            "lattice_x": torch.from_numpy(lattice[0, :, 0].copy()).float(),
            "lattice_y": torch.from_numpy(lattice[:, 0, 1].copy()).float(),
            "map_x": torch.from_numpy(cells[0, :, 0].copy()).float(),
            "map_y": torch.from_numpy(cells[:, 0, 1].copy()).float(),
        }
        # They follow from the config, so checkpoints do not carry them.
        for name, value in constants.items():
            self.register_buffer(name, value, persistent=False)
        places = cfg.lattice.cells[0] * cfg.lattice.cells[1]
        self.describe = nn.Sequential(nn.Linear(places + 3, cfg.features), nn.ELU())

    def forward(self, vector: torch.Tensor, height_map: torch.Tensor) -> torch.Tensor:
        """Features [B, 2 * features] of raw vectors [B, D] and maps [B, Y, X]."""
        with torch.no_grad():
            feet = self.feet_h(vector)
            relief = self.relief(feet, height_map)
            seen = torch.cat([relief.flatten(2), feet], dim=2) / self.unit_m
        return self.describe(seen).flatten(1)

    def feet_h(self, vector: torch.Tensor) -> torch.Tensor:
        """Feet from the base [B, 2, 3], metres, in the heading frame."""
        offsets = vector.index_select(1, self.index)
        joints = offsets.unflatten(1, (2, self.num_joints)) + self.default
        sin = joints.sin().unsqueeze(-1).unsqueeze(-1)
        cos = joints.cos().unsqueeze(-1).unsqueeze(-1)
        eye = torch.eye(3, dtype=vector.dtype, device=vector.device)
        turns = eye + sin * self.skew + (1.0 - cos) * (self.skew @ self.skew)
        turns = self.rotation @ turns  # [B, 2, J, 3, 3]
        # The last joint turns the foot about its own origin.
        foot = self.pos[:, self.num_joints - 1].expand(joints.shape[0], 2, 3)
        for passed in range(1, self.num_joints):  # From the foot inwards.
            i = self.num_joints - 1 - passed
            foot = self.pos[:, i] + (turns[:, :, i] @ foot.unsqueeze(-1)).squeeze(-1)
        base = tilt(vector[:, self.gravity : self.gravity + 3])
        return foot @ base.transpose(1, 2)

    def relief(self, feet_h: torch.Tensor, height_map: torch.Tensor) -> torch.Tensor:
        """Heights over flat ground [B, 2, Y', X'] around feet [B, 2, 3], metres.

        Linear between the cells of the map; beyond its rim, the rim's. The lattice has
        the axes of the map, so its rows and columns are weighted apart.
        """
        ground = (height_map + self.base_height_m).clamp(
            -self.height_limit_m, self.height_limit_m
        )
        x, y = feet_h[..., 0:1] + self.lattice_x, feet_h[..., 1:2] + self.lattice_y
        columns = self._weights(x, self.map_x)  # [B, 2, X', X]
        rows = self._weights(y, self.map_y)  # [B, 2, Y', Y]
        return rows @ ground.unsqueeze(1) @ columns.transpose(2, 3)

    def _weights(self, at: torch.Tensor, cells: torch.Tensor) -> torch.Tensor:
        """Weights of cells [N] at places [..., M], both along an axis: [..., M, N]."""
        inside = torch.minimum(torch.maximum(at, cells[0]), cells[-1]).unsqueeze(-1)
        return (1.0 - (inside - cells).abs() / self.cell_m).clamp_min(0.0)


def _skew(axis: torch.Tensor) -> torch.Tensor:
    """Matrices [J, 3, 3] whose product with v is axis x v."""
    x, y, z = axis.unbind(1)
    zero = torch.zeros_like(x)
    rows = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=1)
    return rows.unflatten(1, (3, 3))


def tilt(gravity_b: torch.Tensor) -> torch.Tensor:
    """Rotations base-to-heading [B, 3, 3] from gravity in the base frame [B, 3].

    The heading frame has its z axis up and its x axis below the base's.
    """
    up = normalize(-gravity_b, dim=1, eps=1e-6)
    forward = torch.eye(3, dtype=up.dtype, device=up.device)[0]
    ahead = normalize(forward - up[:, :1] * up, dim=1, eps=1e-6)
    return torch.stack([ahead, torch.linalg.cross(up, ahead), up], dim=1)
