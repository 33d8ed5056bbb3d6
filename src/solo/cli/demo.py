"""`solo demo`: a policy walks over a terrain, in the browser or as pictures.

Without a policy robots stand on the terrains of training.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from solo.bundles import SHIPPED_DIFFICULTY, shipped_bundle
from solo.cli.checks import check_at_least, check_difficulty, check_port
from solo.demo.terrains import COURSE, check_terrain
from solo.errors import SoloError

if TYPE_CHECKING:
    from solo.evaluation.policy_source import PolicySource

_NOT_SHOWN = ("note", "files", "ends", "training", "sha256")


@dataclass(frozen=True)
class Demo:
    """Let the trained policy walk a Unitree G1 over the indoor course of the paper.

    In a terminal it opens a page for the browser: robot, depth image, reconstructed
    against true ground, and controls to drive, to push and to change the terrain.
    Otherwise, or with --headless, it walks once and writes movie, plots and summary.
    """

    policy: Path | None = None
    """Bundle of `solo export`; the one that comes with the package if left out."""
    terrain: str = COURSE
    """The course, a terrain of the paper's real-world tests, or one of training."""
    difficulty: float | None = None
    """0 to 1, 1 is the paper's; if left out, what the policy of the package can do, 1
    for others, standing the levels of the curriculum."""
    headless: bool = False
    """Write pictures instead of opening the page."""
    output: Path = Path("demo_output")
    """Folder for demo.gif, demo.png and summary.json; created if it is not there."""
    seconds: float | None = None
    """Simulated time at most without a page; as long as it takes, standing 6 s."""
    seed: int = 0
    """Seed of starts and of random terrain."""
    port: int = 8080
    """Port of the page; the next free one if it is in use."""
    stand: bool = False
    """Show robots that stand on all terrains of training, without a policy."""
    num_robots: int = 34
    """Standing: number of robots; 17 is one per terrain."""
    backend: Literal["auto", "native", "warp"] = "auto"
    """Standing: physics, native on CPU or stock mjlab's Warp; auto is native on CPU."""
    json: Path | None = None
    """File to write the summary to, besides the one in the folder."""

    def run(self) -> dict[str, Any]:
        """Show the demo and return its summary.

        Raises:
            SoloError: If a name, a number, the policy or the folder is not usable.
        """
        self._check()
        headless = self.headless or not sys.stdout.isatty()
        if headless:
            _make_folder(self.output)
        policy = None if self.stand else self.policy or shipped_bundle()
        if policy is None:
            return self._stand(headless)
        return self._walk(policy, headless)

    def _check(self) -> None:
        if self.seconds is not None:
            check_at_least("seconds", self.seconds, 0.02)
        check_at_least("num_robots", self.num_robots, 1)
        check_at_least("seed", self.seed, 0)
        check_port(self.port)
        check_difficulty(self.difficulty)
        check_terrain(self.terrain)
        if self.policy is not None:
            if self.stand:
                raise SoloError(
                    f"--policy {str(self.policy)!r} and --stand exclude each other; "
                    "leave one of them out."
                )
            if not self.policy.exists():
                raise SoloError(
                    f"The policy {str(self.policy)!r} does not exist. Give a bundle "
                    "*.onnx; `solo export` makes one of a perceptive run."
                )

    def _walk(self, policy: Path, headless: bool) -> dict[str, Any]:
        print(f"Loading {policy.name} and the terrain {self.terrain}.", flush=True)
        from solo.demo.walk import open_bundle
        from solo.sim.threads import stepping_threads

        difficulty = self.difficulty
        if difficulty is None:
            difficulty = SHIPPED_DIFFICULTY if self.policy is None else 1.0
        source = open_bundle(policy)
        with stepping_threads():
            if not headless:
                return self._show_walk(source, difficulty)

            from solo.demo.ground import make_ground
            from solo.demo.write import write_demo

            ground = make_ground(self.terrain, difficulty, self.seed)
            summary = write_demo(source, ground, self.seconds, self.output)
        print_summary(summary)
        return summary

    def _show_walk(self, source: PolicySource, difficulty: float) -> dict[str, Any]:
        from solo.demo.controls import Choice
        from solo.demo.page import Page
        from solo.viewer.browser import HOST, start_server

        server = start_server(self.port)
        address = f"http://{HOST}:{server.get_port()}"
        page = None
        try:
            page = Page(server, source, Choice(self.terrain, difficulty), self.seed)
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

    def _stand(self, headless: bool) -> dict[str, Any]:
        from solo.cli.demo_stand import show_standing, write_standing
        from solo.robots import get_robot
        from solo.sim.threads import stepping_threads
        from solo.viewer.demo_run import NOTE, make_demo_env

        print(NOTE, flush=True)
        with stepping_threads():
            env = make_demo_env(
                get_robot("g1"),
                self.num_robots,
                self.difficulty,
                self.seed,
                self.backend,
            )
            try:
                if not headless:
                    return show_standing(env, self.port)
                summary = write_standing(env, self.seconds or 6.0, self.output)
            finally:
                env.close()
        print_summary(summary)
        return summary


def print_summary(summary: dict[str, Any]) -> None:
    """Print the numbers as a table, and which files there are."""
    from rich.console import Console
    from rich.table import Table

    table = Table("", "value", show_header=False)
    for key, value in summary.items():
        if key not in _NOT_SHOWN:
            if isinstance(value, dict):
                value = ", ".join(f"{name} {part}" for name, part in value.items())
            table.add_row(key.replace("_", " "), f"{value}")
    Console().print(table)
    for name in summary.get("files", ()):
        print(f"Wrote {name}")


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SoloError(
            f"Cannot create the folder {str(path)!r}: {error.strerror or error}. "
            "Choose another --output."
        ) from error
