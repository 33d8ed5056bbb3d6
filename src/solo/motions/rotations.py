"""Unit quaternions (w, x, y, z) as NumPy arrays of shape [..., 4]."""

from __future__ import annotations

import numpy as np


def conjugate(quat: np.ndarray) -> np.ndarray:
    """The inverse rotation."""
    return quat * np.array([1.0, -1.0, -1.0, -1.0])


def multiply(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The rotation that applies ``second``, then ``first``."""
    # Written out: np.cross takes ten times as long on the few rows of a step of the IK.
    w1, x1, y1, z1 = (first[..., i] for i in range(4))
    w2, x2, y2, z2 = (second[..., i] for i in range(4))
    product = (
        w1 * w2 - (x1 * x2 + y1 * y2 + z1 * z2),
        w1 * x2 + w2 * x1 + (y1 * z2 - z1 * y2),
        w1 * y2 + w2 * y1 + (z1 * x2 - x1 * z2),
        w1 * z2 + w2 * z1 + (x1 * y2 - y1 * x2),
    )
    return np.stack(product, axis=-1)


def rotate(quat: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Rotate vectors of shape [..., 3]."""
    twice = 2.0 * np.cross(quat[..., 1:], vector)
    return vector + quat[..., :1] * twice + np.cross(quat[..., 1:], twice)


def from_rotation_vector(vector: np.ndarray) -> np.ndarray:
    """Quaternion of a rotation about ``vector`` by its length, radians."""
    angle = np.linalg.norm(vector, axis=-1, keepdims=True)
    # np.sinc(x) is sin(pi x) / (pi x), exact at 0.
    return np.concatenate(
        [np.cos(angle / 2), 0.5 * np.sinc(angle / (2 * np.pi)) * vector], axis=-1
    )


def to_rotation_vector(quat: np.ndarray) -> np.ndarray:
    """The shortest rotation vector, radians; inverse of `from_rotation_vector`."""
    quat = np.where(quat[..., :1] < 0.0, -quat, quat)
    sine = np.linalg.norm(quat[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, quat[..., :1])
    small = sine < 1e-8
    return quat[..., 1:] * np.where(small, 2.0, angle / np.where(small, 1.0, sine))


def about_axis(axis: int, angle: np.ndarray | float) -> np.ndarray:
    """Rotation about the x (0), y (1) or z (2) axis by an angle, radians."""
    angle = np.asarray(angle, dtype=np.float64)
    quat = np.zeros((*angle.shape, 4))
    quat[..., 0], quat[..., 1 + axis] = np.cos(angle / 2), np.sin(angle / 2)
    return quat


def yaw_of(quat: np.ndarray) -> np.ndarray:
    """Heading: the angle of the rotated x axis about the vertical, radians."""
    w, x, y, z = np.moveaxis(quat, -1, 0)
    return np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def remove_yaw(quat: np.ndarray) -> np.ndarray:
    """The same tilt with the heading turned to +x."""
    return multiply(about_axis(2, -yaw_of(quat)), quat)
