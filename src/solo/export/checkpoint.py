"""Student and reconstructor of a perceptive run, from its folder alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import yaml
from tensordict import TensorDict

from solo.errors import SoloError
from solo.networks.reconstruction import make_reconstructor
from solo.networks.reconstruction.interface import Reconstructor
from solo.networks.student import StudentModel


@dataclass(frozen=True, eq=False)
class TrainedPolicy:
    """What a run has learned, and how it was set up."""

    student: StudentModel
    reconstructor: Reconstructor
    run: dict[str, Any]
    """``run.json``."""
    iteration: int
    """Iteration of the checkpoint."""
    checkpoint: Path
    """The file."""


def load_policy(checkpoint: Path) -> TrainedPolicy:
    """Read a checkpoint of the perceptive stage, beside its ``run.json``.

    Raises:
        SoloError: It is of another stage, or a file is missing or cannot be read.
    """
    folder = checkpoint.parent
    try:
        run = json.loads((folder / "run.json").read_text())
        agent = yaml.safe_load((folder / "params" / "agent.yaml").read_text())
        saved = torch.load(checkpoint, map_location="cpu", weights_only=True)
    except Exception as error:  # Each library has errors of its own.
        reason = " ".join(str(error).split())[:200]
        raise SoloError(
            f"Cannot read the run of {str(checkpoint)!r}: {reason}. Give a checkpoint "
            "in the folder of its run, with run.json and params/agent.yaml."
        ) from error
    if "reconstructor" not in saved:
        raise SoloError(
            f"{str(checkpoint)!r} is a policy of stage {run.get('stage')!r}: it sees "
            "the true height map and velocity, which a robot does not have. Export a "
            "student of the perceptive stage (`solo train perceptive`)."
        )
    try:
        state = saved["reconstructor"]
        reconstructor = make_reconstructor(state["name"], **state["fields"])
        reconstructor.load_state_dict(state["model"])
        student = _student(agent, reconstructor, saved["actor_state_dict"])
        iteration = int(saved["iter"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise SoloError(
            f"The networks in {str(checkpoint)!r} do not fit its params/agent.yaml: "
            f"{reason}. Give a checkpoint in the folder of its run."
        ) from error
    return TrainedPolicy(
        student.eval(), reconstructor.eval(), run, iteration, checkpoint
    )


def _student(
    agent: dict[str, Any], reconstructor: Reconstructor, state: dict[str, torch.Tensor]
) -> StudentModel:
    settings = {k: v for k, v in agent["actor"].items() if k != "class_name"}
    io = reconstructor.io
    shapes = {
        "proprioception": (io.proprioception_dim,),
        "reconstructed_velocity": (3,),
        "reconstructed_map": io.height_map.cells,
    }
    groups = agent["obs_groups"]["actor"]
    obs = TensorDict({g: torch.zeros(1, *shapes[g]) for g in groups}, batch_size=[1])
    joints = (io.proprioception_dim - 9) // 3
    student = StudentModel(obs, {"actor": groups}, "actor", joints, **settings)
    student.load_state_dict(state)
    return student
