"""The surface of a height field: two triangles a cell, cut from low to high (x, y)."""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import njit


class Field(NamedTuple):
    """A height field as MuJoCo has it; see `make_field`."""

    heights: Any
    """The data, scaled to [0, 1], rows along y."""
    size: Any
    """Half extents along x and y, height of a 1 in the data, base."""
    num_x: int
    """Vertices along x."""
    num_y: int
    """Vertices along y."""
    dx: float
    """Distance of two vertices along x."""
    dy: float
    """And along y."""


@njit(nogil=True, cache=True)
def make_field(heights: Any, size: Any, num_x: int, num_y: int) -> Field:
    """A field of some data, sizes and counts."""
    dx, dy = 2.0 * size[0] / (num_x - 1), 2.0 * size[1] / (num_y - 1)
    return Field(heights, size, num_x, num_y, dx, dy)


@njit(nogil=True, cache=True)
def closest_on_triangle(p: Any, a: Any, b: Any, c: Any, out: Any) -> bool:
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
def corners_of(field: Field, i: int, j: int, half: int, out: Any) -> None:
    """Corners of one of the two triangles of a cell.

    MuJoCo splits a cell from its lowest (x, y) to its highest; half 0 is the triangle
    at the end of the x side, half 1 the one at the end of the y side.
    """
    for k in range(3):
        # (0, 0), then (1, 0) or (0, 1), then (1, 1).
        ci = i + (k == 2 or (k == 1 and half == 0))
        cj = j + (k == 2 or (k == 1 and half == 1))
        vertex_of(field, ci, cj, out[k])


@njit(nogil=True, cache=True)
def vertex_of(field: Field, i: int, j: int, out: Any) -> None:
    """Place of a vertex in the field's frame."""
    out[0] = i * field.dx - field.size[0]
    out[1] = j * field.dy - field.size[1]
    out[2] = field.heights[j * field.num_x + i] * field.size[2]


@njit(nogil=True, cache=True)
def ground_at(field: Field, x: float, y: float) -> float:
    """Height of the field at a place in units of cells; very low outside."""
    heights, size, num_x, num_y = field.heights, field.size, field.num_x, field.num_y
    if not (0.0 <= x <= num_x - 1 and 0.0 <= y <= num_y - 1):
        return -1e9
    i, j = min(int(x), num_x - 2), min(int(y), num_y - 2)
    s, t = x - i, y - j
    h00, h10 = heights[j * num_x + i], heights[j * num_x + i + 1]
    h01, h11 = heights[(j + 1) * num_x + i], heights[(j + 1) * num_x + i + 1]
    if s >= t:
        return (h00 + s * (h10 - h00) + t * (h11 - h10)) * size[2]
    return (h00 + t * (h01 - h00) + s * (h11 - h01)) * size[2]
