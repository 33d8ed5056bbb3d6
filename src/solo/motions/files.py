"""Motions in files: ours, and the formats people have for the G1.

| file | content | rate |
|---|---|---|
| ``.npz`` of ours | see `save_clip` | in the file |
| ``.npz`` of mjlab's ``csv_to_npz`` | bodies (w, x, y, z), joints | in the file |
| ``.csv`` of the retargeted LAFAN1 | position, (x, y, z, w), joints | 30 Hz |
| ``.pkl`` of GMR | root_pos, root_rot (x, y, z, w), dof_pos | in the file |

All but ours list all joints of the original model; welded ones are left out.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from solo.errors import SoloError
from solo.files import read_npz, written_aside
from solo.motions.clip import MotionClip
from solo.motions.skeleton import ROOT_QPOS, make_skeleton
from solo.robots.build import joint_order_of
from solo.robots.robot_cfg import RobotCfg

FORMAT = "solo-motion-1"
"""Value of ``format`` in our files."""

CSV_FPS = 30.0
"""Rate of the retargeted LAFAN1 set; its files do not state it."""

_FOOT_TOLERANCE_M = 0.02
"""Distance between a foot in the file and by our kinematics."""


def save_clip(clip: MotionClip, path: Path) -> None:
    """Write a clip in our own format: plain arrays, float64."""
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


def load_clip(path: Path, robot: RobotCfg) -> MotionClip:
    """Read a motion; the format is known by suffix and content."""
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
    content = read_npz(path, "Export or copy it again.")
    if "format" in content:
        return _from_ours(path, robot, content)
    return _from_mjlab(path, robot, content)


def _from_ours(path: Path, robot: RobotCfg, content: Mapping[str, Any]) -> MotionClip:
    """Turn the arrays of a file of ours into a clip."""
    if str(content["format"]) != FORMAT:
        raise SoloError(
            f"{str(path)!r} has the format {str(content['format'])[:40]!r}; this "
            f"version reads {FORMAT!r}. Make the clips again with `solo motions make`."
        )
    names = ("name", "fps", "loops", "joint_names")
    arrays = ("root_pos_w", "root_quat_w", "joint_pos")
    _require_keys(path, content, (*names, *arrays))
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
        fps=_read_rate(path, content["fps"]),
        joint_names=joints,
        root_pos_w=content["root_pos_w"],
        root_quat_w=content["root_quat_w"],
        joint_pos=content["joint_pos"],
        loops=bool(np.atleast_1d(content["loops"])[0]),
    )


def _from_mjlab(path: Path, robot: RobotCfg, content: Mapping[str, Any]) -> MotionClip:
    _require_keys(path, content, ("fps", "joint_pos", "body_pos_w", "body_quat_w"))
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
        fps=_read_rate(path, content["fps"]),
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
    content = _read_pickle(path)
    if not isinstance(content, dict):
        raise SoloError(
            f"{str(path)!r} holds a {type(content).__name__}; expected a dictionary "
            "with fps, root_pos, root_rot and dof_pos. Export it with GMR."
        )
    _require_keys(path, content, ("fps", "root_pos", "root_rot", "dof_pos"))
    if "loop_mode" in content or "key_body_pos" in content:
        raise SoloError(
            f"{str(path)!r} is a legged_lab motion (it has loop_mode or key_body_pos), "
            "whose quaternions and joints are in another order than GMR's. Load the "
            "GMR file it was made from."
        )
    position, rotation, joints = (
        _numbers(path, key, content[key]) for key in ("root_pos", "root_rot", "dof_pos")
    )
    if rotation.shape[-1:] == (4,):
        rotation = rotation[..., [3, 0, 1, 2]]
    return MotionClip(
        name=path.stem,
        fps=_read_rate(path, content["fps"]),
        joint_names=robot.joint_names,
        root_pos_w=position,
        root_quat_w=rotation,
        joint_pos=_policy_joints(path, robot, joints),
    )


class _Unpickler(pickle.Unpickler):
    """Finds only what NumPy describes arrays of numbers with.

    A pickle is a program: it may call any function it can name.
    """

    def find_class(self, module: str, name: str) -> Any:
        module = module.replace("numpy.core", "numpy._core")  # Before NumPy 2.
        if (module, name) not in _PICKLED:
            raise pickle.UnpicklingError(f"{module}.{name}")
        return _PICKLED[module, name]


def _read_pickle(path: Path) -> Any:
    """Containers, text, numbers and NumPy arrays of numbers; nothing else is called."""
    content = path.read_bytes()
    try:
        found = _Unpickler(io.BytesIO(content)).load()
        _check_plain(found)
    # A damaged pickle can make the machine that reads it fail in almost any way.
    except Exception as error:
        detail = " ".join(str(error).split())[:120]
        raise SoloError(
            f"{str(path)!r} is damaged or holds more than NumPy arrays, numbers, text "
            f"and containers ({type(error).__name__}: {detail}); nothing in it was "
            "run. Export the motion again as plain NumPy arrays."
        ) from error
    return found


def _check_plain(value: Any) -> None:
    """Refuse stray functions, and arrays of anything but numbers."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, (list, tuple)):
        for item in value:
            _check_plain(item)
    elif isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind not in "fiub":
            raise pickle.UnpicklingError(f"array of type {value.dtype}")
    elif value is not None and not isinstance(value, (bool, int, float, str, bytes)):
        raise pickle.UnpicklingError(f"an object of type {type(value).__name__}")


def _encode(text: str, encoding: str) -> bytes:
    """How old pickles write bytes."""
    if encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError("bytes in an unknown encoding")
    return text.encode("latin1")


_PICKLED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy._core.multiarray", "_reconstruct"): np.zeros(1).__reduce__()[0],
    ("numpy._core.multiarray", "scalar"): np.float64(0).__reduce__()[0],
    ("numpy._core.numeric", "_frombuffer"): np.zeros(1).__reduce_ex__(5)[0],
    ("_codecs", "encode"): _encode,
}
"""Module and name in a pickle to what is called for it."""


def _numbers(path: Path, key: str, value: Any) -> np.ndarray:
    """Rows of equal length as an array."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise SoloError(
            f"{str(path)!r}: {key} is not a table of numbers ({error}). Export the "
            "motion again."
        ) from error


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


def _require_keys(
    path: Path, content: Mapping[str, Any], keys: tuple[str, ...]
) -> None:
    """Raise a `SoloError` that names what a file lacks."""
    missing = [key for key in keys if key not in content]
    if missing:
        raise SoloError(
            f"{str(path)!r} has no {', '.join(missing)}; it has "
            f"{', '.join(map(str, content)) or 'nothing'}. Known formats: solo, mjlab "
            "(.npz), GMR (.pkl), LAFAN1 retargeted (.csv)."
        )


def _read_rate(path: Path, value: Any) -> float:
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
