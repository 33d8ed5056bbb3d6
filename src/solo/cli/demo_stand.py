"""`solo demo --stand`: robots without a policy on the terrains of training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mjlab.envs import ManagerBasedRlEnv
from rich.progress import Progress

from solo.envs.agents import make_agent
from solo.envs.mdp.terrain import grid_terrain
from solo.files import write_json, written_aside
from solo.gl import INSTALL_HINT, NoGraphicsError
from solo.progress import make_progress
from solo.robots import get_robot
from solo.viewer import demo_pictures
from solo.viewer.browser import HOST, show, start_server
from solo.viewer.demo_run import AGENT, NOTE, Rollout, roll_out, summarise
from solo.viewer.gif import save_gif


def show_standing(env: ManagerBasedRlEnv, port: int) -> dict[str, Any]:
    """Open the viewer until the user interrupts."""
    env.reset()
    agent = make_agent(AGENT, env, get_robot("g1"))
    server = start_server(port)
    address = f"http://{HOST}:{server.get_port()}"
    print(f"Open {address} in a browser. Ctrl-C stops.", flush=True)
    try:
        show(env, agent, server, demo_pictures.choose_robots(grid_terrain(env))[0])
    finally:
        server.stop()
    return {"agent": AGENT, "trained_policy": False, "note": NOTE, "url": address}


def write_standing(
    env: ManagerBasedRlEnv, seconds: float, folder: Path
) -> dict[str, Any]:
    """Simulate some seconds and write pictures and ``summary.json``."""
    robot = get_robot("g1")
    with make_progress() as progress:
        rollout = roll_out(env, robot, seconds, progress)
        summary = summarise(rollout, robot)
        files = _draw(env, rollout, summary, folder, progress)
    path = folder / "summary.json"
    summary["files"] = [*files, str(path)]
    write_json(path, summary)
    return summary


def _draw(
    env: ManagerBasedRlEnv,
    rollout: Rollout,
    summary: dict[str, Any],
    folder: Path,
    progress: Progress,
) -> list[str]:
    """Draw in 3-D, or from above where that is not possible."""
    picture, movie = folder / "demo.png", folder / "demo.gif"
    title = (
        f"G1 standing under PD control with an ankle feedback, no trained policy: "
        f"{summary['standing']} of {summary['robots']} stand after "
        f"{summary['simulated_s']:g} s"
    )
    try:
        sheet, frames = demo_pictures.draw_scene(env, rollout, title, progress)
    except NoGraphicsError:
        print(f"No OpenGL here, so a map. For 3-D pictures: {INSTALL_HINT}.")
        with written_aside(picture) as unfinished:
            demo_pictures.draw_map(env, rollout, title, unfinished)
        return [str(picture)]
    with written_aside(picture) as unfinished:
        sheet.save(unfinished, format="PNG")
    with written_aside(movie) as unfinished:
        save_gif(frames, unfinished, 1 / demo_pictures.MOVIE_FPS)
    return [str(picture), str(movie)]
