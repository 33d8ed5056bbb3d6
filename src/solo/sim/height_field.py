"""Spheres on height fields: one contact per surface touched, found directly.

MuJoCo treats every cell of a height field under a sphere as two solid prisms and runs
its general convex collision on each. That costs half of a step of the G1 on terrain,
gives one contact per prism touched (1.7 for a foot sphere at rest, 22 for a foot of six
at an impact), and lets prisms push sideways at the edges between them, which are no
edges of the surface.

Here the surface is what it is, a sheet of triangles: the nearest point of each triangle
under the sphere is computed in closed form, and of all nearest points the deepest is
kept, plus those of clearly different direction (a foot that touches a tread and the
riser behind it). It is installed through MuJoCo's own table of collision functions,
``mjCOLLISIONFUNC``, only while the native backend steps.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import mujoco
import numpy as np
from numba import carray, cfunc, njit, types  # pyright: ignore[reportPrivateImportUsage]

from solo.sim import libmujoco
from solo.sim.kernels import pointer

_GEOM_TYPES = int(mujoco.mjtGeom.mjNGEOMTYPES)

# Contacts per pair and how different (cosine between normals) they must be: the floor
# and two walls of a corner. Normals of a smooth slope differ by far less.
_MAX_CONTACTS = 3
_SAME_DIRECTION = 0.8
# A sphere whose centre is below the surface is pushed to the nearest point of it; this
# is how far (m) beyond its radius that point is looked for.
_SEARCH_BELOW_M = 0.05
_TINY = 1e-12


@contextmanager
def direct_contacts(kind: mujoco.mjtGeom, function: int) -> Iterator[None]:
    """Let MuJoCo use ``function`` (an address) for geoms of a kind on height fields.

    The table is one for the process: of several simulations that step at once, the
    last to finish puts MuJoCo's own function back.
    """
    table_type = ctypes.c_void_p * _GEOM_TYPES**2
    table = table_type.in_dll(libmujoco.load_library(), "mjCOLLISIONFUNC")
    index = int(mujoco.mjtGeom.mjGEOM_HFIELD) * _GEOM_TYPES + int(kind)
    with _table_lock:
        if index not in _own_functions:
            _own_functions[index] = table[index]
        _users[index] = _users.get(index, 0) + 1
        table[index] = function
    try:
        yield
    finally:
        with _table_lock:
            _users[index] -= 1
            if not _users[index]:
                table[index] = _own_functions[index]


def direct_sphere_contacts(function: int) -> AbstractContextManager[None]:
    """Let MuJoCo use ``function`` (an address) for spheres on height fields."""
    return direct_contacts(mujoco.mjtGeom.mjGEOM_SPHERE, function)


_table_lock = threading.Lock()
_own_functions: dict[int, int] = {}
_users: dict[int, int] = {}


@njit(nogil=True, cache=True)
def _closest_on_triangle(p: Any, a: Any, b: Any, c: Any, out: Any) -> bool:
    """Write the point of triangle abc nearest to p; tell if it is inside the face.

    Walks the regions in which a corner, an edge or the face is nearest (Ericson,
    Real-Time Collision Detection, section 5.1.5).
    """
    abx, aby, abz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    acx, acy, acz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    apx, apy, apz = p[0] - a[0], p[1] - a[1], p[2] - a[2]
    d1 = abx * apx + aby * apy + abz * apz
    d2 = acx * apx + acy * apy + acz * apz
    bpx, bpy, bpz = p[0] - b[0], p[1] - b[1], p[2] - b[2]
    d3 = abx * bpx + aby * bpy + abz * bpz
    d4 = acx * bpx + acy * bpy + acz * bpz
    cpx, cpy, cpz = p[0] - c[0], p[1] - c[1], p[2] - c[2]
    d5 = abx * cpx + aby * cpy + abz * cpz
    d6 = acx * cpx + acy * cpy + acz * cpz
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    inside = False
    if d1 <= 0.0 and d2 <= 0.0:
        v, w = 0.0, 0.0
    elif d3 >= 0.0 and d4 <= d3:
        v, w = 1.0, 0.0
    elif vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        v, w = d1 / (d1 - d3), 0.0
    elif d6 >= 0.0 and d5 <= d6:
        v, w = 0.0, 1.0
    elif vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        v, w = 0.0, d2 / (d2 - d6)
    elif va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        v = 1.0 - w
    else:
        inside = True
        total = va + vb + vc
        v, w = vb / total, vc / total
    out[0] = a[0] + v * abx + w * acx
    out[1] = a[1] + v * aby + w * acy
    out[2] = a[2] + v * abz + w * acz
    return inside


@njit(nogil=True, cache=True)
def _corners(
    heights: Any, size: Any, num_x: int, num_y: int, i: int, j: int, half: int, out: Any
) -> None:
    """Corners of one of the two triangles of a cell.

    MuJoCo splits a cell from its lowest (x, y) to its highest; half 0 is the triangle
    at the end of the x side, half 1 the one at the end of the y side.
    """
    dx, dy = 2.0 * size[0] / (num_x - 1), 2.0 * size[1] / (num_y - 1)
    for k in range(3):
        # (0, 0), then (1, 0) or (0, 1), then (1, 1).
        ci = i + (k == 2 or (k == 1 and half == 0))
        cj = j + (k == 2 or (k == 1 and half == 1))
        out[k, 0] = ci * dx - size[0]
        out[k, 1] = cj * dy - size[1]
        out[k, 2] = heights[cj * num_x + ci] * size[2]


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
    heights: Any,
    size: Any,
    num_x: int,
    num_y: int,
    contacts: Any,
) -> int:
    """Contacts of a sphere with the surface of a height field, in the field's frame.

    Args:
        centre: Centre of the sphere [3].
        radius: Radius of the sphere.
        margin: Distance below which a contact counts.
        heights: The field's data, scaled to [0, 1], rows along y.
        size: Half extents along x and y, height of a 1 in the data, base.
        num_x: Vertices along x.
        num_y: Vertices along y.
        contacts: To be filled, [3, 7]: signed distance, nearest point, normal.

    Returns:
        Number of contacts.
    """
    dx, dy = 2.0 * size[0] / (num_x - 1), 2.0 * size[1] / (num_y - 1)
    x, y = (centre[0] + size[0]) / dx, (centre[1] + size[1]) / dy
    reach = radius + margin
    if not (-reach < x * dx < 2 * size[0] + reach):
        return 0
    if not (-reach < y * dy < 2 * size[1] + reach):
        return 0
    below = False
    ground = 0.0
    if 0.0 <= x <= num_x - 1 and 0.0 <= y <= num_y - 1:
        i, j = min(int(x), num_x - 2), min(int(y), num_y - 2)
        s, t = x - i, y - j
        h00, h10 = heights[j * num_x + i], heights[j * num_x + i + 1]
        h01, h11 = heights[(j + 1) * num_x + i], heights[(j + 1) * num_x + i + 1]
        if s >= t:
            ground = h00 + s * (h10 - h00) + t * (h11 - h10)
        else:
            ground = h00 + t * (h01 - h00) + s * (h11 - h01)
        ground *= size[2]
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
                _corners(heights, size, num_x, num_y, i, j, half, corners)
                inside = _closest_on_triangle(
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
    return _select(centre, radius, heights, size, num_x, num_y, found[:count], contacts)


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
def _select(
    centre: Any,
    radius: float,
    heights: Any,
    size: Any,
    num_x: int,
    num_y: int,
    found: Any,
    contacts: Any,
) -> int:
    """Keep the nearest point, and others that push in clearly different directions.

    A point on the border of its triangle is the nearest of the surface around it only
    if no triangle that shares the point comes nearer; otherwise it is not a contact
    but the rim of one.
    """
    corners = np.empty((3, 3))
    other = np.empty(3)
    num = 0
    taken = np.zeros(len(found), np.uint8)
    while num < _MAX_CONTACTS:
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
                    _corners(
                        heights,
                        size,
                        num_x,
                        num_y,
                        int(found[k, 4]),
                        int(found[k, 5]),
                        int(found[k, 6]),
                        corners,
                    )
                    _closest_on_triangle(
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


_compiled: list[Any] = []
"""The function for the MuJoCo of this process, which is never released."""


def compile_sphere_contacts(model: mujoco.MjModel, data: mujoco.MjData) -> Any:
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
    at_size, at_rows, at_cols, at_adr, at_heights, at_id, at_radius = of_model.values()
    at_pos, at_mat = libmujoco.pointer_offsets(
        data, ["geom_xpos", "geom_xmat"]
    ).values()

    @cfunc(
        types.int32(
            types.intp, types.intp, types.intp, types.int32, types.int32, types.float64
        )
    )
    def collide(
        model: int, data: int, result: int, field: int, sphere: int, margin: float
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
        radius = carray(pointer(member(model, at_radius) + sphere * 24), 1, np.float64)[
            0
        ]
        field_pos = carray(pointer(member(data, at_pos) + field * 24), 3, np.float64)
        field_mat = carray(pointer(member(data, at_mat) + field * 72), 9, np.float64)
        sphere_pos = carray(pointer(member(data, at_pos) + sphere * 24), 3, np.float64)
        centre = np.empty(3)
        for a in range(3):
            centre[a] = 0.0
            for b in range(3):
                centre[a] += field_mat[3 * b + a] * (sphere_pos[b] - field_pos[b])
        contacts = np.empty((_MAX_CONTACTS, 7))
        num = find_contacts(
            centre, radius, margin, heights, size, num_x, num_y, contacts
        )
        out = carray(pointer(result), (_MAX_CONTACTS, 10), np.float64)
        for n in range(num):
            distance = contacts[n, 0]
            out[n, 0] = distance
            for a in range(3):
                normal = 0.0
                point = field_pos[a]
                for b in range(3):
                    normal += field_mat[3 * a + b] * contacts[n, 4 + b]
                    point += field_mat[3 * a + b] * contacts[n, 1 + b]
                # Halfway between the surface and the sphere.
                out[n, 1 + a] = point + 0.5 * distance * normal
                out[n, 4 + a] = normal
                out[n, 7 + a] = 0.0
        return num

    _compiled.append(collide)
    return collide
