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

from solo.sim.height_field.sphere import find_contacts
from solo.sim.height_field.triangle import Field, ground_at, vertex_of

_ROUNDING_M = 0.01
MAX_CONTACTS = 40  # MuJoCo has room for 50.
_DEEPER_M = 1e-4
"""An edge touches between its ends only if it is deeper there by more."""
_PER_FACE = 5
_BULGE_M = 1e-5
"""A vertex higher than the middle of two opposite neighbours by more is convex."""
_OUTERMOST = 0.2
"""Largest cosine between a face's push and the way from a vertex to its neighbours: the
vertex is the outermost of them that way, or else ground below pushes sideways."""


@njit(nogil=True, cache=True)
def find_box_contacts(
    centre: Any,
    axes: Any,
    half: Any,
    margin: float,
    field: Field,
    contacts: Any,
) -> int:
    """Number of contacts of a box with the surface, in the field's frame.

    Axes are the rotation box-to-field [3, 3]. What is nearer than the margin is written
    to the contacts [40, 7]: signed distance, nearest point of the ground, normal from
    the ground to the box.
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
    return _touch_with_faces(
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

    Its ends are x and y in cells and the height above the ground; ``limit`` is the
    height that counts as not below. Along a straight line the ground folds only where
    the line crosses a line of the lattice or a diagonal, so it is enough to look there.
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


@njit(nogil=True, cache=True)
def _touch_with_faces(
    centre: Any,
    axes: Any,
    half: Any,
    field: Field,
    i0: int,
    i1: int,
    j0: int,
    j1: int,
    contacts: Any,
    num: int,
) -> int:
    """Add convex vertices in the box: per face the outermost four and the deepest.

    Of the vertices i0 to i1 and j0 to j1, behind the ``num`` contacts that there are
    already; gives the number of all.
    """
    best = np.full((6, _PER_FACE), -1e9)
    chosen = np.full((6, _PER_FACE, 2), -1)
    local, vertex = np.empty(3), np.empty(3)
    for j in range(max(j0, 1), min(j1, field.num_y - 2) + 1):
        for i in range(max(i0, 1), min(i1, field.num_x - 2) + 1):
            if not _is_convex(field, i, j):
                continue
            vertex_of(field, i, j, vertex)
            inside = True
            for k in range(3):
                local[k] = 0.0
                for a in range(3):
                    local[k] += axes[a, k] * (vertex[a] - centre[a])
                inside &= abs(local[k]) < half[k]
            if not inside:
                continue
            face, depth = _face_of(local, axes, half, field, i, j)
            if face < 0:
                continue
            u = local[(face // 2 + 1) % 3] / half[(face // 2 + 1) % 3]
            v = local[(face // 2 + 2) % 3] / half[(face // 2 + 2) % 3]
            for n in range(_PER_FACE):
                value = depth
                if n < 4:
                    value = (u if n & 1 else -u) + (v if n & 2 else -v)
                if value > best[face, n]:
                    best[face, n] = value
                    chosen[face, n, 0], chosen[face, n, 1] = i, j
    for face in range(6):
        for n in range(_PER_FACE):
            i, j = chosen[face, n]
            known = i < 0 or num >= len(contacts)
            for m in range(n):
                known |= chosen[face, m, 0] == i and chosen[face, m, 1] == j
            if known:
                continue
            vertex_of(field, i, j, vertex)
            k, sign = face // 2, 1.0 if face % 2 else -1.0
            along, contact = 0.0, contacts[num]
            for a in range(3):
                along += axes[a, k] * (vertex[a] - centre[a])
                contact[1 + a] = vertex[a]
                contact[4 + a] = -sign * axes[a, k]
            contact[0] = abs(along) - half[k]
            num += 1
    return num


@njit(nogil=True, cache=True)
def _is_convex(field: Field, i: int, j: int) -> bool:
    """Whether the ground falls away from a vertex along x, y or the diagonal."""
    heights, num_x = field.heights, field.num_x
    at = j * num_x + i
    limit = 2.0 * (heights[at] - _BULGE_M / field.size[2])
    return (
        heights[at - 1] + heights[at + 1] < limit
        or heights[at - num_x] + heights[at + num_x] < limit
        or heights[at - num_x - 1] + heights[at + num_x + 1] < limit
    )


@njit(nogil=True, cache=True)
def _face_of(
    local: Any, axes: Any, half: Any, field: Field, i: int, j: int
) -> tuple[int, float]:
    """The nearest face that a vertex can have come in by, and how deep it is."""
    heights, size, num_x, _, dx, dy = field
    best, depth = -1, 1e9
    at = j * num_x + i
    for k in range(3):
        from_face = half[k] - abs(local[k])
        if from_face >= depth:
            continue
        sign = 1.0 if local[k] > 0.0 else -1.0
        outermost = True
        for n in range(6):
            if n < 2:
                step_i, step_j = 2 * n - 1, 0
            elif n < 4:
                step_i, step_j = 0, 2 * n - 5
            else:  # The diagonal that cells are split along.
                step_i, step_j = 2 * n - 9, 2 * n - 9
            x, y = step_i * dx, step_j * dy
            z = (heights[at + step_j * num_x + step_i] - heights[at]) * size[2]
            along = -sign * (x * axes[0, k] + y * axes[1, k] + z * axes[2, k])
            outermost &= along < _OUTERMOST * math.sqrt(x * x + y * y + z * z)
        if outermost:
            best, depth = 2 * k + (1 if sign > 0.0 else 0), from_face
    return best, depth
