"""`solo demo`: robots on the terrain, in the browser or as pictures."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.table import Table

from solo.cli.checks import check_at_least, check_difficulty, check_port
from solo.errors import SoloError
from solo.files import write_json, written_aside

if TYPE_CHECKING:
    from mjlab.envs import ManagerBasedRlEnv
    from rich.progress import Progress

    from solo.viewer.demo_run import Rollout


@dataclass(frozen=True)
class Demo:
    """Show Unitree G1 robots on the terrain of the paper.

    In a terminal it opens a viewer for the browser. Otherwise, or with --headless, it
    simulates some seconds and writes pictures and a summary.
    """

    headless: bool = False
    """Write pictures instead of opening the viewer."""
    output: Path = Path("demo_output")
    """Folder for demo.png, demo.gif and summary.json; created if it is not there."""
    seconds: float = 6.0
    """Simulated time; the viewer runs until it is stopped."""
    num_robots: int = 34
    """Number of robots; 17 is one per terrain."""
    difficulty: float | None = None
    """Difficulty of all terrains, 0 to 1; the curriculum's levels if left out."""
    seed: int = 0
    """Seed of the robots' positions and headings."""
    backend: Literal["auto", "native", "warp"] = "auto"
    """Physics: native on CPU, or stock mjlab's Warp; auto is native on CPU."""
    port: int = 8080
    """Port of the viewer; the next free one if it is in use."""
    json: Path | None = None
    """File to write the summary to, besides the one in the folder."""

    def run(self) -> dict[str, Any]:
        """Show the demo and return its summary.

        Raises:
            SoloError: If a number or the folder is not usable.
        """
        self._check()
        headless = self.headless or not sys.stdout.isatty()
        if headless:
            _make_folder(self.output)

        from solo.robots import get_robot
        from solo.sim.threads import stepping_threads
        from solo.viewer.demo_run import NOTE, make_demo_env

        print(NOTE, flush=True)
        robot = get_robot("g1")
        with stepping_threads():
            env = make_demo_env(
                robot, self.num_robots, self.difficulty, self.seed, self.backend
            )
            try:
                return self._write(env) if headless else self._show(env)
            finally:
                env.close()

    def _check(self) -> None:
        check_at_least("seconds", self.seconds, 0.02)
        check_at_least("num_robots", self.num_robots, 1)
        check_at_least("seed", self.seed, 0)
        check_port(self.port)
        check_difficulty(self.difficulty)

    def _show(self, env: ManagerBasedRlEnv) -> dict[str, Any]:
        from solo.envs.agents import make_agent
        from solo.envs.mdp.terrain import grid_terrain
        from solo.robots import get_robot
        from solo.viewer.browser import HOST, show, start_server
        from solo.viewer.demo_pictures import choose_robots
        from solo.viewer.demo_run import AGENT, NOTE

        env.reset()
        agent = make_agent(AGENT, env, get_robot("g1"))
        server = start_server(self.port)
        address = f"http://{HOST}:{server.get_port()}"
        print(f"Open {address} in a browser. Ctrl-C stops.", flush=True)
        try:
            show(env, agent, server, choose_robots(grid_terrain(env))[0])
        finally:
            server.stop()
        return {"agent": AGENT, "trained_policy": False, "note": NOTE, "url": address}

    def _write(self, env: ManagerBasedRlEnv) -> dict[str, Any]:
        from solo.progress import make_progress
        from solo.robots import get_robot
        from solo.viewer.demo_run import roll_out, summarise

        robot = get_robot("g1")
        with make_progress() as progress:
            rollout = roll_out(env, robot, self.seconds, progress)
            summary = summarise(rollout, robot)
            summary["files"] = self._draw(env, rollout, summary, progress)
        path = self.output / "summary.json"
        write_json(path, summary)
        table = Table("", "value", show_header=False)
        for key, value in summary.items():
            if key not in ("note", "files"):
                table.add_row(key.replace("_", " "), f"{value}")
        Console().print(table)
        for name in (*summary["files"], str(path)):
            print(f"Wrote {name}")
        return summary

    def _draw(
        self,
        env: ManagerBasedRlEnv,
        rollout: Rollout,
        summary: dict[str, Any],
        progress: Progress,
    ) -> list[str]:
        """Draw in 3-D, or from above where that is not possible."""
        from solo.gl import INSTALL_HINT, NoGraphicsError
        from solo.viewer.demo_pictures import draw_map, draw_scene, save_movie

        picture, movie = self.output / "demo.png", self.output / "demo.gif"
        title = (
            f"G1 standing under PD control with an ankle feedback, no trained policy: "
            f"{summary['standing']} of {summary['robots']} stand after "
            f"{summary['simulated_s']:g} s"
        )
        try:
            sheet, frames = draw_scene(env, rollout, title, progress)
        except NoGraphicsError:
            print(f"No OpenGL here, so a map. For 3-D pictures: {INSTALL_HINT}.")
            with written_aside(picture) as unfinished:
                draw_map(env, rollout, title, unfinished)
            return [str(picture)]
        with written_aside(picture) as unfinished:
            sheet.save(unfinished, format="PNG")
        with written_aside(movie) as unfinished:
            save_movie(frames, unfinished)
        return [str(picture), str(movie)]


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SoloError(
            f"Cannot create the folder {str(path)!r}: {error.strerror or error}. "
            "Choose another --output."
        ) from error
