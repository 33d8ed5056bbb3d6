"""Boxes on height fields: few contacts, at the corners and where the ground is higher.

MuJoCo treats every cell of a height field under a box as two solid prisms and stops at
50 contacts. Under a box of 40 x 60 cm there are 800 prisms, so all contacts are at one
end of it: a box that is put down on flat ground tips over at once and is thrown through
the air.

Here a box touches the ground with

- its corners, rounded by 1 cm and treated as spheres (``height_field.sphere``);
- the point of each edge that is deepest in the ground, if deeper than the edge's ends;
- bulges of the ground in its faces: convex vertices of the field inside the box, of
  which the outermost and the deepest of each face are kept.

On even ground these are the four corners and nothing else.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from solo.sim.height_field.bulges import touch_with_faces
from solo.sim.height_field.sphere import find_contacts
from solo.sim.height_field.triangle import Field, ground_at

_ROUNDING_M = 0.01
MAX_CONTACTS = 40  # MuJoCo has room for 50.
_DEEPER_M = 1e-4
"""An edge touches between its ends only if it is deeper there by more."""


@njit(nogil=True, cache=True)
def find_box_contacts(
    centre: Any,
    axes: Any,
    half: Any,
    margin: float,
    field: Field,
    contacts: Any,
) -> int:
    """Contacts of a box with the surface of a height field, in the field's frame.

    Args:
        centre: Centre of the box [3].
        axes: Rotation box-to-field [3, 3].
        half: Half extents [3].
        margin: Distance below which a contact counts.
        field: The height field.
        contacts: To be filled, [40, 7]: signed distance, nearest point of the ground,
            normal from the ground to the box.

    Returns:
        Number of contacts.
    """
    heights, size, num_x, num_y, dx, dy = field
    reach = np.empty(3)
    for a in range(3):
        reach[a] = margin
        for k in range(3):
            reach[a] += abs(axes[a, k]) * half[k]
    x, y = (centre[0] + size[0]) / dx, (centre[1] + size[1]) / dy
    i0, i1 = math.floor(x - reach[0] / dx), math.floor(x + reach[0] / dx) + 1
    j0, j1 = math.floor(y - reach[1] / dy), math.floor(y + reach[1] / dy) + 1
    if i1 < 0 or j1 < 0 or i0 >= num_x or j0 >= num_y:
        return 0
    i0, i1 = max(i0, 0), min(i1, num_x - 1)
    j0, j1 = max(j0, 0), min(j1, num_y - 1)
    top = 0.0
    for j in range(j0, j1 + 1):
        for i in range(i0, i1 + 1):
            top = max(top, heights[j * num_x + i])
    if centre[2] - reach[2] > top * size[2]:
        return 0
    num = _touch_with_corners_and_edges(centre, axes, half, margin, field, contacts)
    return touch_with_faces(
        centre, axes, half, field, i0, i1, j0, j1, contacts[:MAX_CONTACTS], num
    )


@njit(nogil=True, cache=True)
def _touch_with_corners_and_edges(
    centre: Any, axes: Any, half: Any, margin: float, field: Field, contacts: Any
) -> int:
    radius = min(_ROUNDING_M, 0.5 * min(half[0], half[1], half[2]))
    size, dx, dy = field.size, field.dx, field.dy
    corners = np.empty((8, 3))
    # The same in cells along x and y, and the height above the ground.
    places = np.empty((8, 3))
    num = 0
    for n in range(8):
        for a in range(3):
            corners[n, a] = centre[a]
            for k in range(3):
                sign = 1.0 if n >> k & 1 else -1.0
                corners[n, a] += sign * axes[a, k] * (half[k] - radius)
        x, y = (corners[n, 0] + size[0]) / dx, (corners[n, 1] + size[1]) / dy
        places[n, 0], places[n, 1] = x, y
        places[n, 2] = corners[n, 2] - ground_at(field, x, y)
        num += find_contacts(corners[n], radius, margin, field, contacts[num:])
    point = np.empty(3)
    for n in range(8):
        for k in range(3):
            other = n | 1 << k
            if other != n and num + 3 <= MAX_CONTACTS:
                limit = min(places[n, 2], places[other, 2], radius + margin) - _DEEPER_M
                ends_z = corners[n, 2], corners[other, 2]
                at = _deepest_on_edge(places[n], places[other], ends_z, limit, field)
                if at >= 0.0:
                    for a in range(3):
                        point[a] = corners[n, a] + at * (
                            corners[other, a] - corners[n, a]
                        )
                    num += find_contacts(point, radius, margin, field, contacts[num:])
    return num


@njit(nogil=True, cache=True)
def _deepest_on_edge(
    start: Any, end: Any, ends_z: tuple[float, float], limit: float, field: Field
) -> float:
    """Fraction of the way where an edge is lowest above ground, or -1 if not below.

    Along a straight line the ground folds only where the line crosses a line of the
    lattice or a diagonal, so it is enough to look there.

    Args:
        start: One end: x and y in cells, height above the ground.
        end: The other end.
        ends_z: Heights of both in the field's frame.
        limit: Height above the ground that counts as not below.
        field: The height field.
    """
    start_z, end_z = ends_z
    best = -1.0
    for kind in range(3):
        if kind == 2:
            a, b = start[0] - start[1], end[0] - end[1]
        else:
            a, b = start[kind], end[kind]
        if abs(b - a) < 1e-9:
            continue
        for line in range(math.ceil(min(a, b)), math.floor(max(a, b)) + 1):
            at = (line - a) / (b - a)
            x = start[0] + at * (end[0] - start[0])
            y = start[1] + at * (end[1] - start[1])
            above = start_z + at * (end_z - start_z)
            above -= ground_at(field, x, y)
            if above < limit:
                limit, best = above, at
    return best
