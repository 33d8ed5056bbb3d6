"""Pictures inside the page: PNG files as they are, and numbers as small images."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from solo.report.markup import Html, el
from solo.report.runs import Run

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MAX_BYTES = 4_000_000

_VIRIDIS = (
    (68, 1, 84), (71, 44, 122), (59, 81, 139), (44, 113, 142), (33, 144, 141),
    (39, 173, 129), (92, 200, 99), (170, 220, 50), (253, 231, 37),
)  # fmt: skip
"""Nine stops of the colour map "viridis" (in the public domain)."""


@dataclass(frozen=True)
class Failure:
    """A failed rollout that left a strip of frames."""

    run: Run
    cell: Mapping[str, Any]
    png: bytes
    index: int | None
    """Number of the rollout or robot, if the name of the file tells it."""
    walk: int
    """How often the robot had begun before; 0 but on the route."""


def find_failures(runs: Sequence[Run], most: int) -> tuple[list[Failure], int]:
    """Failures with a picture: at most ``most``, taken from all jobs in turn.

    Returns:
        Those to be shown, and how many there are.
    """
    queues = [
        [(run, cell, name) for name in cell.get("failures", [])]
        for run in runs
        for cell in run.cells
    ]
    turns = [
        queue[k]
        for k in range(max(map(len, queues), default=0))
        for queue in queues
        if k < len(queue)
    ]
    found, total = [], 0
    for run, cell, name in turns:
        path = _picture_path(run.folder, name)
        if path is None:
            continue
        total += 1
        if len(found) < most:
            numbers = _numbers(path.stem, str(cell["name"]))
            found.append(Failure(run, cell, path.read_bytes(), *numbers))
    return found, total


def _numbers(stem: str, job: str) -> tuple[int | None, int]:
    """Rollout and walk from the name of a file: JOB-INDEX or JOB-INDEX-WALK."""
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", stem.removeprefix(f"{job}-"))
    return (int(match[1]), int(match[2] or 0)) if match else (None, 0)


def _picture_path(folder: Path, name: object) -> Path | None:
    """The picture of a failure; None if there is none within the result's folder."""
    if not isinstance(name, str):
        return None
    inside = folder.resolve()
    for place in (folder, folder / "failures"):
        path = (place / name).with_suffix(".png").resolve()
        # A file from elsewhere must not put other files of ours into a page.
        if path.is_relative_to(inside) and path.is_file() and is_png(path):
            return path
    return None


def is_png(path: Path) -> bool:
    """Whether a file is a PNG of a size that can be put into a page."""
    with path.open("rb") as file:
        head = file.read(len(_SIGNATURE))
    return head == _SIGNATURE and path.stat().st_size <= _MAX_BYTES


def embed(png: bytes, description: str, cls: str = "") -> Html:
    """An image that is part of the page."""
    data = base64.b64encode(png).decode()
    source = f"data:image/png;base64,{data}"
    return el("img", src=source, alt=description, class_=cls or None)


def gallery(runs: Sequence[Run], most: int) -> Html | None:
    """The last seconds of failures; None if no strips were kept."""
    failures, total = find_failures(runs, most)
    if not failures:
        return None
    items = [_figure(failure) for failure in failures]
    shown = f"{len(failures)} of {total}" if total > len(failures) else f"{total}"
    title = el("h3", f"Failures: the last seconds ({shown})")
    return el("div", title, el("div", *items, class_="failures"))


def _figure(failure: Failure) -> Html:
    words = [failure.run.label, str(failure.cell["name"])]
    if failure.index is not None:
        # Robots of the route walk several times.
        is_route = bool(failure.cell.get("walks"))
        entries, key = ("walks", "robot") if is_route else ("rollouts", "index")
        words.append(f"{'robot' if is_route else 'rollout'} {failure.index}")
        told = [
            entry
            for entry in failure.cell.get(entries) or []
            if isinstance(entry, dict) and entry.get(key) == failure.index
        ]
        if failure.walk < len(told):
            words += _story(told[failure.walk])
    text = ", ".join(words)
    image = embed(failure.png, f"Last seconds of a failure: {text}")
    frame = el("div", image, class_="scroll", tabindex="0")
    return el("figure", frame, el("figcaption", text))


def _story(rollout: Mapping[str, Any]) -> list[str]:
    """How a rollout or walk ended, as far as the file tells."""
    words = []
    outcome = rollout.get("outcome")
    if isinstance(outcome, str):
        words.append(outcome.replace("_", " "))
    distance, speed = rollout.get("distance_m"), rollout.get("forward_m_s")
    if isinstance(distance, int | float):
        words.append(f"after {distance:.1f} m")
    element, end = rollout.get("element"), rollout.get("end_m")
    if isinstance(element, str):
        words.append(element.replace("_", " "))
    if isinstance(end, int | float):
        words.append(f"{end:.1f} m along the route")
    if isinstance(speed, int | float):
        words.append(f"told to walk {speed:.2f} m/s")
    return words


def shade(values: np.ndarray, low: float, high: float, gray: bool = False) -> bytes:
    """Numbers [Y, X] as a PNG of as many pixels.

    Args:
        values: What to show; the first row is at the top.
        low: Value of the darkest colour.
        high: Value of the brightest.
        gray: Shades of grey, zeros in red, as depth has none there.
    """
    share = np.clip((values - low) / max(high - low, 1e-9), 0.0, 1.0)
    if gray:
        pixels = np.repeat((255 * share)[..., None], 3, axis=-1)
        pixels[values == 0.0] = (200, 60, 50)
    else:
        stops = np.linspace(0.0, 1.0, len(_VIRIDIS))
        channels = np.array(_VIRIDIS, dtype=np.float64).T
        pixels = np.stack([np.interp(share, stops, c) for c in channels], axis=-1)
    return encode_png(pixels.round().astype(np.uint8))


def encode_png(pixels: np.ndarray) -> bytes:
    """Colours, uint8 [Y, X, 3], as a PNG."""
    height, width, _ = pixels.shape
    rows = np.concatenate(
        [np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return _SIGNATURE + b"".join(
        _chunk(name, content)
        for name, content in (
            (b"IHDR", header),
            (b"IDAT", zlib.compress(rows.tobytes(), 9)),
            (b"IEND", b""),
        )
    )


def _chunk(name: bytes, content: bytes) -> bytes:
    check = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)
