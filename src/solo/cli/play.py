"""`solo play`: a task with what its robots perceive, in the browser or as pictures."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from solo.cli.checks import (
    check_at_least,
    check_difficulty,
    check_picture_path,
    check_port,
)
from solo.errors import SoloError, unknown_name
from solo.files import written_aside
from solo.terrains.variants import get_variant

if TYPE_CHECKING:
    from mjlab.envs import ManagerBasedRlEnv

    from solo.envs.agents import Agent
    from solo.viewer.play_run import Tally

_PICTURE = Path("play.png")


@dataclass(frozen=True)
class Play:
    """Look at a task: the robot, its depth images and its height map.

    Opens a viewer for the browser. With --headless-frames it writes pictures instead.
    """

    task: Annotated[Positional[str], arg(metavar="TASK")]
    """Id of the task; `solo tasks` lists them."""
    agent: str = "stand"
    """What acts: zero (the default pose), random, or stand (an ankle feedback)."""
    num_envs: int = 4
    """Number of robots."""
    difficulty: float | None = None
    """Difficulty of all terrains, 0 to 1; the curriculum's levels if left out."""
    terrains: tuple[str, ...] = ()
    """Names of the terrain variants; none means the task's own."""
    seed: int = 0
    """Seed of robots, commands and camera errors."""
    clean_depth: bool = False
    """Give the network depth without the camera errors of training."""
    port: int = 8080
    """Port of the viewer; the next free one if it is in use."""
    headless_frames: int | None = None
    """Write this many frames as pictures instead of opening the viewer."""
    frame_steps: int = 5
    """Control steps (of 0.02 s) from one frame to the next."""
    output: Path | None = None
    """File for the frames: .png for a sheet (the default is play.png), .gif to move."""
    json: Path | None = None
    """File to write the summary to: steps, falls, mean reward of each term."""

    def run(self) -> dict[str, Any]:
        """Play and return the summary.

        Raises:
            SoloError: If a name, number or path is not usable.
        """
        self._check_options()

        from solo.envs.agents import AGENTS
        from solo.envs.tasks import TASKS
        from solo.sim.threads import stepping_threads
        from solo.viewer.play_run import PlayCfg, make_play_env

        if self.task not in TASKS:
            raise unknown_name("task", self.task, TASKS, "Run `solo tasks`.")
        if self.agent not in AGENTS:
            raise unknown_name("agent", self.agent, AGENTS, "Choose one of these.")
        cfg = PlayCfg(
            self.task,
            self.num_envs,
            self.terrains,
            self.difficulty,
            self.seed,
            self.clean_depth,
        )
        with stepping_threads():
            env = make_play_env(cfg)
            try:
                return self._play(env)
            finally:
                env.close()

    def _check_options(self) -> None:
        check_at_least("num_envs", self.num_envs, 1)
        check_at_least("seed", self.seed, 0)
        check_at_least("frame_steps", self.frame_steps, 1)
        check_port(self.port)
        check_difficulty(self.difficulty)
        for name in self.terrains:
            get_variant(name)
        if len(set(self.terrains)) != len(self.terrains):
            raise SoloError(
                f"--terrains names one twice: {', '.join(self.terrains)}. "
                "Name each once."
            )
        if self.headless_frames is not None:
            check_at_least("headless_frames", self.headless_frames, 1)
            check_picture_path(self.output or _PICTURE, (".png", ".gif"))
        elif self.output is not None:
            raise SoloError(
                f"--output is {str(self.output)!r}, but the viewer writes no pictures. "
                "Add --headless-frames N."
            )

    def _play(self, env: ManagerBasedRlEnv) -> dict[str, Any]:
        from solo.envs.agents import make_agent
        from solo.envs.mdp.terrain import grid_terrain
        from solo.robots import get_robot
        from solo.viewer.demo_pictures import choose_robots
        from solo.viewer.play_run import Tally

        env.reset()
        agent = make_agent(self.agent, env, get_robot("g1"))
        tally, watched = Tally(env), choose_robots(grid_terrain(env))[0]
        if self.headless_frames is None:
            more = self._show(env, agent, tally, watched)
        else:
            more = self._write(env, agent, tally, watched, self.headless_frames)
        return {
            "task": self.task,
            "agent": self.agent,
            **tally.summarise(),
            **more,
        }

    def _show(
        self, env: ManagerBasedRlEnv, agent: Agent, tally: Tally, watched: int
    ) -> dict[str, Any]:
        from solo.robots import get_robot
        from solo.viewer.browser import HOST, show, start_server
        from solo.viewer.sight_panel import SightPanel

        server = start_server(self.port)
        address = f"http://{HOST}:{server.get_port()}"
        print(f"Open {address} in a browser. Ctrl-C stops.", flush=True)
        try:
            panel = SightPanel(server, env, get_robot("g1").base_height_m)
            show(env, agent, server, watched, panel, tally.add_step)
        finally:
            server.stop()
        return {"url": address}

    def _write(
        self,
        env: ManagerBasedRlEnv,
        agent: Agent,
        tally: Tally,
        watched: int,
        num_frames: int,
    ) -> dict[str, Any]:
        from solo.gl import INSTALL_HINT, NoGraphicsError
        from solo.progress import make_progress
        from solo.robots import get_robot
        from solo.viewer.gif import save_gif
        from solo.viewer.play_pictures import draw_rows, draw_views, join_rows
        from solo.viewer.play_run import describe_place, record
        from solo.viewer.sight import Eyes

        place, output = describe_place(env, watched), self.output or _PICTURE
        with make_progress() as progress:
            endless = record(env, agent, watched, self.frame_steps, tally)
            frames = islice(endless, num_frames)
            moments = list(progress.track(frames, num_frames, description="playing"))
        try:
            views = draw_views(env, moments)
        except NoGraphicsError:
            print(f"No OpenGL here, so no 3-D view. To get it: {INSTALL_HINT}.")
            views = None
        rows = draw_rows(Eyes(env), get_robot("g1").base_height_m, moments, views)
        title = f"{self.task}, agent {self.agent}, robot {watched} on {place}"
        with written_aside(output) as unfinished:
            if output.suffix.lower() == ".png":
                join_rows(rows, title).save(unfinished, format="PNG")
            else:
                sheets = [join_rows([row], title) for row in rows]
                save_gif(sheets, unfinished, self.frame_steps * env.step_dt, 256)
        print(f"Wrote {output}")
        return {
            "output": str(output),
            "frames": num_frames,
            "robot": watched,
            "place": place,
            "has_3d_view": views is not None,
        }
