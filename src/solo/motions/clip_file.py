"""Clips in our own file format: an ``.npz`` of plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from solo.errors import SoloError
from solo.files import written_aside
from solo.motions.clip import MotionClip
from solo.robots.robot_cfg import RobotCfg

FORMAT = "solo-motion-1"
"""Value of ``format`` in our files."""


def save_clip(clip: MotionClip, path: Path) -> None:
    """Write a clip in our own format: plain arrays, float64.

    Raises:
        SoloError: The file cannot be written.
    """
    with written_aside(path) as unfinished:
        np.savez_compressed(
            unfinished,
            format=np.array(FORMAT),
            name=np.array(clip.name),
            fps=np.array(clip.fps),
            loops=np.array(clip.loops),
            joint_names=np.array(clip.joint_names),
            root_pos_w=clip.root_pos_w,
            root_quat_w=clip.root_quat_w,
            joint_pos=clip.joint_pos,
        )


def clip_from_content(
    path: Path, robot: RobotCfg, content: Mapping[str, Any]
) -> MotionClip:
    """Turn the arrays of a file of ours into a clip.

    Raises:
        SoloError: It is for other joints, of another version, or incomplete.
    """
    if str(content["format"]) != FORMAT:
        raise SoloError(
            f"{str(path)!r} has the format {str(content['format'])[:40]!r}; this "
            f"version reads {FORMAT!r}. Make the clips again with `solo motions make`."
        )
    names = ("name", "fps", "loops", "joint_names")
    arrays = ("root_pos_w", "root_quat_w", "joint_pos")
    require_keys(path, content, (*names, *arrays))
    joints = tuple(str(name) for name in np.ravel(content["joint_names"])) or ("",)
    if joints != robot.joint_names:
        raise SoloError(
            f"{str(path)!r} is for the {len(joints)} joints {joints[0]} to "
            f"{joints[-1]}; {robot.name} has the {len(robot.joint_names)} joints "
            f"{robot.joint_names[0]} to {robot.joint_names[-1]}, in its own order. "
            "Make clips for this robot."
        )
    return MotionClip(
        name=str(content["name"]),
        fps=read_rate(path, content["fps"]),
        joint_names=joints,
        root_pos_w=content["root_pos_w"],
        root_quat_w=content["root_quat_w"],
        joint_pos=content["joint_pos"],
        loops=bool(np.atleast_1d(content["loops"])[0]),
    )


def require_keys(path: Path, content: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    """Raise a `SoloError` that names what a file lacks."""
    missing = [key for key in keys if key not in content]
    if missing:
        raise SoloError(
            f"{str(path)!r} has no {', '.join(missing)}; it has "
            f"{', '.join(map(str, content)) or 'nothing'}. Known formats: solo, mjlab "
            "(.npz), GMR (.pkl), LAFAN1 retargeted (.csv)."
        )


def read_rate(path: Path, value: Any) -> float:
    """Frames per second, written as a number or as an array of one."""
    try:
        values = np.asarray(value, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        values = np.empty(0)
    if len(values) != 1:
        raise SoloError(
            f"{str(path)!r}: fps is {str(value)[:40]!r}; expected one number. Export "
            "the motion again."
        )
    return float(values[0])
