"""A reconstructor in training, and the file that keeps it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from solo.checkpoints import read_checkpoint, write_checkpoint
from solo.errors import SoloError, unknown_name
from solo.reconstruction.cfg import FitCfg
from solo.reconstruction.data.windows import WindowSet
from solo.reconstruction.networks import RECONSTRUCTORS, make_reconstructor
from solo.reconstruction.networks.interface import State
from solo.reconstruction.update import make_optimizer

CHECKPOINT = "checkpoint.pt"

ModelFactory = Callable[[FitCfg], nn.Module]
"""Makes the network of a training."""


def open_split(cfg: FitCfg, folder: Path) -> WindowSet:
    """A split, whose images must have the profile's size.

    Raises:
        SoloError: It is missing, damaged or of another size.
    """
    recording = WindowSet(folder, cfg.io)
    if recording.image_shape != cfg.io.depth_shape:
        found, wanted = (
            f"{c} x {r}" for r, c in (recording.image_shape, cfg.io.depth_shape)
        )
        raise SoloError(
            f"The images in {str(folder)!r} are {found}; profile {cfg.profile} takes "
            f"{wanted}. Record with --profile {cfg.profile}: pixels of a smaller image "
            "look elsewhere than every second one of a larger."
        )
    return recording


@dataclass
class Fit:
    """A trained, or half trained, reconstructor."""

    cfg: FitCfg
    model: nn.Module
    optimizer: torch.optim.Optimizer
    data: list[str]
    """Checksums of the shards it is trained on."""
    update: int = 0
    """Updates done."""
    seconds: float = 0.0
    """Time spent in updates."""
    cpu_seconds: float = 0.0
    """Time of all cores in updates, which other work on the machine does not change."""
    curve: list[dict[str, float]] = dataclasses.field(default_factory=list)
    """Means of the loss's parts, one entry per `CURVE_EVERY` updates."""
    pending: list[dict[str, float]] = dataclasses.field(default_factory=list)
    """Updates since the last point of the curve."""
    memory: State | None = None
    """What a method with a memory of the episode has seen so far."""

    @property
    def num_parameters(self) -> int:
        """Trained numbers."""
        return sum(p.numel() for p in self.model.parameters())

    @property
    def samples_per_s(self) -> float:
        """Training speed."""
        return self.update * self.cfg.batch / max(self.seconds, 1e-9)


def make_model(cfg: FitCfg) -> nn.Module:
    """The network of a method at the profile's size.

    Raises:
        SoloError: There is no such method.
    """
    if cfg.method not in RECONSTRUCTORS:
        raise unknown_name(
            "method", cfg.method, RECONSTRUCTORS, "Choose one or more of these."
        )
    return make_reconstructor(cfg.method, io=cfg.io)


_PROGRESS = (
    "data", "update", "seconds", "cpu_seconds", "curve", "pending", "memory"
)  # fmt: skip


def save(state: Fit, output: Path) -> None:
    """Write the checkpoint: everything that going on needs."""
    output.mkdir(parents=True, exist_ok=True)
    values: dict[str, Any] = {
        "cfg": dataclasses.asdict(state.cfg),
        "model": state.model.state_dict(),
        "optimizer": state.optimizer.state_dict(),
        "rng": torch.get_rng_state(),
        "progress": {k: getattr(state, k) for k in _PROGRESS},
    }
    write_checkpoint(output / CHECKPOINT, values)


def load(output: Path, device: str = "cpu", factory: ModelFactory = make_model) -> Fit:
    """Read a checkpoint.

    Raises:
        SoloError: There is none, or it cannot be read.
    """
    path = output / CHECKPOINT
    values = read_checkpoint(path, device)
    try:
        cfg = FitCfg(**{**values["cfg"], "device": device})
        model = factory(cfg).to(device)
        model.load_state_dict(values["model"])
        optimizer = make_optimizer(model, cfg.learning_rate, cfg.weight_decay)
        optimizer.load_state_dict(values["optimizer"])
        torch.set_rng_state(values["rng"].cpu())
        return Fit(cfg, model, optimizer, **values["progress"])
    # Values of other types than ours fail in as many ways.
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise SoloError(
            f"Cannot read the training {str(path)!r}: {reason}. Give the folder of a "
            "training by `solo recon train`."
        ) from error
