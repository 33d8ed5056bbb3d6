"""The last seconds of failed rollouts as files, and pictures of them.

A recording holds the ground around the motion, so no terrain is generated here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from solo.envs.obstacle import OBSTACLE, ObstacleCfg, make_spec
from solo.errors import SoloError
from solo.files import read_npz, written_aside
from solo.pictures.offscreen import Shot, clear_view, make_view_model, render
from solo.pictures.video import save_mp4
from solo.results import Outcome
from solo.robots import get_robot
from solo.robots.build import build_spec
from solo.terrains.grid import HeightGrid
from solo.terrains.strips.strip import Cutout

NUM_FRAMES = 6
"""Pictures of a strip."""
FRAME_PX = (160, 200)
"""Width and height of one picture."""
RATE_HZ = 10
"""Frames per second of a video, as recorded."""
SHOWN_S = 2.0
"""How much of the recording is shown, its end included."""

_DISTANCE_M = 2.1
_AZIMUTH_DEG = 70.0
"""From the right and a little behind; robots are told to walk along +x."""


@dataclass(frozen=True, eq=False)
class Failure:
    """How a rollout came to its end."""

    robot: str
    index: int
    """Number of the rollout within its job."""
    walk: int
    """How often that rollout had begun before: 0, but for robots of the route that
    start again after an incident."""
    outcome: Outcome
    origin_m: np.ndarray
    """Origin of the patch or leg that it ended on, world frame, [3]."""
    qpos: np.ndarray
    """States, the last one that of the end, [T, nq]: the robot's, then the obstacle's
    pose where there is one."""
    time_s: np.ndarray
    """Time since the start of the rollout, [T]."""
    ground: Cutout
    """Where it happened."""
    boxes_m: np.ndarray
    """Full extents of the obstacle, [1, 3], or [0, 3] where there is none."""


def write_recording(path: Path, failure: Failure) -> None:
    """Write all fields to an ``.npz``; see ``docs/metrics.md``."""
    values = {k: v for k, v in vars(failure).items() if k not in ("ground", "outcome")}
    grid = failure.ground.grid
    with written_aside(path) as unfinished:
        np.savez_compressed(
            unfinished,
            **values,
            outcome=failure.outcome.value,
            families=failure.ground.families,
            units=grid.units,
            unit_m=grid.unit_m,
            cell_m=grid.cell_m,
            corner_xy_m=grid.corner_xy_m,
        )


def read_recording(path: Path) -> Failure:
    """Read what `write_recording` wrote.

    Raises:
        SoloError: It cannot be read, or lacks something.
    """
    try:
        saved = read_npz(path, "Make it again.")
        x_m, y_m = saved["corner_xy_m"].tolist()
        cell_m, unit_m = float(saved["cell_m"]), float(saved["unit_m"])
        grid = HeightGrid(saved["units"], (x_m, y_m), cell_m, unit_m)
        ground = Cutout(grid, tuple(saved["families"].tolist()))
        return Failure(
            robot=str(saved["robot"]),
            index=int(saved["index"]),
            walk=int(saved["walk"]),
            outcome=Outcome(str(saved["outcome"])),
            ground=ground,
            **{k: saved[k] for k in ("origin_m", "qpos", "time_s", "boxes_m")},
        )
    except (KeyError, TypeError, ValueError, SoloError) as error:
        reason = " ".join(str(error).split())[:200]
        raise SoloError(
            f"Cannot read the recording {str(path)!r}: {reason}. Give a file that "
            "`solo eval` wrote to its folder `failures`."
        ) from error


def draw_failure(recording: Failure, num_frames: int = NUM_FRAMES) -> list[np.ndarray]:
    """Frames of the last two seconds, oldest first; uint8 [H, W, 3].

    Raises:
        SoloError: There is no such robot.
        NoGraphicsError: MuJoCo cannot draw on this machine.
    """
    spec = build_spec(get_robot(recording.robot), visual=True)
    for index, size in enumerate(recording.boxes_m.tolist()):
        box = make_spec(ObstacleCfg(size_m=tuple(size)))
        frame = spec.worldbody.add_frame()
        spec.attach(box, frame=frame, prefix=f"{OBSTACLE}_{index}/")
    model = make_view_model(spec, recording.ground.scene(), FRAME_PX)
    # Shadows would more than double the time, which every job pays.
    shots = _shots(recording, num_frames)
    return list(render(model, shots, FRAME_PX, shadows=False))


def write_pictures(paths: Sequence[Path]) -> None:
    """Write two files beside each ``NAME.npz``: frames side by side, and a video.

    ``NAME.png`` has six frames of the last two seconds, ``NAME.mp4`` all of them.

    Raises:
        SoloError: A file cannot be read or written.
        NoGraphicsError: MuJoCo cannot draw on this machine.
    """
    for path in paths:
        recording = read_recording(path)
        count = 1 + int(_chosen(recording, 2) @ (-1, 1))  # As many as were recorded.
        frames = draw_failure(recording, count)
        film = [Image.fromarray(frame) for frame in frames]
        save_mp4(film, path.with_suffix(".mp4"), RATE_HZ, hold_s=1.0)
        shown = np.linspace(0, count - 1, NUM_FRAMES).round().astype(int)
        strip = Image.fromarray(np.concatenate([frames[k] for k in shown], axis=1))
        draw, font = ImageDraw.Draw(strip), ImageFont.load_default(13)
        times_s = recording.time_s[_chosen(recording, count)[shown]]
        for index, value in enumerate(times_s - recording.time_s[-1]):
            place = (index * FRAME_PX[0] + 6, 4)
            draw.text(place, f"{value:.1f} s", "black", font)
        with written_aside(path.with_suffix(".png")) as unfinished:
            strip.save(unfinished, format="PNG")


def _chosen(recording: Failure, count: int) -> np.ndarray:
    """Indices of the states to draw, evenly over what is shown, the last included."""
    end_s = recording.time_s[-1]
    first = int(np.argmax(recording.time_s >= end_s - SHOWN_S - 1e-6))
    last = len(recording.time_s) - 1
    return np.linspace(first, last, count).round().astype(int)


def _shots(recording: Failure, count: int) -> list[Shot]:
    """Each state from the same side, as low as the terrain allows."""
    shots, grid = [], recording.ground.grid
    for qpos in recording.qpos[_chosen(recording, count)].astype(np.float64):
        x, y, z = (float(value) for value in qpos[:3])
        ground = float(grid.surface_at(np.array([x]), np.array([y]))[0])
        # Where the robot lies, the picture shows the ground around it.
        target = (x, y, max(z - 0.1, ground + 0.5))
        view = clear_view(grid, target, _DISTANCE_M, _AZIMUTH_DEG)
        shots.append(Shot(qpos[None], view))
    return shots
