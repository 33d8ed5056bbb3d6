"""The low-level messages of a Unitree G1 as memory: layout, checksum, joint order.

The robot's programs are in C, and the checksum is taken over their structs, so the
records here have the same layout, byte for byte. Facts are from the vendor's public
SDK: 35 motor slots of which a G1 with 29 joints uses the first 29, command mode 0 for
pitch and roll (1 would drive the two motors of an ankle directly), and the machine's
own mode, which every command must repeat.
"""

from __future__ import annotations

import zlib

import numpy as np

from solo.deploy.drivers.protocols import RobotHealth

NUM_SLOTS = 35
"""Motor slots in a message."""

MODE_PR = 0
"""Ankles and waist as pitch and roll joints."""

MODE_MACHINE_29 = 5
"""What a G1 with 29 joints and a free waist reports; others report other numbers."""

# Left or middle joint to lowest and highest position (rad), speed (rad/s), torque (Nm).
_LEG = {
    "hip_pitch": (-2.5307, 2.8798, 32.0, 88.0),
    "hip_roll": (-0.5236, 2.9671, 20.0, 139.0),
    "hip_yaw": (-2.7576, 2.7576, 32.0, 88.0),
    "knee": (-0.087267, 2.8798, 20.0, 139.0),
    "ankle_pitch": (-0.87267, 0.5236, 37.0, 50.0),
    "ankle_roll": (-0.2618, 0.2618, 37.0, 50.0),
}
_WAIST = {
    "waist_yaw_joint": (-2.618, 2.618, 32.0, 88.0),
    "waist_roll_joint": (-0.52, 0.52, 37.0, 50.0),
    "waist_pitch_joint": (-0.52, 0.52, 37.0, 50.0),
}
_ARM = {
    "shoulder_pitch": (-3.0892, 2.6704, 37.0, 25.0),
    "shoulder_roll": (-1.5882, 2.2515, 37.0, 25.0),
    "shoulder_yaw": (-2.618, 2.618, 37.0, 25.0),
    "elbow": (-1.0472, 2.0944, 37.0, 25.0),
    "wrist_roll": (-1.97222, 1.97222, 37.0, 25.0),
    "wrist_pitch": (-1.61443, 1.61443, 22.0, 5.0),
    "wrist_yaw": (-1.61443, 1.61443, 22.0, 5.0),
}

Limits = tuple[float, float, float, float]
"""Lowest and highest position (rad), largest speed (rad/s) and torque (Nm)."""


def _both_sides(joints: dict[str, Limits]) -> dict[str, Limits]:
    """Left, then right; roll and yaw turn the other way on the right."""
    left = {f"left_{name}_joint": limits for name, limits in joints.items()}
    right = {}
    for name, (low, high, *rest) in joints.items():
        is_turned = name.endswith(("_roll", "_yaw"))
        ends = (-high, -low) if is_turned else (low, high)
        right[f"right_{name}_joint"] = (*ends, *rest)
    return left | right


MOTOR_LIMITS: dict[str, Limits] = _both_sides(_LEG) | _WAIST | _both_sides(_ARM)
"""Joint of each motor slot, 29 of 35, in order, to its limits.

Positions are those of the vendor's developer guide (G1, joint order and limits); speeds
and torques those of the robot's public model.
"""

MOTOR_NAMES = tuple(MOTOR_LIMITS)
"""Joint of each motor slot, 29 of 35."""

MOTOR_CMD = np.dtype(
    [
        ("mode", "u1"),
        ("q", "<f4"),
        ("dq", "<f4"),
        ("tau", "<f4"),
        ("kp", "<f4"),
        ("kd", "<f4"),
        ("reserve", "<u4"),
    ],
    align=True,
)

LOW_CMD = np.dtype(
    [
        ("mode_pr", "u1"),
        ("mode_machine", "u1"),
        ("motor_cmd", MOTOR_CMD, NUM_SLOTS),
        ("reserve", "<u4", 4),
        ("crc", "<u4"),
    ],
    align=True,
)
"""A command to all motors: 1004 bytes, q in rad, dq rad/s, tau Nm."""

IMU_STATE = np.dtype(
    [
        ("quaternion", "<f4", 4),
        ("gyroscope", "<f4", 3),
        ("accelerometer", "<f4", 3),
        ("rpy", "<f4", 3),
        ("temperature", "<i2"),
    ],
    align=True,
)
"""Pelvis: wxyz, rad/s, m/s^2 and rad in the pelvis' frame."""

MOTOR_STATE = np.dtype(
    [
        ("mode", "u1"),
        ("q", "<f4"),
        ("dq", "<f4"),
        ("ddq", "<f4"),
        ("tau_est", "<f4"),
        ("temperature", "<i2", 2),
        ("vol", "<f4"),
        ("sensor", "<u4", 2),
        ("motorstate", "<u4"),
        ("reserve", "<u4", 4),
    ],
    align=True,
)

LOW_STATE = np.dtype(
    [
        ("version", "<u4", 2),
        ("mode_pr", "u1"),
        ("mode_machine", "u1"),
        ("tick", "<u4"),
        ("imu_state", IMU_STATE),
        ("motor_state", MOTOR_STATE, NUM_SLOTS),
        ("wireless_remote", "u1", 40),
        ("reserve", "<u4", 4),
        ("crc", "<u4"),
    ],
    align=True,
)
"""What the robot measures: 2092 bytes."""


def read_health(record: np.ndarray, battery: float) -> RobotHealth:
    """What a `LOW_STATE` says about the robot's own condition.

    The charge of the battery, per cent, comes in another message.
    """
    motors = record["motor_state"][: len(MOTOR_NAMES)]
    return RobotHealth(
        clock_ms=int(record["tick"]),
        motors=MOTOR_NAMES,
        errors=motors["motorstate"],
        casing_c=motors["temperature"][:, 0],
        winding_c=motors["temperature"][:, 1],
        voltage=motors["vol"],
        battery=battery,
    )


def _mask(dtype: np.dtype) -> np.ndarray:
    """255 for each byte of a record that belongs to a field, 0 for padding."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.tile(_mask(base), int(np.prod(shape)))
    mask = np.zeros(dtype.itemsize, dtype=np.uint8)
    if dtype.fields is None:
        return ~mask
    for part, offset, *_ in dtype.fields.values():
        mask[offset : offset + part.itemsize] = _mask(part)
    return mask


_MASKS = {dtype: _mask(dtype) for dtype in (LOW_CMD, LOW_STATE)}


def memory(record: np.ndarray) -> bytes:
    """The bytes of a record. Padding is zero, which numpy does not promise."""
    values = np.frombuffer(record.tobytes(), dtype=np.uint8)
    return (values & _MASKS[record.dtype]).tobytes()


_REVERSED_BITS = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def crc32(data: bytes) -> int:
    """Checksum of a record without its last four bytes, which hold the checksum.

    Polynomial 0x04C11DB7 over 32-bit words, highest bit first, starting from all ones
    and without a final inversion. zlib has the same polynomial with the lowest bit
    first, so bits are reversed on the way in and out.
    """
    words = np.frombuffer(data[:-4], dtype="<u4").byteswap().tobytes()
    reflected = zlib.crc32(words.translate(_REVERSED_BITS)) ^ 0xFFFFFFFF
    return int(f"{reflected:032b}"[::-1], 2)


def seal(record: np.ndarray) -> np.ndarray:
    """Write the checksum into a record; returns it."""
    record["crc"] = crc32(memory(record))
    return record


def is_sound(record: np.ndarray) -> bool:
    """Whether the checksum fits the rest of the record."""
    return int(record["crc"]) == crc32(memory(record))


_MODES = {LOW_CMD: (2, 4), LOW_STATE: (70, 72)}
"""Where the mode of the first motor is on the wire and in memory, in bytes.

In memory a motor begins at a multiple of four bytes. On the wire a byte needs no
alignment, so the mode of the first motor directly follows what comes before it: the
machine's mode in a command, the temperature of the IMU in a state. Nothing else
differs.
"""

CDR_HEADER = b"\x00\x01\x00\x00"
"""Plain encoding, little endian."""


def to_wire(record: np.ndarray) -> bytes:
    """Encode a `LOW_CMD` or `LOW_STATE`."""
    data, (wire, inside) = memory(record), _MODES[record.dtype]
    mode = data[inside : inside + 1]
    return CDR_HEADER + data[:wire] + mode + b"\x00" + data[inside + 4 :]


def from_wire(data: bytes, dtype: np.dtype) -> np.ndarray:
    """Decode a `LOW_CMD` or `LOW_STATE`; see `fits`."""
    data, (wire, inside) = data[4:], _MODES[dtype]
    mode, gap = data[wire : wire + 1], bytes(inside - wire)
    padded = data[:wire] + gap + mode + bytes(3) + data[inside:]
    return np.frombuffer(padded, dtype, count=1)[0]


def fits(data: bytes, dtype: np.dtype) -> bool:
    """Whether data on the wire is such a record in the plain encoding."""
    return data[:2] == CDR_HEADER[:2] and len(data) >= dtype.itemsize
