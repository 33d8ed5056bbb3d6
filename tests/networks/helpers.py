"""Tiny networks and random observations with the groups of the environment."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict

from solo.networks.ame_model import AmeModel
from solo.networks.student import StudentModel
from solo.sensors.height_map import HeightMapCfg

MAP = HeightMapCfg(
    cells=(6, 8), cell_m=0.1, x_range_m=(-0.2, 0.6), y_range_m=(-0.3, 0.3)
)
AME: dict[str, Any] = {
    "dim": 12,
    "num_heads": 3,
    "hidden_channels": 4,
    "kernel_size": 3,
}
OPTIONS: dict[str, Any] = {
    "map_stride": 2,
    "strided": True,
    "value_dim": 5,
    "window_m": 0.1,
}
"""What the map encoder can do beyond the paper."""
GROUPS = {
    "teacher": ["teacher_proprioception", "base_velocity", "height_map"],
    "student": ["proprioception", "base_velocity", "height_map"],
    "critic": ["teacher_proprioception", "base_velocity", "height_map", "critic"],
}
GAUSSIAN = {"class_name": "GaussianDistribution", "init_std": 0.5}
NUM_ACTIONS = 5
MIRROR: dict[str, Any] = {
    "vector": {
        "source": [3, 4, 5, 0, 1, 2, 6, 7, 8, 9, 10, 11],
        "signs": [1.0, -1.0, 1.0] * 4,
    },
    "actions": {"source": [2, 3, 0, 1, 4], "signs": [1.0, -1.0, 1.0, -1.0, -1.0]},
}
"""A made-up mirror of the student's 12 numbers and 5 actions."""


def make_obs(*batch: int) -> TensorDict:
    """Random observations; the group ``depth`` belongs to nobody here."""
    return TensorDict(
        {
            "teacher_proprioception": torch.randn(*batch, 9),
            "proprioception": torch.randn(*batch, 9),
            "base_velocity": torch.randn(*batch, 3),
            "height_map": torch.randn(*batch, *MAP.cells) * 0.2 - 0.75,
            "critic": torch.randn(*batch, 4),
            "depth": torch.rand(*batch, 2, 4, 4),
        },
        batch_size=list(batch),
    )


def make_model(role: str, **changes: Any) -> Any:
    """A tiny teacher, student or critic."""
    settings: dict[str, Any] = {
        "hidden_dims": (16, 8),
        "ame_cfg": AME,
        "height_map_cfg": MAP,
    }
    if role != "critic":
        settings["distribution_cfg"] = GAUSSIAN
    if role == "student":
        settings["rnn_hidden_dim"] = 7
    kind = StudentModel if role == "student" else AmeModel
    outputs = 1 if role == "critic" else NUM_ACTIONS
    return kind(make_obs(2), GROUPS, role, outputs, **{**settings, **changes})


LEG: dict[str, Any] = {
    "pos_m": [[0.0, 0.1, 0.0], [0.0, 0.0, -0.7]],
    "rotation": [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]] * 2,
    "axis": [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]],
    "index": [6, 7],
    "default_rad": [0.1, 0.0],
}
FEET: dict[str, Any] = {
    "legs": [LEG, {**LEG, "pos_m": [[0.0, -0.1, 0.0], [0.0, 0.0, -0.7]]}],
    "features": 4,
}
"""A foot view of two made-up legs with a hip and an ankle each."""
