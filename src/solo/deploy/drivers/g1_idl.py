"""The messages of `g1_messages` as types of Cyclone DDS.

The classes describe the types to the middleware, which compares them with the robot's.
Their values stay numpy records: encoding 35 motors field by field in Python takes
0.3 ms per message, at 500 Hz in both directions a third of a core; copying a record
takes microseconds. A test holds both encodings against each other.

Import this module only where Cyclone DDS is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cyclonedds.idl import IdlStruct, make_idl_struct
from cyclonedds.idl.annotations import autoid, final
from cyclonedds.idl.types import array, float32, int16, int32, uint8, uint16, uint32

from solo.deploy.drivers import g1_messages as messages


def _struct(name: str, **fields: Any) -> type[IdlStruct]:
    """An IDL struct of the robot's module, members numbered in order."""
    made = make_idl_struct(name, f"unitree_hg.msg.dds_.{name}_", fields)
    return autoid("sequential")(final(made))


_KINDS = {"u1": uint8, "i2": int16, "u4": uint32, "f4": float32}


def _struct_of(name: str, dtype: np.dtype, **parts: Any) -> type[IdlStruct]:
    """The struct with the fields of a record; ``parts`` are those that are structs."""
    fields: dict[str, Any] = {}
    for field, (kind, *_) in (dtype.fields or {}).items():
        base, shape = kind.subdtype or (kind, ())
        item = parts.get(field) or _KINDS[base.str[1:]]
        fields[field] = array[item, shape[0]] if shape else item
    return _struct(name, **fields)


MotorCmd = _struct_of("MotorCmd", messages.MOTOR_CMD)
LowCmd = _struct_of("LowCmd", messages.LOW_CMD, motor_cmd=MotorCmd)
IMUState = _struct_of("IMUState", messages.IMU_STATE)
MotorState = _struct_of("MotorState", messages.MOTOR_STATE)
LowState = _struct_of(
    "LowState", messages.LOW_STATE, imu_state=IMUState, motor_state=MotorState
)
BmsState = _struct(
    "BmsState",
    version_high=uint8, version_low=uint8, fn=uint8, cell_vol=array[uint16, 40],
    bmsvoltage=array[uint32, 3], current=int32, soc=uint8, soh=uint8,
    temperature=array[int16, 12], cycle=uint16, manufacturer_date=uint16,
    bmsstate=array[uint32, 5], reserve=array[uint32, 3],
)  # fmt: skip
"""The battery; ``soc`` is its charge in per cent."""


class Received:
    """A message that came in: its record, or None if it could not be decoded."""

    def __init__(self, record: Any) -> None:
        self.record = record
        self.sample_info: Any = None  # Set by the middleware.


def _decoder(dtype: np.dtype) -> Any:
    """What a reader calls with the bytes of a message of ours."""

    def decode(data: bytes, *_: Any, **__: Any) -> Received:
        fits = messages.fits(data, dtype)
        return Received(messages.from_wire(data, dtype) if fits else None)

    return staticmethod(decode)


_decode_bms = BmsState.deserialize


def _decode_battery(data: bytes, *args: Any, **named: Any) -> Received:
    return Received(float(_decode_bms(data, *args, **named).soc))  # type: ignore[attr-defined]


# A reader hands the bytes of a message to the ``deserialize`` of its type.
LowCmd.deserialize = _decoder(messages.LOW_CMD)
LowState.deserialize = _decoder(messages.LOW_STATE)
BmsState.deserialize = staticmethod(_decode_battery)  # type: ignore[assignment]


class _Encoded:
    """A message that is encoded already; it can be written again and again."""

    def __init__(self, record: np.ndarray) -> None:
        self._data = messages.to_wire(record)

    def serialize(self, *_: Any, **__: Any) -> bytes:
        """The bytes of the message."""
        return self._data


class EncodedCommand(_Encoded, LowCmd):  # type: ignore[misc, valid-type]
    """A `LowCmd`."""


class EncodedState(_Encoded, LowState):  # type: ignore[misc, valid-type]
    """A `LowState`."""


def battery_message(charge: int) -> Any:
    """A message of the battery with its charge in per cent; the rest is zero."""
    kind: Any = BmsState  # Made while running: a type checker cannot know its fields.
    return kind(
        version_high=0, version_low=0, fn=0, cell_vol=[0] * 40, bmsvoltage=[0] * 3,
        current=0, soc=charge, soh=0, temperature=[0] * 12, cycle=0,
        manufacturer_date=0, bmsstate=[0] * 5, reserve=[0] * 3,
    )  # fmt: skip
