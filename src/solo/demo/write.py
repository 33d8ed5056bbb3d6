"""The demo as files: one attempt, its movie, its plots and its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.progress import Progress

from solo.demo.ground import Ground
from solo.demo.moment import END_WORDS
from solo.demo.movie import draw_movie, save_movie
from solo.demo.plots import draw_plots
from solo.demo.record import Recording, record, thin_out
from solo.demo.tally import Tally
from solo.demo.walk import Walk
from solo.evaluation.policy_source import PolicySource
from solo.files import write_json
from solo.gl import INSTALL_HINT, NoGraphicsError
from solo.progress import make_progress

PLOTS, MOVIE, SUMMARY = "demo.png", "demo.gif", "summary.json"


def write_demo(
    source: PolicySource, ground: Ground, seconds: float | None, folder: Path
) -> dict[str, Any]:
    """Walk once from the start to the finish, a fall or the end of the time.

    Args:
        source: The policy.
        ground: Where to walk.
        seconds: Simulated time, at most; the terrain's own limit if None.
        folder: Where the files go; it exists.

    Returns:
        The summary, which is in the folder too. Without OpenGL there is no movie.
    """
    walk = Walk(source, ground)
    tally = Tally(walk.step_s)
    try:
        with make_progress() as progress:
            recording = record(walk, seconds or ground.time_s, tally, progress)
            summary = tally.summarise(source, ground)
            files = [folder / PLOTS]
            title = _title(summary, recording)
            draw_plots(recording, ground, walk.terrain, title, files[0])
            if _write_movie(walk, recording, folder / MOVIE, progress):
                files.append(folder / MOVIE)
    finally:
        walk.close()
    summary["files"] = [str(path) for path in (*files, folder / SUMMARY)]
    write_json(folder / SUMMARY, summary)
    return summary


def _write_movie(
    walk: Walk, recording: Recording, path: Path, progress: Progress
) -> bool:
    if not recording.frames:  # The runtime never let the policy act.
        return False
    try:
        pictures = draw_movie(walk, thin_out(recording.frames), progress)
    except NoGraphicsError:
        print(f"No OpenGL here, so no movie. To get it: {INSTALL_HINT}.")
        path.unlink(missing_ok=True)  # One of an earlier run would not fit.
        return False
    save_movie(pictures, path)
    return True


def _title(summary: dict[str, Any], recording: Recording) -> str:
    end = recording.moments[-1].end
    words = "time over" if end is None else END_WORDS[end]
    return (
        f"{summary['policy']} on {summary['terrain']}, difficulty "
        f"{summary['difficulty']:g}: {words} after {summary['distance_m']:.1f} m "
        f"and {summary['simulated_s']:.1f} s"
    )
