"""What we need of MuJoCo's C library that its Python bindings do not offer.

Two things, both taken from the installed wheel and nothing compiled by us:

- the addresses of a few C functions, so that native threads can call them without
  the interpreter (the bindings hold the GIL while they convert arguments);
- the byte offsets of some members of ``mjModel`` and ``mjData``. The headers are not
  parsed: a member is found by its value. A pointer member holds the address that the
  bindings report for the array, and a number is found by writing a rare value to it
  through the bindings and looking for its bytes.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np


@functools.cache
def load_library() -> ctypes.CDLL:
    """Load the shared library that the Python bindings themselves use."""
    folder = Path(mujoco.__file__).parent
    pattern = {"darwin": "libmujoco*.dylib", "win32": "mujoco.dll"}.get(
        sys.platform, "libmujoco.so*"
    )
    found = sorted(folder.glob(pattern))
    if not found:
        raise RuntimeError(
            f"No {pattern} in {folder}. Reinstall MuJoCo from its wheel "
            "(`pip install --force-reinstall mujoco`), or use the Warp backend."
        )
    return ctypes.CDLL(str(found[0]))


@functools.cache
def function_address(name: str) -> int:
    """Return the address of a C function of MuJoCo."""
    function = getattr(load_library(), name)
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def pointer_offsets(
    struct: mujoco.MjModel | mujoco.MjData, fields: Sequence[str]
) -> dict[str, int]:
    """Find the byte offset in ``mjModel`` or ``mjData`` of the pointers to arrays.

    The arrays, none of which may be empty, follow each other in one buffer in the order
    of their declaration, so an empty array has the same address as the next one that is
    not empty, and of several members with the same value the last one is meant.
    """
    words = _read(struct._address).view(np.uint64)
    offsets = {}
    for field in fields:
        hits = np.flatnonzero(words == np.uint64(getattr(struct, field).ctypes.data))
        if not len(hits) or not getattr(struct, field).size:
            raise RuntimeError(
                f"No place found for the array {field!r} in a struct of MuJoCo "
                f"{mujoco.__version__}, or the array is empty. Use the Warp backend."
            )
        offsets[field] = int(hits[-1]) * 8
    return offsets


def struct_bytes(address: int) -> int:
    """Return the size of the allocation that holds ``mjModel`` or ``mjData``.

    At least the size of the struct, and all of it may be read. The C allocator is
    asked because neither the bindings nor the library tell the size.
    """
    name = {"linux": "malloc_usable_size", "darwin": "malloc_size"}.get(sys.platform)
    if name is None:
        raise RuntimeError(
            f"The native backend knows the C allocators of Linux and macOS, not of "
            f"{sys.platform!r}. Use the Warp backend."
        )
    function = getattr(ctypes.CDLL(None), name)
    function.restype, function.argtypes = ctypes.c_size_t, [ctypes.c_void_p]
    return function(address)


def mean_inertia_offset(model: mujoco.MjModel) -> int:
    """Find ``mjModel.stat.meaninertia``, which scales the solver's tolerance."""
    return _number_offset(model._address, model.stat, "meaninertia")


def time_offset(data: mujoco.MjData) -> int:
    """Find ``mjData.time``."""
    return _number_offset(data._address, data, "time")


def warning_offset(data: mujoco.MjData) -> int:
    """Find the array ``mjData.warning`` of pairs (lastinfo, number) of int32."""
    count = len(data.warning)
    rare = np.arange(2 * count, dtype=np.int32) + 0x5EED_0000
    kept = [(w.lastinfo, w.number) for w in data.warning]
    for k in range(count):
        data.warning[k].lastinfo, data.warning[k].number = map(
            int, rare[2 * k : 2 * k + 2]
        )
    found = _read(data._address).tobytes().find(rare.tobytes())
    for k, (lastinfo, number) in enumerate(kept):
        data.warning[k].lastinfo, data.warning[k].number = lastinfo, number
    if found < 0:
        raise RuntimeError(
            f"mjData.warning not found in MuJoCo {mujoco.__version__}. "
            "Use the Warp backend."
        )
    return found


def _number_offset(address: int, owner: object, name: str) -> int:
    """Find a float64 member of the struct at an address by writing a rare value."""
    kept, rare = getattr(owner, name), 7.2973525693e-13
    setattr(owner, name, rare)
    hits = np.flatnonzero(_read(address).view(np.float64) == rare)
    setattr(owner, name, kept)
    if len(hits) != 1:
        raise RuntimeError(
            f"Found {len(hits)} places for {name!r} in a struct of MuJoCo "
            f"{mujoco.__version__}, expected 1. Use the Warp backend."
        )
    return int(hits[0]) * 8


def _read(address: int) -> np.ndarray:
    """Copy the bytes of a struct."""
    size = struct_bytes(address) // 8 * 8
    return np.frombuffer(ctypes.string_at(address, size), dtype=np.uint8)
