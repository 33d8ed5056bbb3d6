"""`solo motions`: make, check, show and watch reference motions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from tyro.conf import Positional

from solo import names
from solo.cli import Verb, print_table
from solo.cli.checks import (
    MAX_PORT,
    check_exists,
    check_picture_path,
    check_robot,
    make_folder,
    say_loading,
)
from solo.errors import SoloError, check_number, unknown_name
from solo.files import written_aside

if TYPE_CHECKING:
    from solo.motions.checks import ClipQuality
    from solo.motions.clip import MotionClip
    from solo.robots.robot_cfg import RobotCfg

_COLOURS = {"good": "green", "poor": "yellow", "unusable": "red"}


@dataclass(frozen=True)
class MotionsMake(Verb):
    """Synthesise the reference motions: walking, turning, standing, and extras.

    They come from an inverted pendulum model and inverse kinematics, not from motion
    capture, so no third-party licence applies. Training synthesises its own; the files
    are for inspection, editing and other tools.
    """

    output: Path = Path("motions")
    """Folder for one .npz per clip; created if missing."""
    robot: str = "g1"
    """Robot to make them for."""
    seed: int = 0
    """A seed other than 0 varies cadence, clearance and arm swing slightly."""

    def run(self) -> dict[str, Any]:
        check_number("seed", self.seed, 0)
        check_robot(self.robot)
        make_folder(self.output)
        say_loading()

        from solo.motions.catalogue import make_clips
        from solo.motions.files import save_clip
        from solo.robots import get_robot

        robot = get_robot(self.robot)
        clips = make_clips(robot, self.seed)
        qualities = _measure_all(robot, clips)
        for clip in clips:
            save_clip(clip, self.output / f"{clip.name}.npz")
        _print_table(qualities)
        print(f"Wrote {len(clips)} clips to {self.output}")
        return {"output": str(self.output), **_as_result(qualities)}


@dataclass(frozen=True)
class MotionsCheck(Verb):
    """Measure motions: foot sliding, ground contact, limits, balance, loop closure.

    Reads our .npz, mjlab's .npz, the retargeted LAFAN1's .csv and GMR's .pkl. Yellow
    values are worse than our own clips. Red ones are unusable and make the command
    fail.
    """

    files: Positional[tuple[Path, ...]] = ()
    """Files to check; the clips used in training if omitted."""
    robot: str = "g1"
    """Robot that the motions are for."""

    def run(self) -> dict[str, Any]:
        _check_options(self.robot, self.files)

        from solo.motions.catalogue import make_clips
        from solo.motions.files import load_clip
        from solo.robots import get_robot

        robot = get_robot(self.robot)
        if self.files:
            clips = tuple(load_clip(path, robot) for path in self.files)
        else:
            clips = make_clips(robot)
        qualities = _measure_all(robot, clips)
        _print_table(qualities)
        _refuse_unusable(qualities)
        return _as_result(qualities)


@dataclass(frozen=True)
class MotionsShow(Verb):
    """Draw a motion as a strip of poses (.png) or as a video (.gif)."""

    motion: Positional[str] = "walk_forward_0.50"
    """A file, or the name of a clip used in training."""
    output: Path = Path("motion.gif")
    """File to write, .png or .gif; an existing one is replaced."""
    robot: str = "g1"
    """Robot that the motion is for."""

    def run(self) -> dict[str, Any]:
        check_picture_path(self.output, (".png", ".gif"))
        is_file = self.motion not in names.MOTIONS
        if is_file and not _looks_like_file(self.motion):
            raise unknown_name(
                "motion", self.motion, names.MOTIONS, "Or give the path of a file."
            )
        _check_options(self.robot, [Path(self.motion)] if is_file else ())

        from solo.gl import NoGraphicsError
        from solo.motions.catalogue import make_clip
        from solo.motions.files import load_clip
        from solo.pictures.video import save_gif
        from solo.robots import get_robot
        from solo.viewer.motions import MOVIE_FPS, draw_movie, draw_strip

        robot = get_robot(self.robot)
        if is_file:
            clip = load_clip(Path(self.motion), robot)
        else:
            clip = make_clip(robot, self.motion)
        try:
            if self.output.suffix.lower() == ".gif":
                save_gif(draw_movie(robot, clip), self.output, 1 / MOVIE_FPS)
            else:
                with written_aside(self.output) as unfinished:
                    draw_strip(robot, clip).save(unfinished, format="PNG")
        except NoGraphicsError as error:
            raise SoloError(str(error)) from error
        print(f"Wrote {self.output}")
        return {"motion": clip.name, "output": str(self.output)}


@dataclass(frozen=True)
class MotionsWatch(Verb):
    """Play motions in the browser, on this machine only.

    Choose a clip, pause it, slow it down, or scrub through it.
    """

    files: Positional[tuple[Path, ...]] = ()
    """Motion files; all clips used in training if omitted."""
    port: int = 8080
    """Port of the page; the next free one if it is in use."""
    robot: str = "g1"
    """Robot that the motions are for."""

    def run(self) -> dict[str, Any]:
        check_number("port", self.port, 1, MAX_PORT)
        _check_options(self.robot, self.files)

        from solo.motions.catalogue import make_clips
        from solo.motions.files import load_clip
        from solo.robots import get_robot
        from solo.viewer.motions import MotionPlayer
        from solo.viewer.server import start_server

        robot = get_robot(self.robot)
        clips = tuple(load_clip(path, robot) for path in self.files)
        clips = clips or make_clips(robot)
        server = start_server(self.port)
        player = MotionPlayer(robot, clips, server)
        print(f"Open http://{server.get_host()}:{server.get_port()} - Ctrl-C ends.")
        try:
            player.run()
        except KeyboardInterrupt:
            server.stop()
        return {"clips": [clip.name for clip in clips]}


def _check_options(robot: str, files: Iterable[Path]) -> None:
    """Refuse bad names and paths before anything is loaded."""
    check_robot(robot)
    for path in files:
        check_exists("motion file", path, "`solo motions make` writes some.")
    say_loading()


def _looks_like_file(motion: str) -> bool:
    """Whether it is a path, not a misspelt name of one of our own clips."""
    path = Path(motion)
    return path.exists() or path.suffix.lower() in (".npz", ".csv", ".pkl", ".pickle")


def _measure_all(
    robot: RobotCfg, clips: tuple[MotionClip, ...]
) -> tuple[ClipQuality, ...]:
    from solo.motions.checks import measure
    from solo.motions.skeleton import make_skeleton

    skeleton = make_skeleton(robot)
    return tuple(measure(robot, skeleton, clip) for clip in clips)


def _print_table(qualities: tuple[ClipQuality, ...]) -> None:
    """One row per clip; colours mark poor and unusable values."""
    from solo.motions.checks import LIMITS

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("clip", no_wrap=True)
    for head in ("\ns", "vx vy wz\nm/s, rad/s"):
        table.add_column(head, justify="right", no_wrap=True)
    for limit in LIMITS.values():
        table.add_column(f"{limit.label}\n{limit.unit}", justify="right")
    for quality in qualities:
        cells = [quality.name, f"{quality.duration_s:.2f}"]
        cells.append(" ".join(f"{round(v, 2) + 0.0:.2f}" for v in quality.velocity))
        for name, verdict in quality.verdicts().items():
            value = getattr(quality, name)
            text = "-" if value is None else f"{value:.1f}"
            mark = {"good": "", "poor": "!", "unusable": "!!"}[verdict]
            cells.append(f"[{_COLOURS[verdict]}]{text}{mark}[/]")
        table.add_row(*cells)
    table.add_section()
    bounds = [
        f"{'>' if limit.at_least else '<'} {limit.good:g}" for limit in LIMITS.values()
    ]
    table.add_row("good", "", "", *bounds)
    print_table(table)


def _refuse_unusable(qualities: tuple[ClipQuality, ...]) -> None:
    from solo.motions.checks import LIMITS

    for quality in qualities:
        for name, verdict in quality.verdicts().items():
            if verdict == "unusable":
                limit = LIMITS[name]
                side = "at least" if limit.at_least else "at most"
                raise SoloError(
                    f"Motion {quality.name!r} cannot be used: {limit.label} is "
                    f"{getattr(quality, name):.4g} {limit.unit}; allowed is {side} "
                    f"{limit.usable:g}. Cut or correct the clip, or leave it out."
                )


def _as_result(qualities: tuple[ClipQuality, ...]) -> dict[str, Any]:
    return {"clips": [dataclasses.asdict(quality) for quality in qualities]}
