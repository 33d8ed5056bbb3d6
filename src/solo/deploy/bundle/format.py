"""The file of a policy: an ONNX model whose metadata say what it needs.

An ONNX file is one Protocol Buffers message. Its metadata are entries of the outermost
level, so they can be read and added without a library that knows the format: the rest
of the file is the graph with its weights, and its checksum is in the metadata.

The metadata are two entries of JSON: ``solo.policy``, what a person wants to read, and
``solo.golden``, inputs and outputs to replay. Floats keep all their digits.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from solo.errors import SoloError

FORMAT = "solo-policy"
"""Value of ``format`` in the metadata."""
VERSION = 1
"""Of the metadata; a file of another version is refused."""
OPSET = 18
"""Version of ONNX's operators; onnxruntime 1.20 and TensorRT 10 know it."""
POLICY_KEY = "solo.policy"
GOLDEN_KEY = "solo.golden"

# Fields of ONNX's ModelProto, OperatorSetIdProto and StringStringEntryProto.
_OPSET_IMPORT, _METADATA = 8, 14
_DOMAIN_OR_KEY, _VERSION_OR_VALUE = 1, 2
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True, eq=False)
class ModelFile:
    """An ONNX file taken apart."""

    graph: bytes
    """The file without its metadata; a valid ONNX model itself."""
    metadata: Mapping[str, str]
    """Its metadata."""
    opset: int
    """Version of the standard operators; 0 if none is stated."""

    @property
    def sha256(self) -> str:
        """Checksum of the graph and its weights."""
        return hashlib.sha256(self.graph).hexdigest()


def split_model(data: bytes, name: str) -> ModelFile:
    """Take an ONNX file apart; the name is for messages.

    Raises:
        SoloError: It is not an ONNX file, or not a whole one.
    """
    kept, metadata, opset = [], {}, 0
    try:
        for field, value, start, end in _fields(data):
            if field == _METADATA:
                entry = {f: v for f, v, _, _ in _fields(_as_bytes(value))}
                key = _as_bytes(entry.get(_DOMAIN_OR_KEY, b"")).decode()
                text = _as_bytes(entry.get(_VERSION_OR_VALUE, b"")).decode()
                metadata[key] = text
                continue
            kept.append(data[start:end])
            if field == _OPSET_IMPORT:
                entry = {f: v for f, v, _, _ in _fields(_as_bytes(value))}
                if entry.get(_DOMAIN_OR_KEY, b"") in (b"", b"ai.onnx"):
                    opset = int(entry.get(_VERSION_OR_VALUE, 0))
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise SoloError(
            f"The bundle {name!r} is not a whole ONNX file. Copy it again, or export "
            "it again with `solo export`."
        ) from error
    return ModelFile(b"".join(kept), metadata, opset)


def join_model(graph: bytes, metadata: Mapping[str, str]) -> bytes:
    """An ONNX file from a graph without metadata, and metadata."""
    parts = [graph]
    for key, value in metadata.items():
        entry = _field(_DOMAIN_OR_KEY, key.encode())
        entry += _field(_VERSION_OR_VALUE, value.encode())
        parts.append(_field(_METADATA, entry))
    return b"".join(parts)


def to_json(value: Mapping[str, Any]) -> str:
    """JSON with all digits, always in the same order; no NaN or infinity."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def checksum(value: Mapping[str, Any]) -> str:
    """Checksum of metadata without its own entry ``sha256``."""
    rest = {k: v for k, v in value.items() if k != "sha256"}
    return hashlib.sha256(to_json(rest).encode()).hexdigest()


def pack(array: np.ndarray) -> dict[str, Any]:
    """An array as JSON: shape, type, and compressed numbers."""
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
    data = base64.b64encode(zlib.compress(little.tobytes(), 9)).decode()
    return {"shape": list(array.shape), "dtype": array.dtype.name, "data": data}


def unpack(value: Mapping[str, Any]) -> np.ndarray:
    """The array that `pack` packed."""
    dtype = np.dtype(value["dtype"]).newbyteorder("<")
    raw = zlib.decompress(base64.b64decode(value["data"]))
    return np.frombuffer(raw, dtype).reshape(value["shape"]).astype(value["dtype"])


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes, int, int]]:
    """Number, value, begin and end of each field of a message.

    Raises:
        ValueError: It is no message, or not a whole one.
    """
    position = 0
    while position < len(data):
        start = position
        tag, position = _varint(data, position)
        kind = tag & 7
        if kind == _VARINT:
            value, position = _varint(data, position)
        elif kind == _BYTES:
            size, position = _varint(data, position)
            value, position = data[position : position + size], position + size
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
            value, position = data[position : position + size], position + size
        else:
            raise ValueError("unknown kind of field")
        if position > len(data) or tag >> 3 == 0:
            raise ValueError("truncated")
        yield tag >> 3, value, start, position


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if not byte & 0x80:
            return value, position
        if shift > 63:
            raise ValueError("number too long")


def _field(number: int, value: bytes) -> bytes:
    return _encode(number << 3 | _BYTES) + _encode(len(value)) + value


def _encode(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _as_bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("expected bytes")
    return value
