"""Bulges of a height field in the faces of a box (see ``height_field.box``)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from solo.sim.height_field.triangle import Field, vertex_of

_PER_FACE = 5
_BULGE_M = 1e-5
"""A vertex higher than the middle of two opposite neighbours by more is convex."""
_OUTERMOST = 0.2
"""Largest cosine between a face's push and the way from a vertex to its neighbours: the
vertex is the outermost of them that way, or else ground below pushes sideways."""


@njit(nogil=True, cache=True)
def touch_with_faces(
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

    Args:
        centre: Centre of the box in the field's frame [3].
        axes: Rotation box-to-field [3, 3].
        half: Half extents [3].
        field: The height field.
        i0: First vertex along x to look at.
        i1: Last vertex along x.
        j0: First vertex along y.
        j1: Last vertex along y.
        contacts: To be filled, [N, 7]; see ``find_box_contacts``.
        num: Number of contacts there are already.

    Returns:
        Number of contacts.
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
