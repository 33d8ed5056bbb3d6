"""Messages have the robot's layout, checksum and motor order."""

from __future__ import annotations

import numpy as np
import pytest

from solo.deploy.drivers import g1_messages as messages

from .helpers import g1_contract


def crc_bit_by_bit(words, num_bits: int = 32) -> int:
    """The definition: shift every bit of every word, highest first."""
    crc = 0xFFFFFFFF
    for word in words:
        for bit in range(num_bits - 1, -1, -1):
            is_odd = (crc >> 31) ^ (int(word) >> bit & 1)
            crc = (crc << 1) & 0xFFFFFFFF
            if is_odd:
                crc ^= 0x04C11DB7
    return crc


def random_record(dtype: np.dtype, seed: int) -> np.ndarray:
    """A record whose padding is zero and whose floats are finite."""
    rng = np.random.default_rng(seed)
    record = np.zeros((), dtype)

    def fill(part):
        for name in part.dtype.names:
            value = part[name]
            if value.dtype.names:
                fill(value)
            elif value.dtype.kind == "f":
                part[name] = rng.standard_normal(value.shape)
            else:
                part[name] = rng.integers(0, 100, value.shape)

    fill(record)
    return record


def test_records_have_the_size_of_the_robots_structs():
    assert messages.LOW_CMD.itemsize == 1004
    assert messages.LOW_STATE.itemsize == 2092


@pytest.mark.parametrize("dtype", [messages.LOW_CMD, messages.LOW_STATE])
def test_checksum_equals_its_definition(dtype):
    record = random_record(dtype, 1)
    words = np.frombuffer(messages.memory(record)[:-4], "<u4")
    assert messages.crc32(messages.memory(record)) == crc_bit_by_bit(words)
    messages.seal(record)
    assert messages.is_sound(record)


def test_the_definition_is_that_of_the_literature():
    assert crc_bit_by_bit(b"123456789", 8) == 0x0376E6E7  # CRC-32/MPEG-2.


@pytest.mark.parametrize("position", [0, 1, 4, 500, 999])
def test_any_changed_byte_is_noticed(position):
    record = messages.seal(random_record(messages.LOW_CMD, 2))
    data = bytearray(messages.memory(record))
    data[position] ^= 0x10
    assert not messages.is_sound(np.frombuffer(bytes(data), messages.LOW_CMD)[0])


def test_padding_does_not_count():
    record = messages.seal(random_record(messages.LOW_CMD, 2))
    data = bytearray(messages.memory(record))
    data[2] = data[5] = 0xAB  # Before the first motor, and after its mode.
    assert messages.is_sound(np.frombuffer(bytes(data), messages.LOW_CMD)[0])


@pytest.mark.parametrize("dtype", [messages.LOW_CMD, messages.LOW_STATE])
def test_wire_and_memory_are_inverse(dtype):
    record = random_record(dtype, 3)
    wire = messages.to_wire(record)
    assert messages.fits(wire, dtype)
    again = messages.from_wire(wire, dtype)
    assert messages.memory(again) == messages.memory(record)
    assert not messages.fits(b"\x00\x07" + wire[2:], dtype)  # Another encoding.


def test_motor_order_holds_our_joints_and_the_wrists():
    assert len(messages.MOTOR_NAMES) == 29
    ours = g1_contract().joints.names
    rest = [name for name in messages.MOTOR_NAMES if name not in ours]
    assert set(ours) < set(messages.MOTOR_NAMES)
    assert rest == [
        "left_wrist_pitch_joint", "left_wrist_yaw_joint",
        "right_wrist_pitch_joint", "right_wrist_yaw_joint",
    ]  # fmt: skip
    assert messages.MOTOR_NAMES[22] == "right_shoulder_pitch_joint"
