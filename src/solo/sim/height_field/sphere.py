"""Spheres on height fields: one contact per surface touched, found directly.

MuJoCo treats every cell of a height field under a sphere as two solid prisms and runs
its general convex collision on each. That costs half of a step of the G1 on terrain,
gives one contact per prism touched (1.7 for a foot sphere at rest, 22 for a foot of six
at an impact), and lets prisms push sideways at the edges between them, which are no
edges of the surface.

Here the surface is what it is, a sheet of triangles: the nearest point of each triangle
under the sphere is computed in closed form, and of all nearest points the deepest is
kept, plus those of clearly different direction (a foot that touches a tread and the
riser behind it).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from solo.sim.height_field.triangle import (
    Field,
    closest_on_triangle,
    corners_of,
    ground_at,
)

# Contacts per pair and how different (cosine between normals) they must be: the floor
# and two walls of a corner. Normals of a smooth slope differ by far less.
MAX_CONTACTS = 3
_SAME_DIRECTION = 0.8
# A sphere whose centre is below the surface is pushed to the nearest point of it; this
# is how far (m) beyond its radius that point is looked for.
_SEARCH_BELOW_M = 0.05
_TINY = 1e-12


@njit(nogil=True, cache=True)
def _cells_within(x: float, reach: float, num: int) -> tuple[int, int]:
    """First and last cell around a place, all in units of cells."""
    first = min(max(math.floor(x - reach), 0), num - 2)
    last = min(max(math.floor(x + reach), 0), num - 2)
    return first, last


@njit(nogil=True, cache=True)
def find_contacts(
    centre: Any,
    radius: float,
    margin: float,
    field: Field,
    contacts: Any,
) -> int:
    """Number of contacts of a sphere with the surface, in the field's frame.

    What is nearer than the margin is written to the contacts [3, 7]: signed distance,
    nearest point, normal.
    """
    heights, size, num_x, num_y, dx, dy = field
    x, y = (centre[0] + size[0]) / dx, (centre[1] + size[1]) / dy
    reach = radius + margin
    if not (-reach < x * dx < 2 * size[0] + reach):
        return 0
    if not (-reach < y * dy < 2 * size[1] + reach):
        return 0
    ground = ground_at(field, x, y)
    below = -size[3] < centre[2] < ground
    if below:
        reach += _SEARCH_BELOW_M
    i0, i1 = _cells_within(x, reach / dx, num_x)
    j0, j1 = _cells_within(y, reach / dy, num_y)
    top = heights[j0 * num_x + i0]
    for j in range(j0, j1 + 2):
        for i in range(i0, i1 + 2):
            top = max(top, heights[j * num_x + i])
    above = centre[2] - top * size[2]
    if above > reach:
        return 0
    if above > 0.0:
        # No surface is higher than that, so it is met within a smaller circle.
        circle = math.sqrt(reach * reach - above * above)
        i0, i1 = _cells_within(x, circle / dx, num_x)
        j0, j1 = _cells_within(y, circle / dy, num_y)

    found = np.empty((2 * (i1 - i0 + 1) * (j1 - j0 + 1), 8))
    corners = np.empty((3, 3))
    count = 0
    for j in range(j0, j1 + 1):
        for i in range(i0, i1 + 1):
            for half in range(2):
                row = found[count]
                corners_of(field, i, j, half, corners)
                inside = closest_on_triangle(
                    centre, corners[0], corners[1], corners[2], row[1:4]
                )
                ex, ey, ez = centre[0] - row[1], centre[1] - row[2], centre[2] - row[3]
                row[0] = math.sqrt(ex * ex + ey * ey + ez * ez)
                row[4], row[5], row[6] = i, j, half
                row[7] = 1.0 if inside else 0.0
                if row[0] < reach:
                    count += 1

    if below and count == 0:  # Deeper than is searched: straight up.
        contact = contacts[0]
        contact[0] = centre[2] - ground - radius
        contact[1], contact[2], contact[3] = centre[0], centre[1], ground
        contact[4], contact[5], contact[6] = 0.0, 0.0, 1.0
        return 1
    if below:
        return _push_out(centre, radius, found[:count], contacts)
    return _select(centre, radius, field, found[:count], contacts)


@njit(nogil=True, cache=True)
def _push_out(centre: Any, radius: float, found: Any, contacts: Any) -> int:
    """One contact that leads a sphere whose centre is below the surface out of it."""
    best = 0
    for k in range(len(found)):
        if found[k, 0] < found[best, 0]:
            best = k
    row, contact = found[best], contacts[0]
    contact[0] = -row[0] - radius
    contact[1], contact[2], contact[3] = row[1], row[2], row[3]
    if row[0] > _TINY:
        for k in range(3):
            contact[4 + k] = (row[1 + k] - centre[k]) / row[0]
    else:
        contact[4], contact[5], contact[6] = 0.0, 0.0, 1.0
    return 1


@njit(nogil=True, cache=True)
def _select(centre: Any, radius: float, field: Field, found: Any, contacts: Any) -> int:
    """Keep the nearest point, and others that push in clearly different directions.

    A point on the border of its triangle is the nearest of the surface around it only
    if no triangle that shares the point comes nearer; otherwise it is not a contact
    but the rim of one.
    """
    corners = np.empty((3, 3))
    other = np.empty(3)
    num = 0
    taken = np.zeros(len(found), np.uint8)
    while num < MAX_CONTACTS:
        best = -1
        for k in range(len(found)):
            if not taken[k] and (best < 0 or found[k, 0] < found[best, 0]):
                best = k
        if best < 0:
            break
        taken[best] = 1
        row = found[best]
        if row[0] < _TINY:
            nx, ny, nz = 0.0, 0.0, 1.0
        else:
            nx = (centre[0] - row[1]) / row[0]
            ny = (centre[1] - row[2]) / row[0]
            nz = (centre[2] - row[3]) / row[0]
        keep = True
        for k in range(num):
            c = contacts[k]
            keep &= nx * c[4] + ny * c[5] + nz * c[6] < _SAME_DIRECTION
        if keep and row[7] == 0.0:
            for k in range(len(found)):
                if found[k, 0] < row[0] - 1e-9:
                    i, j, half = int(found[k, 4]), int(found[k, 5]), int(found[k, 6])
                    corners_of(field, i, j, half, corners)
                    closest_on_triangle(
                        row[1:4], corners[0], corners[1], corners[2], other
                    )
                    gap = (
                        abs(other[0] - row[1])
                        + abs(other[1] - row[2])
                        + abs(other[2] - row[3])
                    )
                    keep &= gap > 1e-7
        if keep:
            c = contacts[num]
            c[0] = row[0] - radius
            c[1], c[2], c[3] = row[1], row[2], row[3]
            c[4], c[5], c[6] = nx, ny, nz
            num += 1
    return num


@njit(nogil=True, cache=True)
def find_sphere_contacts(
    centre: Any,
    axes: Any,
    geom_size: Any,
    margin: float,
    field: Field,
    contacts: Any,
) -> int:
    """`find_contacts` as `solo.sim.height_field.collision` calls it."""
    return find_contacts(centre, geom_size[0], margin, field, contacts)
