"""One reference motion: the base and the policy joints over time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from solo.errors import SoloError
from solo.motions import rotations

_UNIT_TOLERANCE = 1e-2
"""How far the norm of a quaternion may be from 1; files carry few decimals."""

_MAX_VALUE = 1e3
"""Positions and angles beyond this are taken for damage, not for motion."""

CONTROL_HZ = 50.0
"""Rate of the policy: of synthesised clips and of the discriminator's transitions."""

_MEAN_S = 1.0
"""Time over which the velocity of a clip that does not loop is averaged."""


@dataclass(frozen=True, eq=False)
class MotionClip:
    """Frames at a fixed rate, and the velocities that follow from them.

    A looping clip is one period: its last frame is its first one again, moved over the
    ground and turned about the vertical. So a clip of T frames always lasts
    (T - 1) / fps seconds and has T - 1 transitions.
    """

    name: str
    """What the clip shows, such as ``walk_forward_0.50``."""
    fps: float
    """Frames per second."""
    joint_names: tuple[str, ...]
    """Joints in the order of the columns of ``joint_pos``."""
    root_pos_w: np.ndarray
    """Position of the base, [T, 3], metres, world frame, ground at z = 0."""
    root_quat_w: np.ndarray
    """Rotation base to world (w, x, y, z), [T, 4]."""
    joint_pos: np.ndarray
    """Joint positions, [T, J], radians."""
    loops: bool = False
    """Whether the clip is one period of an endless motion."""
    joint_vel: np.ndarray = field(init=False)
    """Joint velocities, [T, J], rad/s: central differences, as the next two."""
    root_lin_vel_w: np.ndarray = field(init=False)
    """Velocity of the base, [T, 3], m/s, world frame."""
    root_ang_vel_b: np.ndarray = field(init=False)
    """Angular velocity of the base, [T, 3], rad/s, base frame."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.fps) and 1.0 <= self.fps <= 1000.0):
            raise SoloError(
                f"Motion {self.name!r} has {self.fps} frames per second; allowed are "
                "1 to 1000. Correct the rate."
            )
        num_frames = len(np.atleast_1d(self.root_pos_w))
        num_joints = len(self.joint_names)
        for what, width in (
            ("root_pos_w", 3),
            ("root_quat_w", 4),
            ("joint_pos", num_joints),
        ):
            values = self._checked(what, (num_frames, width))
            object.__setattr__(self, what, values)
        if num_frames < 3:
            raise SoloError(
                f"Motion {self.name!r} has {num_frames} frames; velocities need at "
                "least 3. Give a longer clip."
            )
        self._normalise()
        self._differentiate()

    @property
    def num_frames(self) -> int:
        """Number of frames T."""
        return len(self.root_pos_w)

    @property
    def duration_s(self) -> float:
        """Time from the first frame to the last."""
        return (self.num_frames - 1) / self.fps

    @property
    def qpos(self) -> np.ndarray:
        """MuJoCo's positions of a robot with these joints alone, [T, 7 + J]."""
        return np.concatenate(
            [self.root_pos_w, self.root_quat_w, self.joint_pos], axis=1
        )

    @property
    def root_lin_vel_b(self) -> np.ndarray:
        """Velocity of the base in the base frame, [T, 3], m/s."""
        inverse = rotations.conjugate(self.root_quat_w)
        return rotations.rotate(inverse, self.root_lin_vel_w)

    @property
    def root_lin_vel_h(self) -> np.ndarray:
        """Velocity of the base in the heading frame, [T, 3], m/s."""
        turn = rotations.about_axis(2, -rotations.yaw_of(self.root_quat_w))
        return rotations.rotate(turn, self.root_lin_vel_w)

    @property
    def projected_gravity_b(self) -> np.ndarray:
        """Unit vector of gravity in the base frame, [T, 3]."""
        inverse = rotations.conjugate(self.root_quat_w)
        return rotations.rotate(inverse, np.array([0.0, 0.0, -1.0]))

    def extended_qpos(self, num_frames: int = 1) -> np.ndarray:
        """``qpos`` with the neighbours of both ends: [T + 2 * num_frames, 7 + J].

        The neighbours of a looping clip come from the periods before and after. Any
        other clip is continued at the rate of its first and last step.
        """
        qpos = self.qpos
        if not self.loops:
            before = [_continue(qpos, -k) for k in range(num_frames, 0, -1)]
            after = [_continue(qpos[::-1], -k) for k in range(1, num_frames + 1)]
            return np.concatenate([before, qpos, after])
        period = self.num_frames - 1
        index = np.arange(-num_frames, self.num_frames + num_frames)
        extended = qpos[index % period]
        turn = rotations.yaw_of(qpos[-1, 3:7]) - rotations.yaw_of(qpos[0, 3:7])
        step = rotations.about_axis(2, turn)
        origin, target = qpos[0, :3] * [1, 1, 0], qpos[-1, :3] * [1, 1, 0]
        for cycle in np.unique(index // period):
            rows = index // period == cycle
            move = rotations.conjugate(step) if cycle < 0 else step
            here, there = (target, origin) if cycle < 0 else (origin, target)
            for _ in range(abs(cycle)):
                pos = rotations.rotate(move, extended[rows, :3] - here) + there
                extended[rows, :3] = pos
                extended[rows, 3:7] = rotations.multiply(move, extended[rows, 3:7])
        return extended

    def _checked(self, what: str, shape: tuple[int, int]) -> np.ndarray:
        """The array as float64, or an error that names what is wrong with it."""
        try:
            values = np.array(getattr(self, what), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise SoloError(
                f"Motion {self.name!r}: {what} does not hold numbers ({error}). "
                "Export the clip again."
            ) from error
        if values.shape != shape:
            raise SoloError(
                f"Motion {self.name!r}: {what} has shape {list(values.shape)}; "
                f"expected {list(shape)}. Export the clip for this robot again."
            )
        bad = ~(np.abs(values) <= _MAX_VALUE).all(axis=1)
        if bad.any():
            frame = int(bad.argmax())
            raise SoloError(
                f"Motion {self.name!r}: {what} has a value that is not finite or above "
                f"{_MAX_VALUE:g} in frame {frame} ({int(bad.sum())} such frames). Cut "
                "the damaged frames out or export the clip again."
            )
        return values

    def _normalise(self) -> None:
        """Make quaternions unit length and free of sign flips."""
        quat = self.root_quat_w
        norm = np.linalg.norm(quat, axis=1)
        worst = int(np.abs(norm - 1.0).argmax())
        if abs(norm[worst] - 1.0) > _UNIT_TOLERANCE:
            raise SoloError(
                f"Motion {self.name!r}: the quaternion of frame {worst} has length "
                f"{norm[worst]:.3g}; it must be 1. Check the order of the columns "
                "(position, then quaternion, then joints)."
            )
        quat = quat / norm[:, None]
        flips = np.where((quat[1:] * quat[:-1]).sum(1) < 0.0, -1.0, 1.0)
        quat[1:] *= np.cumprod(flips)[:, None]
        object.__setattr__(self, "root_quat_w", quat)

    def _differentiate(self) -> None:
        """Central differences; at the ends of a clip that does not loop, one-sided."""
        qpos = self.extended_qpos()
        span_s = 2.0 / self.fps
        difference = (qpos[2:] - qpos[:-2]) / span_s
        turn = rotations.multiply(rotations.conjugate(qpos[:-2, 3:7]), qpos[2:, 3:7])
        for name, value in (
            ("root_lin_vel_w", difference[:, :3]),
            ("root_ang_vel_b", rotations.to_rotation_vector(turn) / span_s),
            ("joint_vel", difference[:, 7:]),
        ):
            object.__setattr__(self, name, value)


def _continue(qpos: np.ndarray, frame: int) -> np.ndarray:
    """Extrapolate the step from frame 0 to frame 1 to a frame before them."""
    result = qpos[0] + frame * (qpos[1] - qpos[0])
    step = rotations.multiply(rotations.conjugate(qpos[0, 3:7]), qpos[1, 3:7])
    turn = rotations.from_rotation_vector(frame * rotations.to_rotation_vector(step))
    result[3:7] = rotations.multiply(qpos[0, 3:7], turn)
    return result


def mean_velocity_h(clip: MotionClip) -> np.ndarray:
    """Forward, left and turning velocity without the sway of the steps, [T, 3].

    The mean over the period of a looping clip, over a second around each frame of any
    other; m/s and rad/s, heading frame.
    """
    yaw = np.unwrap(rotations.yaw_of(clip.root_quat_w))
    turning = np.gradient(yaw, 1.0 / clip.fps)
    rates = np.column_stack([clip.root_lin_vel_h[:, :2], turning])
    if clip.loops:
        mean = rates[:-1].mean(0)
        mean[2] = (yaw[-1] - yaw[0]) / clip.duration_s
        return np.broadcast_to(mean, rates.shape)
    half = round(0.5 * _MEAN_S * clip.fps)
    total = np.concatenate([np.zeros((1, 3)), np.cumsum(rates, axis=0)])
    frame = np.arange(clip.num_frames)
    first = np.maximum(frame - half, 0)
    last = np.minimum(frame + half + 1, clip.num_frames)
    return (total[last] - total[first]) / (last - first)[:, None]


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
