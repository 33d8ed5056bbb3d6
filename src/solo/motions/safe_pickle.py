"""Read pickles of numbers without ever running what is in them.

A pickle is a program: it may call any function it can name. Here it can name only the
few functions with which NumPy describes arrays, and even those are stand-ins of ours
that accept plain numbers and nothing else.
"""

from __future__ import annotations

import io
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from solo.errors import SoloError

_KINDS = "fiub"
"""Kinds of numbers that are allowed: float, int, unsigned, bool."""

_MAX_NUMBERS = 100_000_000
"""Most numbers in an array; an hour of G1 motion at 50 Hz has 6.5 million."""


class _DType:
    """Stand-in for ``numpy.dtype``."""

    def __init__(self, code: object = None, *_: object) -> None:
        if not isinstance(code, str) or len(code) > 4 or code[-1:].isalpha():
            raise pickle.UnpicklingError(f"array of type {str(code)[:40]!r}")
        self.dtype = np.dtype(code)
        if self.dtype.kind not in _KINDS:
            raise pickle.UnpicklingError(f"array of type {code!r}")

    def __setstate__(self, state: object) -> None:
        order = state[1] if isinstance(state, tuple) and len(state) > 1 else None
        if order not in ("<", ">", "=", "|"):
            raise pickle.UnpicklingError(f"byte order {str(order)[:40]!r}")
        self.dtype = self.dtype.newbyteorder(order)


class _Array:
    """Stand-in for ``numpy.ndarray`` while it is being filled."""

    def __init__(self) -> None:
        self.values: np.ndarray | None = None

    def __setstate__(self, state: object) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise pickle.UnpicklingError("an array in an unknown form")
        _, shape, dtype, is_fortran, raw = state
        self.values = _fill(raw, dtype, shape, "F" if is_fortran else "C").values


def _fill(raw: object, dtype: object, shape: object, order: object = "C") -> _Array:
    """Stand-in for ``numpy.core.numeric._frombuffer``."""
    if not isinstance(dtype, _DType) or not isinstance(raw, (bytes, bytearray)):
        raise pickle.UnpicklingError("an array that does not hold plain numbers")
    if not isinstance(shape, tuple) or not all(
        type(n) is int and n >= 0 for n in shape
    ):
        raise pickle.UnpicklingError(f"an array of shape {str(shape)[:40]}")
    count = math.prod(shape)
    if count > _MAX_NUMBERS or count * dtype.dtype.itemsize != len(raw):
        raise pickle.UnpicklingError(f"an array of shape {shape} in {len(raw)} bytes")
    array = _Array()
    values = np.frombuffer(raw, dtype.dtype)
    array.values = values.reshape(shape, order="F" if order == "F" else "C")
    return array


def _reconstruct(*_: object) -> _Array:
    """Stand-in for ``numpy.core.multiarray._reconstruct``."""
    return _Array()


def _scalar(dtype: object, raw: object = b"") -> _Array:
    """Stand-in for ``numpy.core.multiarray.scalar``."""
    return _fill(raw, dtype, ())


def _encode(text: object, encoding: object = "latin1") -> bytes:
    """Stand-in for ``_codecs.encode``, by which old pickles write bytes."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError("bytes in an unknown encoding")
    return text.encode("latin1")


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _DType,
    ("_codecs", "encode"): _encode,
}
for _package in ("numpy.core", "numpy._core"):
    _ALLOWED[f"{_package}.multiarray", "_reconstruct"] = _reconstruct
    _ALLOWED[f"{_package}.multiarray", "scalar"] = _scalar
    _ALLOWED[f"{_package}.numeric", "_frombuffer"] = _fill


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name}")
        return _ALLOWED[module, name]


def load_pickle(path: Path) -> Any:
    """Read containers, strings, numbers and NumPy arrays from a pickle.

    Raises:
        SoloError: The file holds anything else, or is damaged.
    """
    content = path.read_bytes()
    try:
        return _plain(_Unpickler(io.BytesIO(content)).load())
    except SoloError:
        raise
    # A damaged pickle can make the machine that reads it fail in almost any way.
    except Exception as error:
        detail = " ".join(str(error).split())[:120]
        raise SoloError(
            f"{str(path)!r} is damaged or holds more than NumPy arrays, numbers, text "
            f"and containers ({type(error).__name__}: {detail}); nothing in it was "
            "run. Export the motion again as plain NumPy arrays."
        ) from error


def _plain(value: Any) -> Any:
    """Exchange stand-ins for arrays, also inside containers."""
    if isinstance(value, _Array):
        if value.values is None:
            raise pickle.UnpicklingError("an array without values")
        return value.values
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item) for item in value)
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    raise pickle.UnpicklingError(f"an object of type {type(value).__name__}")
