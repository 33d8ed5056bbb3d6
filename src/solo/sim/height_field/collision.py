"""Our own contacts of geoms with height fields, in MuJoCo's table of functions.

MuJoCo keeps a function for each pair of kinds of geom, ``mjCOLLISIONFUNC``. Ours are
there only while the native backend steps. They read MuJoCo's structs where this version
of it has them, work in the height field's frame, and give the contacts back in the
world's.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import mujoco
import numpy as np
from numba import carray, cfunc, types  # pyright: ignore[reportPrivateImportUsage]

from solo.sim import libmujoco
from solo.sim.height_field import box, sphere
from solo.sim.height_field.triangle import make_field
from solo.sim.kernels import pointer

_GEOM_TYPES = int(mujoco.mjtGeom.mjNGEOMTYPES)

_FINDERS = {
    mujoco.mjtGeom.mjGEOM_SPHERE: (
        sphere.find_sphere_contacts,
        sphere.MAX_CONTACTS,
    ),
    mujoco.mjtGeom.mjGEOM_BOX: (box.find_box_contacts, box.MAX_CONTACTS),
}
"""Kind of geom to what finds its contacts, and their largest number.

A finder is compiled by numba: ``find(centre, axes, geom_size, margin, field, contacts)
-> number``, all in the field's frame. Centre [3], axes [3, 3] and size [3] are the
geom's; it fills contacts [N, 7] with signed distance, nearest point of the ground, and
normal away from it.
"""

_table_lock = threading.Lock()
_own_functions: dict[int, int] = {}
_users: dict[int, int] = {}
_compiled: dict[int, Any] = {}
"""Kind to its function for the MuJoCo of this process, which is never released."""


def direct_contacts(
    model: mujoco.MjModel, data: mujoco.MjData, *kinds: mujoco.mjtGeom
) -> Callable[[], AbstractContextManager[None]]:
    """Make a block in which MuJoCo uses our contacts with height fields.

    Args:
        model: Any model with a height field.
        data: Data of the model.
        kinds: Kinds of geom that get them; keys of `_FINDERS`.

    Returns:
        What opens the block; it can be called again and again.
    """
    addresses = {
        int(mujoco.mjtGeom.mjGEOM_HFIELD) * _GEOM_TYPES + int(kind): _compile(
            model, data, kind
        ).address
        for kind in kinds
    }
    return functools.partial(_exchange, addresses)


@contextmanager
def _exchange(addresses: Mapping[int, int]) -> Iterator[None]:
    """Put functions into the table, and MuJoCo's own back.

    The table is one for the process: of several simulations that step at once, the
    last to finish puts them back.
    """
    table_type = ctypes.c_void_p * _GEOM_TYPES**2
    table = table_type.in_dll(libmujoco.load_library(), "mjCOLLISIONFUNC")
    with _table_lock:
        for index, address in addresses.items():
            _own_functions.setdefault(index, table[index])
            _users[index] = _users.get(index, 0) + 1
            table[index] = address
    try:
        yield
    finally:
        with _table_lock:
            for index in addresses:
                _users[index] -= 1
                if not _users[index]:
                    table[index] = _own_functions[index]


def _compile(model: mujoco.MjModel, data: mujoco.MjData, kind: mujoco.mjtGeom) -> Any:
    """A function that MuJoCo can call, for this version of its structs."""
    if int(kind) in _compiled:
        return _compiled[int(kind)]
    find, max_contacts = _FINDERS[kind]
    of_model = libmujoco.pointer_offsets(
        model,
        ["hfield_size", "hfield_nrow", "hfield_ncol", "hfield_adr", "hfield_data",
         "geom_dataid", "geom_size"],
    )  # fmt: skip
    at_size, at_rows, at_cols, at_adr, at_heights, at_id, at_geom = of_model.values()
    at_pos, at_mat = libmujoco.pointer_offsets(
        data, ["geom_xpos", "geom_xmat"]
    ).values()

    @cfunc(
        types.int32(
            types.intp, types.intp, types.intp, types.int32, types.int32, types.float64
        )
    )
    def collide(
        model: int, data: int, result: int, field: int, geom: int, margin: float
    ) -> int:
        def member(struct: int, offset: int) -> int:
            return carray(pointer(struct + offset), 1, np.int64)[0]

        def number(struct: int, offset: int, index: int) -> Any:
            # As Python passes numbers, so that finders are compiled for one type alone.
            address = member(struct, offset) + index * 4
            return np.int64(carray(pointer(address), 1, np.int32)[0])

        k = number(model, at_id, field)
        size = carray(pointer(member(model, at_size) + k * 32), 4, np.float64)
        num_y, num_x = number(model, at_rows, k), number(model, at_cols, k)
        heights = carray(
            pointer(member(model, at_heights) + number(model, at_adr, k) * 4),
            num_x * num_y,
            np.float32,
        )
        geom_size = carray(pointer(member(model, at_geom) + geom * 24), 3, np.float64)
        field_pos = carray(pointer(member(data, at_pos) + field * 24), 3, np.float64)
        field_mat = carray(pointer(member(data, at_mat) + field * 72), 9, np.float64)
        geom_pos = carray(pointer(member(data, at_pos) + geom * 24), 3, np.float64)
        geom_mat = carray(pointer(member(data, at_mat) + geom * 72), 9, np.float64)
        centre, axes = np.zeros(3), np.zeros((3, 3))
        for a in range(3):
            for b in range(3):
                turned = field_mat[3 * b + a]
                centre[a] += turned * (geom_pos[b] - field_pos[b])
                for c in range(3):
                    axes[a, c] += turned * geom_mat[3 * b + c]
        contacts = np.empty((max_contacts, 7))
        ground = make_field(heights, size, num_x, num_y)
        num = find(centre, axes, geom_size, margin, ground, contacts)
        out = carray(pointer(result), (max_contacts, 10), np.float64)
        for n in range(num):
            distance = contacts[n, 0]
            out[n, 0] = distance
            for a in range(3):
                normal = 0.0
                point = field_pos[a]
                for b in range(3):
                    normal += field_mat[3 * a + b] * contacts[n, 4 + b]
                    point += field_mat[3 * a + b] * contacts[n, 1 + b]
                # Halfway between the ground and the geom.
                out[n, 1 + a] = point + 0.5 * distance * normal
                out[n, 4 + a] = normal
                out[n, 7 + a] = 0.0
        return num

    _compiled[int(kind)] = collide
    return collide
