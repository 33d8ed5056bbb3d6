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
from solo.export.graph import PolicyGraph, make_graph
from solo.networks.reconstruction import make_reconstructor
from solo.networks.student import StudentModel


def read_torch(
    path: Path, architecture: Mapping[str, Any], streaming: bool = False
) -> PolicyGraph:
    """The networks of a bundle as a torch module.

    Args:
        path: The bundle.
        architecture: ``architecture`` of its metadata.
        streaming: As `make_graph`; without it nothing is reused between steps.

    Raises:
        SoloError: A weight is missing.
    """
    student = make_student(architecture["student"])
    recipe = architecture["reconstructor"]
    reconstructor = make_reconstructor(recipe["name"], **recipe["fields"])
    graph = make_graph(student, reconstructor, streaming)
    model = onnx.load(str(path))
    weights = {w.name: numpy_helper.to_array(w) for w in model.graph.initializer}
    state = graph.state_dict()
    for name in state:
        if name in weights:
            state[name] = torch.from_numpy(weights[name].copy())
        elif not name.endswith((".count", "._var")):  # Of no use but to learn on.
            raise SoloError(
                f"The bundle {path.name!r} has no weight {name!r}. Export it again."
            )
    graph.load_state_dict(state)
    return graph


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
    )
