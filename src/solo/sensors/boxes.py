"""Boxes that stand on the ground, as depth cameras and height maps see them."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, eq=False)
class Boxes:
    """K boxes in the world of each of B robots."""

    pos_w: torch.Tensor
    """Centres [B, K, 3], world, metres."""
    rotation_w: torch.Tensor
    """Rotations box-to-world [B, K, 3, 3]; the columns are the box's axes."""
    half_m: torch.Tensor
    """Half of the extents along the box's axes [K, 3], metres; the same for all."""

    def __getitem__(self, robots: slice) -> Boxes:
        """The boxes of some robots."""
        return Boxes(self.pos_w[robots], self.rotation_w[robots], self.half_m)

    def top_w(self, x_w: torch.Tensor, y_w: torch.Tensor) -> torch.Tensor:
        """Height of the highest surface of a box at places [B, N], or minus infinity.

        A vertical line is inside a box between the last pair of faces that it enters
        and the first that it leaves; where it leaves, upwards, is the answer. So it is
        exact for tilted boxes, too.
        """
        xy = torch.stack([x_w, y_w], dim=-1)[:, None]  # [B, 1, N, 2]
        offset = xy - self.pos_w[:, :, None, :2]  # [B, K, N, 2]
        # The line in the box's frame: at height z above the centre, start + z * up.
        start = offset @ self.rotation_w[:, :, :2]  # [B, K, N, 3]
        up = self.rotation_w[:, :, None, 2]  # [B, K, 1, 3]
        up = torch.where(up.abs() < 1e-9, 1e-9, up)
        half = self.half_m[:, None]  # [K, 1, 3]
        a, b = (-half - start) / up, (half - start) / up
        enters = torch.minimum(a, b).amax(dim=-1)  # [B, K, N]
        leaves = torch.maximum(a, b).amin(dim=-1)
        top = self.pos_w[:, :, None, 2] + leaves
        return top.where(enters <= leaves, -torch.inf).amax(dim=1)
