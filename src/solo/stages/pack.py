"""A run to share: its last checkpoint without what only resuming needs.

For a bit-exact resume, a checkpoint holds the whole state of the environments and the
discriminator's replay buffer. The next stage, evaluation and further training need
neither: without them a teacher of the laptop profile has 4 MB instead of 20.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from solo.checkpoints import write_checkpoint
from solo.errors import SoloError
from solo.files import written_aside
from solo.runs.folder import CONFIG, PARAMS, find_checkpoint
from solo.runs.run import load_checkpoint


def pack_run(run: Path, output: Path) -> dict[str, Any]:
    """Write a small run folder for later stages, evaluation and export.

    It can also be resumed, with new episodes and an empty replay buffer.

    Raises:
        SoloError: There is no run, or the new folder is not empty.
    """
    checkpoint = find_checkpoint(run)
    config, params = checkpoint.parent / CONFIG, checkpoint.parent / PARAMS
    if not config.is_file() or not params.is_dir():
        raise SoloError(
            f"There is no {CONFIG} or params beside {str(checkpoint)!r}. Give a run's "
            "folder, or a checkpoint in it."
        )
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise SoloError(
            f"The output {str(output)!r} is not empty. Choose a new folder."
        )
    try:
        state = lighten(load_checkpoint(checkpoint, "cpu"))
        env_steps = state["infos"]["total_steps"]
    except (LookupError, TypeError, AttributeError) as error:
        raise SoloError(
            f"The checkpoint {str(checkpoint)!r} is not one of `solo train`: "
            f"{error!r}. Use another one."
        ) from error
    output.mkdir(parents=True, exist_ok=True)
    # Without the printed networks, which nothing reads.
    shutil.copytree(params, output / PARAMS, ignore=shutil.ignore_patterns("*.txt"))
    write_checkpoint(output / checkpoint.name, state)
    # Last: without it the folder is not a run, so no half-written one is used.
    with written_aside(output / CONFIG) as unfinished:
        shutil.copyfile(config, unfinished)
    return {
        "output": str(output),
        "checkpoint": str(output / checkpoint.name),
        "iteration": state["iter"],
        "env_steps": env_steps,
        "bytes_before": checkpoint.stat().st_size,
        "bytes": (output / checkpoint.name).stat().st_size,
    }


def lighten(state: dict[str, Any]) -> dict[str, Any]:
    """A checkpoint's content without the environments and the discriminator's replay.

    Kept are networks, normalisers, optimisers and the curriculum.
    """
    light = {**state, "infos": {**state["infos"], "env_snapshot": None}}
    if (amp := state.get("amp_state_dict")) is not None:
        # Cloned: saving a slice would save all that it is a slice of.
        empty = {"rows": amp["replay"]["rows"][:0].clone(), "cursor": 0}
        light["amp_state_dict"] = {**amp, "replay": empty}
    return light
