"""The same motion at another frame rate."""

from __future__ import annotations

import numpy as np

from solo.motions import rotations
from solo.motions.clip import MotionClip


def resample(clip: MotionClip, fps: float) -> MotionClip:
    """The same motion at another rate.

    Cubic between frames, so that velocities stay continuous; rotations likewise, along
    the shortest arc. The end is cut to a whole number of new frames, except that a
    looping clip keeps its period and gets the nearest rate that divides it.
    """
    if abs(fps - clip.fps) < 1e-6:
        return clip
    if clip.loops:
        num_frames = max(3, round(clip.duration_s * fps) + 1)
        time = np.linspace(0.0, clip.num_frames - 1, num_frames)
    else:
        num_frames = int(clip.duration_s * fps + 1e-6) + 1
        time = np.arange(num_frames) * clip.fps / fps
    first = np.minimum(time.astype(int), clip.num_frames - 2)
    share = (time - first)[:, None]
    step_s = 1.0 / clip.fps

    quat = clip.root_quat_w
    arc = rotations.to_rotation_vector(
        rotations.multiply(rotations.conjugate(quat[:-1]), quat[1:])
    )[first]
    rate = clip.root_ang_vel_b
    turn = _hermite(
        np.zeros_like(arc), arc, rate[first], rate[first + 1], share, step_s
    )

    def between(value: np.ndarray, rate: np.ndarray) -> np.ndarray:
        after = first + 1
        return _hermite(
            value[first], value[after], rate[first], rate[after], share, step_s
        )

    return MotionClip(
        name=clip.name,
        fps=(num_frames - 1) / clip.duration_s if clip.loops else fps,
        joint_names=clip.joint_names,
        root_pos_w=between(clip.root_pos_w, clip.root_lin_vel_w),
        root_quat_w=rotations.multiply(
            quat[first], rotations.from_rotation_vector(turn)
        ),
        joint_pos=between(clip.joint_pos, clip.joint_vel),
        loops=clip.loops,
    )


def _hermite(
    start: np.ndarray,
    end: np.ndarray,
    start_rate: np.ndarray,
    end_rate: np.ndarray,
    share: np.ndarray,
    step_s: float,
) -> np.ndarray:
    """Cubic through two values with given rates, at ``share`` in [0, 1] between."""
    rest = 1.0 - share
    return (
        start * rest**2 * (1.0 + 2.0 * share)
        + end * share**2 * (1.0 + 2.0 * rest)
        + step_s * share * rest * (start_rate * rest - end_rate * share)
    )
