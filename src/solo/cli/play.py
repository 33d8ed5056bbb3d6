"""`solo play` and `solo demo`: watch a policy, in the browser or as files."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from solo import names
from solo.bundles import SHIPPED, SHIPPED_DIFFICULTY, SHIPPED_TEACHER
from solo.cli import Verb, print_table
from solo.cli.checks import MAX_PORT, check_picture_path, make_folder, say_loading
from solo.errors import SoloError, check_number
from solo.runs.folder import check_policy
from solo.viewer.ground import COURSE, TRAINING, check_terrain

if TYPE_CHECKING:
    from solo.evaluation.rollout import PolicySource
    from solo.viewer.page import PageCfg

MAX_LEVEL = 9
"""Highest level of the curriculum, difficulty 1."""

_NOT_SHOWN = ("files", "ends", "training", "sha256")


@dataclass(frozen=True)
class WalkOptions(Verb):
    """Who walks where, and how long."""

    policy: str = SHIPPED
    """Policy to run; see `solo play --help`."""
    terrain: str = COURSE
    """course, route, a terrain of the paper's real-world tests, a training terrain, or
    training for the whole curriculum."""
    difficulty: float | None = None
    """Difficulty, 0 to 1; 1 is the paper's. If omitted: what the shipped policy can do,
    1 for other policies, the curriculum's levels on --terrain training."""
    seconds: float | None = None
    """Longest simulated time of a video; if omitted, until the walk ends."""
    seed: int = 0
    """Seed of starts and random terrain."""
    port: int = 8080
    """Port of the page; the next free one if it is in use."""

    def check(self) -> None:
        """Refuse what cannot be watched, and where."""
        if self.policy.startswith("Solo-"):
            raise SoloError(
                f"{self.policy!r} is a task, not a policy. Give an agent "
                f"({', '.join(names.AGENTS)}), a run, a checkpoint, a bundle, "
                f"{SHIPPED} or {SHIPPED_TEACHER}."
            )
        check_policy(self.policy)
        check_terrain(self.terrain)
        check_number("difficulty", self.difficulty, 0.0, 1.0)
        check_number("seconds", self.seconds, 0.02)
        check_number("seed", self.seed, 0)
        check_number("port", self.port, 1, MAX_PORT)

    def pick_difficulty(self) -> float | None:
        """The difficulty to walk at; None for the levels of training."""
        if self.difficulty is None and self.terrain != TRAINING:
            return SHIPPED_DIFFICULTY if self.policy == SHIPPED else 1.0
        return self.difficulty


@dataclass(frozen=True)
class Play(WalkOptions):
    """Watch a policy walk: the robot, its depth image, the ground it sees, attention.

    POLICY is an agent (zero, random, stand), a run of any stage, a checkpoint, a bundle
    *.onnx, which runs through the deployment runtime, or what comes with the package:
    shipped, shipped-teacher. Serves a page for the browser with controls to steer
    (also by the keys WASD), push, pause, record and change the terrain. With --output
    one walk is written as a video instead.
    """

    policy: Annotated[Positional[str], arg(metavar="POLICY")] = SHIPPED
    """Agent, run folder, checkpoint, bundle, shipped or shipped-teacher."""
    level: int | None = None
    """Level of the training curriculum, 0 to 9, instead of a difficulty."""
    num_robots: int = 1
    """Number of robots; the first one is watched."""
    depth_errors: bool = False
    """Give the policy depth with the simulated camera errors of training."""
    output: Path | None = None
    """Video to write instead of serving the page: .mp4, .gif, or .png for a sheet of
    pictures."""

    def run(self) -> dict[str, Any]:
        self.check()
        say_loading()
        from solo.evaluation.policies import open_policy
        from solo.sim.threads import stepping_threads

        source = open_policy(self.policy)
        difficulty = self.pick_difficulty()
        with stepping_threads():
            if self.output is None:
                from solo.viewer.controls import Choice
                from solo.viewer.page import PageCfg

                choice = Choice(self.terrain, difficulty)
                cfg = PageCfg(choice, self.seed, self.num_robots, self.depth_errors)
                return serve(source, cfg, self.port)

            from solo.viewer.film import write_clip
            from solo.viewer.ground import make_ground

            ground = make_ground(self.terrain, difficulty, self.seed, self.num_robots)
            summary = write_clip(
                source,
                ground,
                self.seconds,
                self.output,
                self.num_robots,
                self.depth_errors,
            )
        print_summary(summary)
        return summary

    def pick_difficulty(self) -> float | None:
        """That of the level, if one is named."""
        if self.level is not None:
            return self.level / MAX_LEVEL
        return super().pick_difficulty()

    def check(self) -> None:
        """Also check the options of a page or a video."""
        super().check()
        check_number("num_robots", self.num_robots, 1)
        if self.level is not None:
            check_number("level", self.level, 0)
            if self.level > MAX_LEVEL or self.difficulty is not None:
                raise SoloError(
                    f"--level is {self.level}; it must be from 0 to {MAX_LEVEL} and "
                    "takes the place of --difficulty. Give one of the two."
                )
        if self.output is not None:
            check_picture_path(self.output, (".mp4", ".gif", ".png"))
        elif self.seconds is not None:
            raise SoloError(
                f"--seconds is {self.seconds}, but a page has no end. Add --output "
                "clip.mp4."
            )


@dataclass(frozen=True)
class Demo(WalkOptions):
    """Walk a Unitree G1 over the paper's indoor course with a trained policy.

    In a terminal it is `solo play shipped`: a page for the browser. Otherwise, or with
    --headless, the robot walks once and the command writes a video, plots and a
    summary.
    """

    headless: bool = False
    """Write pictures instead of serving the page."""
    output: Path = Path("demo_output")
    """Folder for demo.gif, demo.png and summary.json; created if missing."""

    def run(self) -> dict[str, Any]:
        if not self.headless and sys.stdout.isatty():
            play = Play(
                policy=self.policy,
                terrain=self.terrain,
                difficulty=self.difficulty,
                seed=self.seed,
                port=self.port,
            )
            return play.run()
        self.check()
        make_folder(self.output)
        print(f"Loading {self.policy} and the terrain {self.terrain}.", flush=True)
        from solo.evaluation.policies import open_policy
        from solo.sim.threads import stepping_threads
        from solo.viewer.film import write_demo
        from solo.viewer.ground import make_ground

        source = open_policy(self.policy)
        difficulty = self.pick_difficulty()
        with stepping_threads():
            ground = make_ground(self.terrain, difficulty, self.seed)
            summary = write_demo(source, ground, self.seconds, self.output)
        print_summary(summary)
        return summary


def serve(source: PolicySource, cfg: PageCfg, port: int) -> dict[str, Any]:
    """Serve the page until interrupted, and return the summary."""
    from solo.viewer.page import Page
    from solo.viewer.server import HOST, start_server

    server = start_server(port)
    address = f"http://{HOST}:{server.get_port()}"
    page = None
    try:
        page = Page(server, source, cfg)
        print(f"Open {address} in a browser. Ctrl-C stops.", flush=True)
        page.run()
    except KeyboardInterrupt:
        print()
    finally:
        server.stop()
        if page is not None:
            page.close()
    summary: dict[str, Any] = {"url": address}
    if page is not None:
        summary |= page.summarise()
        print_summary(summary)
    return summary


def print_summary(summary: dict[str, Any]) -> None:
    """Print the numbers as a table, and which files there are."""
    from rich.table import Table

    table = Table("", "value", show_header=False)
    for key, value in summary.items():
        if key not in _NOT_SHOWN:
            if isinstance(value, dict):
                value = ", ".join(f"{name} {part}" for name, part in value.items())
            table.add_row(key.replace("_", " "), f"{value}")
    print_table(table)
    for name in summary.get("files", ()):
        print(f"Wrote {name}")
