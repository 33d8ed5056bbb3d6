"""Many clips as tensors: what the discriminator and episode starts draw from.

`amp_state` is what the discriminator sees, of the environment and of clips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch

from solo.errors import SoloError
from solo.motions import rotations
from solo.motions.clip import CONTROL_HZ, MotionClip, mean_velocity_h, resample
from solo.robots.robot_cfg import RobotCfg

AMP_STATE_DIM = 59
"""25 joint positions, 25 joint velocities, 3 + 3 base velocities, 3 gravity."""


@dataclass(frozen=True, eq=False)
class ReferenceState:
    """States of B robots as the clips have them, on flat ground, facing +x."""

    root_height_m: torch.Tensor
    """Height of the base above the ground, [B]."""
    root_quat_w: torch.Tensor
    """Rotation base to world with the yaw removed (w, x, y, z), [B, 4]."""
    root_lin_vel_h: torch.Tensor
    """Velocity of the base, [B, 3], m/s, heading frame."""
    root_ang_vel_b: torch.Tensor
    """Angular velocity of the base, [B, 3], rad/s, base frame."""
    joint_pos: torch.Tensor
    """Joint positions, [B, J], rad."""
    joint_vel: torch.Tensor
    """Joint velocities, [B, J], rad/s."""
    command: torch.Tensor
    """What the clip obeys: mean forward, left (m/s) and turning (rad/s) velocity over
    a period, or over a second if the clip does not loop, [B, 3], heading frame."""
    clip_index: torch.Tensor
    """Which clip of the library it is from, [B], int64."""


class MotionLibrary:
    """Clips at the control rate; each is drawn equally often, whatever its length.

    Raises:
        SoloError: There are no clips, or joints do not fit.
    """

    def __init__(
        self,
        clips: Sequence[MotionClip],
        robot: RobotCfg,
        device: torch.device | str = "cpu",
    ) -> None:
        _check(clips, robot)
        self.names = tuple(clip.name for clip in clips)
        """Names of the clips, in the order of `ReferenceState.clip_index`."""
        default = robot.joint_values(robot.default_joint_pos)
        clips = [resample(clip, CONTROL_HZ) for clip in clips]
        pairs = [clip_amp_transitions(clip, default, device) for clip in clips]
        self.amp_states = torch.cat([first for first, _ in pairs])
        """States of all clips, [N, 59]; see `amp_state`."""
        self.amp_next_states = torch.cat([second for _, second in pairs])
        """States one control step after each, [N, 59]."""
        states = [_clip_states(clip, index) for index, clip in enumerate(clips)]
        self._states = {
            field.name: torch.cat([getattr(s, field.name) for s in states]).to(device)
            for field in fields(ReferenceState)
        }
        lengths = [len(first) for first, _ in pairs]
        per_frame = np.repeat(1.0 / np.array(lengths), lengths)
        self._probability = torch.tensor(
            per_frame / per_frame.sum(), dtype=torch.float32, device=device
        )

    def __len__(self) -> int:
        """Number of transitions N."""
        return len(self.amp_states)

    def sample_transitions(
        self, num: int, generator: torch.Generator | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw AMP states and next states, each [num, 59]."""
        index = self._draw(num, generator)
        return self.amp_states[index], self.amp_next_states[index]

    def sample_states(
        self, num: int, generator: torch.Generator | None = None
    ) -> ReferenceState:
        """Draw states to start episodes from."""
        index = self._draw(num, generator)
        return ReferenceState(**{k: v[index] for k, v in self._states.items()})

    def _draw(self, num: int, generator: torch.Generator | None) -> torch.Tensor:
        return torch.multinomial(
            self._probability, num, replacement=True, generator=generator
        )


def _check(clips: Sequence[MotionClip], robot: RobotCfg) -> None:
    if not clips:
        raise SoloError(
            "The motion library has no clips; at least one is needed. Make some with "
            "`solo motions make`."
        )
    for clip in clips:
        if clip.joint_names != robot.joint_names:
            raise SoloError(
                f"Motion {clip.name!r} has {len(clip.joint_names)} joints, beginning "
                f"with {clip.joint_names[:2]}; {robot.name} has "
                f"{len(robot.joint_names)}, beginning with {robot.joint_names[:2]}. "
                "Load the clip with `solo.motions.files.load_clip`."
            )


def _clip_states(clip: MotionClip, index: int) -> ReferenceState:
    """All frames that have a next one, on the CPU."""
    used = slice(0, clip.num_frames - 1)

    def tensor(values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(values[used])).float()

    return ReferenceState(
        root_height_m=tensor(clip.root_pos_w[:, 2]),
        root_quat_w=tensor(rotations.remove_yaw(clip.root_quat_w)),
        root_lin_vel_h=tensor(clip.root_lin_vel_h),
        root_ang_vel_b=tensor(clip.root_ang_vel_b),
        joint_pos=tensor(clip.joint_pos),
        joint_vel=tensor(clip.joint_vel),
        command=tensor(mean_velocity_h(clip)),
        clip_index=torch.full((clip.num_frames - 1,), index),
    )


def amp_state(
    joint_pos_rel: torch.Tensor,
    joint_vel: torch.Tensor,
    base_lin_vel_b: torch.Tensor,
    base_ang_vel_b: torch.Tensor,
    projected_gravity_b: torch.Tensor,
) -> torch.Tensor:
    """Join the quantities that describe style, free of place and heading, [B, 59].

    The paper does not state the discriminator's input. These five are chosen because
    open AMP code for the G1 uses them (InstinctLab, and amp-rsl-rl without gravity):
    joint positions minus default [B, 25], rad, and velocities, and in the base frame
    velocity, angular velocity and the unit vector of gravity [B, 3].
    """
    return torch.cat(
        [
            joint_pos_rel,
            joint_vel,
            base_lin_vel_b,
            base_ang_vel_b,
            projected_gravity_b,
        ],
        dim=-1,
    )


def clip_amp_transitions(
    clip: MotionClip,
    default_joint_pos: Sequence[float] | np.ndarray | torch.Tensor,
    device: torch.device | str = "cpu",
) -> tuple[torch.Tensor, torch.Tensor]:
    """States of a clip at the control rate and of the step after each, [T - 1, 59]."""
    clip = resample(clip, CONTROL_HZ)
    default = torch.as_tensor(default_joint_pos, dtype=torch.float64).cpu()
    states = amp_state(
        torch.from_numpy(clip.joint_pos) - default,
        torch.from_numpy(clip.joint_vel),
        torch.from_numpy(clip.root_lin_vel_b),
        torch.from_numpy(clip.root_ang_vel_b),
        torch.from_numpy(clip.projected_gravity_b),
    ).to(device, torch.float32)
    return states[:-1], states[1:]
