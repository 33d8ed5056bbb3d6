"""The last seconds of failures: videos, or else strips of pictures."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from solo.report.figures import data_address
from solo.report.read import ProtocolRun
from solo.results import Job, Rollout, RouteWalk

_MAX_BYTES = 4_000_000
_MEDIA = {
    ".mp4": ("video/mp4", re.compile(rb"....ftyp", re.DOTALL)),
    ".webp": ("image/webp", re.compile(rb"RIFF....WEBP", re.DOTALL)),
    ".gif": ("image/gif", re.compile(rb"GIF8[79]a")),
    ".png": ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n")),
}
"""Ending of a file to its type and how it begins; the first that is there is shown."""


@dataclass(frozen=True)
class ShownFailure:
    """A failed rollout that left something to look at."""

    source: str
    """The video or picture, as a data address."""
    words: str

    @property
    def is_video(self) -> bool:
        """Whether it needs a player."""
        return self.source.startswith("data:video")

    @property
    def is_strip(self) -> bool:
        """Whether it is a row of pictures, wider than the page."""
        return self.source.startswith("data:image/png")


@dataclass(frozen=True)
class Gallery:
    """Failures, and how many there are in all."""

    kind: ClassVar[str] = "gallery"
    failures: Sequence[ShownFailure]
    total: int


def gallery(runs: Sequence[ProtocolRun], most: int) -> Gallery | None:
    """At most ``most`` failures, taken from all jobs in turn; None without any."""
    queues = [
        [(r, job, name) for name in job.failures] for r in runs for job in r.cells
    ]
    turns = [
        queue[k]
        for k in range(max(map(len, queues), default=0))
        for queue in queues
        if k < len(queue)
    ]
    found = [
        (run, job, name, path)
        for run, job, name in turns
        if (path := find_media(run, name)) is not None
    ]
    shown = [
        ShownFailure(embed(path), _describe(run, job, name))
        for run, job, name, path in found[:most]
    ]
    return Gallery(shown, len(found)) if shown else None


def find_media(run: ProtocolRun, name: str) -> Path | None:
    """The video or picture of a recording; None if there is none in the folder."""
    folder = run.file.path.parent
    places = [folder, folder / "failures", folder / _slug(run.found.policy)]
    for place in places:
        for ending in _MEDIA:
            path = Path(os.path.realpath((place / name).with_suffix(ending)))
            # A file from elsewhere must not put other files of ours into a page.
            if path.is_relative_to(os.path.realpath(folder)) and is_media(path):
                return path
    return None


def is_media(path: Path) -> bool:
    """Whether a file is what its ending says, of a size that can be put into a page."""
    if not path.is_file() or path.stat().st_size > _MAX_BYTES:
        return False
    with path.open("rb") as file:
        return _MEDIA[path.suffix][1].match(file.read(16)) is not None


def embed(path: Path) -> str:
    """A file as a data address."""
    return data_address(_MEDIA[path.suffix][0], path.read_bytes())


def _slug(policy: dict) -> str:
    """Folder of one of several policies, in files from before paths named it."""
    name = str(policy["name"]).removesuffix(".pt").removesuffix(".onnx")
    sha = policy.get("sha256")
    name = name.replace("/", "-")
    return f"{name}-{sha[:8]}" if isinstance(sha, str) else name


def _describe(run: ProtocolRun, job: Job, name: str) -> str:
    """Whose failure it is and how it ended, as far as the file tells."""
    words = [run.label, job.name]
    if "/" in name and not name.startswith("failures/") and run.side == "":
        words.insert(1, name.split("/")[0])  # The condition.
    stem = Path(name).stem.removeprefix(f"{job.name}-")
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", stem)
    if match is None:
        return ", ".join(words)
    index, walk = int(match[1]), int(match[2] or 0)
    words.append(f"{'robot' if job.walks else 'rollout'} {index}")
    told: list[RouteWalk | Rollout] = [w for w in job.walks if w.robot == index]
    told = told or [r for r in job.rollouts if r.index == index]
    if walk < len(told):
        words += _story(told[walk])
    return ", ".join(words)


def _story(end: RouteWalk | Rollout) -> list[str]:
    words = [end.outcome.value.replace("_", " ")]
    if isinstance(end, RouteWalk):
        return [*words, f"{end.end_m:.1f} m along the route"]
    if end.distance_m is not None:
        words.append(f"after {end.distance_m:.1f} m")
    if end.element:
        words.append(end.element.replace("_", " "))
    if end.forward_m_s is not None:
        words.append(f"told to walk {end.forward_m_s:.2f} m/s")
    return words
