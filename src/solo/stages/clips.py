"""Short videos of the robot during training, each made by a process of its own.

That process gets a copy of the policy and nothing else, so clips can neither change nor
break a training.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from solo.checkpoints import write_checkpoint
from solo.errors import SoloError
from solo.runs.folder import CONFIG, PARAMS
from solo.stages.pack import lighten

CLIPS = "clips"
"""Folder of the clips in a run's folder."""

TERRAIN, SECONDS = "course", 8.0
"""Where the robot walks, and for how long at most."""

_MAX_WAIT_S = 600.0


def write_clip(run: Path, state: dict[str, Any], difficulty: float) -> Path | None:
    """Film the policy of a checkpoint with ``solo play``; the video, in `CLIPS`.

    A clip that cannot be made is reported in one line and left out: None.
    """
    name = f"model_{state['iter']}"
    path = run / CLIPS / f"{name}.mp4"
    try:
        with TemporaryDirectory() as folder:
            copy = Path(folder)
            shutil.copyfile(run / CONFIG, copy / CONFIG)
            shutil.copytree(run / PARAMS, copy / PARAMS)
            write_checkpoint(copy / f"{name}.pt", lighten(state))
            path.parent.mkdir(exist_ok=True)
            problem = _play(copy / f"{name}.pt", difficulty, path)
    except subprocess.TimeoutExpired:
        problem = f"`solo play` took more than {_MAX_WAIT_S:.0f} s."
    except (OSError, SoloError) as error:
        problem = str(error)
    if problem is not None:
        print(f"No clip of iteration {state['iter']}: {problem}", flush=True)
        return None
    print(f"Wrote {path}", flush=True)
    return path


def _play(checkpoint: Path, difficulty: float, path: Path) -> str | None:
    """Run the command; returns what went wrong."""
    options = {
        "--terrain": TERRAIN,
        "--difficulty": f"{difficulty:.3f}",
        "--seconds": f"{SECONDS}",
        "--output": str(path),
    }
    words = [word for option in options.items() for word in option]
    done = subprocess.run(
        [sys.executable, "-m", "solo.cli.main", "play", str(checkpoint), *words],
        # The robot may be in a module that only this process knows where to find.
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=_MAX_WAIT_S,
    )
    if done.returncode == 0:
        return None
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
