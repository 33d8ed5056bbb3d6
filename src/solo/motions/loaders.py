"""Motions from files: ours, and the formats people have for the G1.

| file | content | rate |
|---|---|---|
| ``.npz`` of ours | see `solo.motions.clip_file` | in the file |
| ``.npz`` of mjlab's ``csv_to_npz`` | bodies (w, x, y, z), joints | in the file |
| ``.csv`` of the retargeted LAFAN1 | position, (x, y, z, w), joints | 30 Hz |
| ``.pkl`` of GMR | root_pos, root_rot (x, y, z, w), dof_pos | in the file |

All but ours list all joints of the original model; welded ones are left out.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from solo.errors import SoloError
from solo.motions.clip import MotionClip
from solo.motions.clip_file import clip_from_content, read_rate, require_keys
from solo.motions.safe_pickle import load_pickle
from solo.motions.skeleton import ROOT_QPOS, make_skeleton
from solo.robots.build import joint_order_of
from solo.robots.robot_cfg import RobotCfg

CSV_FPS = 30.0
"""Rate of the retargeted LAFAN1 set; its files do not state it."""

_FOOT_TOLERANCE_M = 0.02
"""Distance between a foot in the file and by our kinematics."""

_FILE_ERRORS = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)


def load_clip(path: Path, robot: RobotCfg) -> MotionClip:
    """Read a motion; the format is known by suffix and content.

    Raises:
        SoloError: The file is not there, not of a known format, or damaged.
    """
    readers: dict[str, Callable[[Path, RobotCfg], MotionClip]] = {
        ".npz": _load_npz,
        ".csv": _load_csv,
        ".pkl": _load_gmr,
        ".pickle": _load_gmr,
    }
    if path.suffix.lower() not in readers:
        raise SoloError(
            f"Motion file {str(path)!r} ends in {path.suffix!r}; allowed are "
            f"{', '.join(readers)}. Convert it to one of these."
        )
    if not path.is_file():
        raise SoloError(
            f"There is no motion file {str(path)!r}. Give the path of a file; "
            "`solo motions make` writes some."
        )
    try:
        return readers[path.suffix.lower()](path, robot)
    except OSError as error:
        raise SoloError(
            f"Cannot read {str(path)!r}: {error.strerror or error}. Check the file and "
            "its permissions."
        ) from error


def _load_npz(path: Path, robot: RobotCfg) -> MotionClip:
    try:
        with np.load(path, allow_pickle=False) as file:
            content = {key: file[key] for key in file.files}
    except _FILE_ERRORS as error:
        detail = " ".join(str(error).split())[:120]
        raise SoloError(
            f"{str(path)!r} is not a whole .npz file of plain arrays ({detail}). "
            "Export or copy it again."
        ) from error
    if "format" in content:
        return clip_from_content(path, robot, content)
    return _from_mjlab(path, robot, content)


def _from_mjlab(path: Path, robot: RobotCfg, content: Mapping[str, Any]) -> MotionClip:
    require_keys(path, content, ("fps", "joint_pos", "body_pos_w", "body_quat_w"))
    bodies_pos, bodies_quat = content["body_pos_w"], content["body_quat_w"]
    spec = robot.spec_fn()  # Its bodies are gone when it is.
    names = [body.name for body in spec.bodies if body.name != "world"]
    for what, values, width in (
        ("body_pos_w", bodies_pos, 3),
        ("body_quat_w", bodies_quat, 4),
    ):
        if values.ndim != 3 or values.shape[1:] != (len(names), width):
            raise SoloError(
                f"{str(path)!r}: {what} has shape {list(values.shape)}; expected "
                f"[frames, {len(names)}, {width}] for {robot.name}. Convert the motion "
                "for this robot."
            )
    root = names.index(robot.base_body)
    clip = MotionClip(
        name=path.stem,
        fps=read_rate(path, content["fps"]),
        joint_names=robot.joint_names,
        root_pos_w=bodies_pos[:, root],
        root_quat_w=bodies_quat[:, root],
        joint_pos=_policy_joints(path, robot, content["joint_pos"]),
    )
    _check_feet(path, robot, clip, names, bodies_pos)
    return clip


def _check_feet(
    path: Path, robot: RobotCfg, clip: MotionClip, names: list[str], pos_w: np.ndarray
) -> None:
    """Refuse joints in another order: Isaac Lab writes the same keys with its own."""
    skeleton = make_skeleton(robot)
    data = mujoco.MjData(skeleton.model)
    worst = 0.0
    for frame in np.linspace(0, clip.num_frames - 1, 10).astype(int):
        data.qpos[:] = clip.qpos[frame]
        mujoco.mj_kinematics(skeleton.model, data)
        for foot, body in zip(robot.feet, skeleton.foot_bodies, strict=True):
            there = pos_w[frame, names.index(foot.body)]
            worst = max(worst, float(np.linalg.norm(data.xpos[body] - there)))
    if not worst < _FOOT_TOLERANCE_M:
        raise SoloError(
            f"{str(path)!r}: its joints put a foot {worst:.2f} m from where its bodies "
            f"have it; at most {_FOOT_TOLERANCE_M} m are allowed. The joints are "
            "probably in Isaac Lab's order: convert the motion with mjlab's csv_to_npz."
        )


def _load_csv(path: Path, robot: RobotCfg) -> MotionClip:
    width = ROOT_QPOS + len(joint_order_of(robot.spec_fn()))
    rows = []
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        if not line.strip():
            continue
        cells = line.split(",")
        try:
            row = [float(cell) for cell in cells]
        except ValueError as error:
            raise SoloError(
                f"{str(path)!r}, line {number}: {error}. Expected {width} numbers and "
                "no header. Export the file again."
            ) from error
        if len(row) != width:
            raise SoloError(
                f"{str(path)!r}, line {number} has {len(row)} columns; expected "
                f"{width}: base position, quaternion (x, y, z, w) and "
                f"{width - ROOT_QPOS} joints. Use files for {robot.name}, whole ones."
            )
        rows.append(row)
    values = np.array(rows).reshape(-1, width)
    return MotionClip(
        name=path.stem,
        fps=CSV_FPS,
        joint_names=robot.joint_names,
        root_pos_w=values[:, :3],
        root_quat_w=values[:, [6, 3, 4, 5]],
        joint_pos=_policy_joints(path, robot, values[:, ROOT_QPOS:]),
    )


def _load_gmr(path: Path, robot: RobotCfg) -> MotionClip:
    content = load_pickle(path)
    if not isinstance(content, dict):
        raise SoloError(
            f"{str(path)!r} holds a {type(content).__name__}; expected a dictionary "
            "with fps, root_pos, root_rot and dof_pos. Export it with GMR."
        )
    require_keys(path, content, ("fps", "root_pos", "root_rot", "dof_pos"))
    if "loop_mode" in content or "key_body_pos" in content:
        raise SoloError(
            f"{str(path)!r} is a legged_lab motion (it has loop_mode or key_body_pos), "
            "whose quaternions and joints are in another order than GMR's. Load the "
            "GMR file it was made from."
        )
    rotation = np.asarray(content["root_rot"])
    if rotation.shape[-1:] == (4,):
        rotation = rotation[..., [3, 0, 1, 2]]
    return MotionClip(
        name=path.stem,
        fps=read_rate(path, content["fps"]),
        joint_names=robot.joint_names,
        root_pos_w=np.asarray(content["root_pos"]),
        root_quat_w=rotation,
        joint_pos=_policy_joints(path, robot, np.asarray(content["dof_pos"])),
    )


def _policy_joints(path: Path, robot: RobotCfg, values: np.ndarray) -> np.ndarray:
    """Columns of the policy joints, from columns in the order of the raw model."""
    order = joint_order_of(robot.spec_fn())
    if values.ndim != 2 or values.shape[1] != len(order):
        raise SoloError(
            f"{str(path)!r}: joint positions have shape {list(values.shape)}; expected "
            f"[frames, {len(order)}], all joints of {robot.name}. Convert the motion "
            "for this robot."
        )
    return values[:, [order.index(name) for name in robot.joint_names]]
