"""Boxes on height fields: few contacts, at the corners and where the ground is higher.

MuJoCo treats every cell of a height field under a box as two solid prisms and stops at
50 contacts. Under a box of 40 x 60 cm there are 800 prisms, so all contacts are at one
end of it: a box that is put down on flat ground tips over at once and is thrown through
the air.

Here a box touches the ground with

- its corners, which are rounded by 1 cm and treated as spheres (``height_field``);
- the point of each edge that is deepest in the ground, if deeper than the edge's ends;
- bulges of the ground in its faces: convex vertices of the field inside the box, of
  which the outermost and the deepest of each face are kept.

On even ground these are the four corners and nothing else.
"""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np
from numba import carray, cfunc, njit, types  # pyright: ignore[reportPrivateImportUsage]

from solo.sim import libmujoco
from solo.sim.height_field import find_contacts
from solo.sim.height_field_bulges import touch_with_faces
from solo.sim.kernels import pointer

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
    heights: Any,
    size: Any,
    num_x: int,
    num_y: int,
    contacts: Any,
) -> int:
    """Contacts of a box with the surface of a height field, in the field's frame.

    Args:
        centre: Centre of the box [3].
        axes: Rotation box-to-field [3, 3].
        half: Half extents [3].
        margin: Distance below which a contact counts.
        heights: The field's data, scaled to [0, 1], rows along y.
        size: Half extents along x and y, height of a 1 in the data, base.
        num_x: Vertices along x.
        num_y: Vertices along y.
        contacts: To be filled, [40, 7]: signed distance, nearest point of the ground,
            normal from the ground to the box.

    Returns:
        Number of contacts.
    """
    dx, dy = 2.0 * size[0] / (num_x - 1), 2.0 * size[1] / (num_y - 1)
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
    num = _touch_with_corners_and_edges(
        centre, axes, half, margin, heights, size, num_x, num_y, contacts
    )
    return touch_with_faces(
        centre, axes, half, heights, size, num_x, num_y, i0, i1, j0, j1,
        contacts[:MAX_CONTACTS], num,
    )  # fmt: skip


@njit(nogil=True, cache=True)
def _ground(
    x: float, y: float, heights: Any, size: Any, num_x: int, num_y: int
) -> float:
    """Height of the field at a place in units of cells; very low outside."""
    if not (0.0 <= x <= num_x - 1 and 0.0 <= y <= num_y - 1):
        return -1e9
    i, j = min(int(x), num_x - 2), min(int(y), num_y - 2)
    s, t = x - i, y - j
    h00, h10 = heights[j * num_x + i], heights[j * num_x + i + 1]
    h01, h11 = heights[(j + 1) * num_x + i], heights[(j + 1) * num_x + i + 1]
    if s >= t:
        return (h00 + s * (h10 - h00) + t * (h11 - h10)) * size[2]
    return (h00 + t * (h01 - h00) + s * (h11 - h01)) * size[2]


@njit(nogil=True, cache=True)
def _touch_with_corners_and_edges(
    centre: Any,
    axes: Any,
    half: Any,
    margin: float,
    heights: Any,
    size: Any,
    num_x: int,
    num_y: int,
    contacts: Any,
) -> int:
    radius = min(_ROUNDING_M, 0.5 * min(half[0], half[1], half[2]))
    dx, dy = 2.0 * size[0] / (num_x - 1), 2.0 * size[1] / (num_y - 1)
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
        places[n, 2] = corners[n, 2] - _ground(x, y, heights, size, num_x, num_y)
        num += find_contacts(
            corners[n], radius, margin, heights, size, num_x, num_y, contacts[num:]
        )
    point = np.empty(3)
    for n in range(8):
        for k in range(3):
            other = n | 1 << k
            if other != n and num + 3 <= MAX_CONTACTS:
                limit = min(places[n, 2], places[other, 2], radius + margin) - _DEEPER_M
                at = _deepest_on_edge(
                    places[n], places[other], corners[n, 2], corners[other, 2],
                    limit, heights, size, num_x, num_y,
                )  # fmt: skip
                if at >= 0.0:
                    for a in range(3):
                        point[a] = corners[n, a] + at * (
                            corners[other, a] - corners[n, a]
                        )
                    num += find_contacts(
                        point, radius, margin, heights, size, num_x, num_y,
                        contacts[num:],
                    )  # fmt: skip
    return num


@njit(nogil=True, cache=True)
def _deepest_on_edge(
    start: Any,
    end: Any,
    start_z: float,
    end_z: float,
    limit: float,
    heights: Any,
    size: Any,
    num_x: int,
    num_y: int,
) -> float:
    """Fraction of the way where an edge is lowest above ground, or -1 if not below.

    Along a straight line the ground folds only where the line crosses a line of the
    lattice or a diagonal, so it is enough to look there.

    Args:
        start: One end: x and y in cells, height above the ground.
        end: The other end.
        start_z: Height of the one end in the field's frame.
        end_z: Height of the other.
        limit: Height above the ground that counts as not below.
        heights: The field's data.
        size: Of the field.
        num_x: Vertices along x.
        num_y: Vertices along y.
    """
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
            above -= _ground(x, y, heights, size, num_x, num_y)
            if above < limit:
                limit, best = above, at
    return best


_compiled: list[Any] = []
"""The function for the MuJoCo of this process, which is never released."""


def compile_box_contacts(model: mujoco.MjModel, data: mujoco.MjData) -> Any:
    """Compile the collision function for this version of MuJoCo's structs.

    Args:
        model: Any model with a height field.
        data: Data of the model.

    Returns:
        A function that MuJoCo can call, at ``result.address``.
    """
    if _compiled:
        return _compiled[0]
    of_model = libmujoco.pointer_offsets(
        model,
        ["hfield_size", "hfield_nrow", "hfield_ncol", "hfield_adr", "hfield_data",
         "geom_dataid", "geom_size"],
    )  # fmt: skip
    at_size, at_rows, at_cols, at_adr, at_heights, at_id, at_half = of_model.values()
    at_pos, at_mat = libmujoco.pointer_offsets(
        data, ["geom_xpos", "geom_xmat"]
    ).values()

    @cfunc(
        types.int32(
            types.intp, types.intp, types.intp, types.int32, types.int32, types.float64
        )
    )
    def collide(
        model: int, data: int, result: int, field: int, box: int, margin: float
    ) -> int:
        def member(struct: int, offset: int) -> int:
            return carray(pointer(struct + offset), 1, np.int64)[0]

        k = carray(pointer(member(model, at_id) + field * 4), 1, np.int32)[0]
        size = carray(pointer(member(model, at_size) + k * 32), 4, np.float64)
        num_y = carray(pointer(member(model, at_rows) + k * 4), 1, np.int32)[0]
        num_x = carray(pointer(member(model, at_cols) + k * 4), 1, np.int32)[0]
        start = carray(pointer(member(model, at_adr) + k * 4), 1, np.int32)[0]
        heights = carray(
            pointer(member(model, at_heights) + np.int64(start) * 4),
            num_x * num_y,
            np.float32,
        )
        half = carray(pointer(member(model, at_half) + box * 24), 3, np.float64)
        field_pos = carray(pointer(member(data, at_pos) + field * 24), 3, np.float64)
        field_mat = carray(pointer(member(data, at_mat) + field * 72), 9, np.float64)
        box_pos = carray(pointer(member(data, at_pos) + box * 24), 3, np.float64)
        box_mat = carray(pointer(member(data, at_mat) + box * 72), 9, np.float64)
        centre, axes = np.zeros(3), np.zeros((3, 3))
        for a in range(3):
            for b in range(3):
                turned = field_mat[3 * b + a]
                centre[a] += turned * (box_pos[b] - field_pos[b])
                for c in range(3):
                    axes[a, c] += turned * box_mat[3 * b + c]
        contacts = np.empty((MAX_CONTACTS, 7))
        num = find_box_contacts(
            centre, axes, half, margin, heights, size, num_x, num_y, contacts
        )
        out = carray(pointer(result), (MAX_CONTACTS, 10), np.float64)
        for n in range(num):
            distance = contacts[n, 0]
            out[n, 0] = distance
            for a in range(3):
                normal = 0.0
                place = field_pos[a]
                for b in range(3):
                    normal += field_mat[3 * a + b] * contacts[n, 4 + b]
                    place += field_mat[3 * a + b] * contacts[n, 1 + b]
                # Halfway between the ground and the box.
                out[n, 1 + a] = place + 0.5 * distance * normal
                out[n, 4 + a] = normal
                out[n, 7 + a] = 0.0
        return num

    _compiled.append(collide)
    return collide
