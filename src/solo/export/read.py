"""Torch modules from a bundle: its weights have their names, its metadata the sizes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import torch
from onnx import numpy_helper
from tensordict import TensorDict

from solo.errors import SoloError
from solo.export.graph import PolicyGraph
from solo.networks.student import StudentModel
from solo.reconstruction.networks import make_reconstructor


def read_torch(path: Path, architecture: Mapping[str, Any]) -> PolicyGraph:
    """The networks of a bundle as a torch module; nothing is reused between steps.

    The architecture is in the bundle's metadata.
    """
    student = make_student(architecture["student"])
    recipe = architecture["reconstructor"]
    reconstructor = make_reconstructor(recipe["name"], **recipe["fields"])
    graph = PolicyGraph(student, reconstructor)
    weights = read_weights(path)
    state = graph.state_dict()
    for name in state:
        if name in weights:
            state[name] = weights[name]
        elif not name.endswith((".count", "._var")):  # Of no use but to learn on.
            raise SoloError(
                f"The bundle {path.name!r} has no weight {name!r}. Export it again."
            )
    graph.load_state_dict(state)
    return graph


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    """The weights of a bundle by the names they have in its `PolicyGraph`."""
    try:
        model = onnx.load(str(path))
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise SoloError(
            f"Cannot read the bundle {str(path)!r}: {reason}. Give a file that "
            "`solo export` wrote."
        ) from error
    weights = {w.name: numpy_helper.to_array(w) for w in model.graph.initializer}
    return {name: torch.from_numpy(value.copy()) for name, value in weights.items()}


def read_student(path: Path) -> dict[str, torch.Tensor]:
    """The student of a bundle by the names it has in training.

    A bundle lacks what only learning needs: action noise, and the number of samples
    that the normaliser has seen.
    """
    state = _part(read_weights(path), "student.")
    for name in list(state):
        if name.startswith("memory."):
            state[f"rnn.rnn.{name.removeprefix('memory.')}"] = state.pop(name)
    if "obs_normalizer._std" in state:
        state["obs_normalizer._var"] = state["obs_normalizer._std"].square()
    return state


def read_reconstructor(path: Path) -> dict[str, torch.Tensor]:
    """The reconstructor of a bundle by the names it has in training."""
    return _part(read_weights(path), "reconstructor.")


def _part(weights: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in weights.items()
        if name.startswith(prefix)
    }


def make_student(recipe: Mapping[str, Any]) -> StudentModel:
    """An untrained student from ``architecture.student`` of a bundle's metadata."""
    groups = {name: torch.zeros(1, *shape) for name, shape in recipe["groups"]}
    obs = TensorDict(groups, batch_size=[1])
    kind = recipe["distribution"]
    return StudentModel(
        obs,
        {"actor": list(groups)},
        "actor",
        recipe["output_dim"],
        hidden_dims=recipe["hidden_dims"],
        activation=recipe["activation"],
        obs_normalization=recipe["obs_normalization"],
        distribution_cfg=None if kind is None else {"class_name": kind},
        ame_cfg=recipe["ame_cfg"],
        height_map_cfg=recipe["height_map_cfg"],
        rnn_hidden_dim=recipe["rnn_hidden_dim"],
        rnn_num_layers=recipe["rnn_num_layers"],
        mirror=recipe.get("mirror"),
        foot_view_cfg=recipe.get("foot_view_cfg"),
    )
