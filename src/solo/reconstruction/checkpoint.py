"""A reconstructor in training, and the file that keeps it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Literal

import torch
from torch import nn

from solo.errors import SoloError, unknown_name
from solo.files import written_aside
from solo.networks.reconstruction import RECONSTRUCTORS, make_reconstructor
from solo.networks.reconstruction.interface import IO_PROFILES, ReconstructionIoCfg
from solo.reconstruction.windows import Recording, Resolution

CHECKPOINT = "checkpoint.pt"

ModelFactory = Callable[["FitCfg"], nn.Module]
"""Makes the network of a training."""


@dataclass(frozen=True)
class FitCfg:
    """One training; the same for all methods but for the name."""

    method: str
    """Key of `RECONSTRUCTORS`."""
    updates: int = 15_000
    """Optimisation steps (paper: 15k)."""
    batch: int = 64
    """Windows per update; not stated in the paper."""
    seed: int = 0
    """Seed of the network and of the order of the samples."""
    profile: Literal["paper", "laptop"] = "paper"
    """Sizes, see `IO_PROFILES`; ``laptop`` has half the resolution of depth and map."""
    learning_rate: float = 5e-4
    """At the first update; it falls to 0 along half a cosine (paper)."""
    weight_decay: float = 1e-4
    """AdamW's; the paper does not state the optimiser."""
    max_grad_norm: float = 1.0
    """Not stated for reconstructors; the paper's value for PPO."""
    device: str = "cpu"
    """Torch device."""

    def __post_init__(self) -> None:
        if self.profile not in IO_PROFILES:
            raise unknown_name(
                "profile", self.profile, IO_PROFILES, "Choose one of these."
            )

    @property
    def io(self) -> ReconstructionIoCfg:
        """Sizes of inputs and outputs."""
        return IO_PROFILES[self.profile]

    def open(self, folder: Path) -> Recording:
        """A split at the profile's resolution."""
        recording = Recording(folder)
        rows = recording.image_shape[0]
        recording.resolution = Resolution(
            depth_stride=-(-rows // self.io.depth_shape[0]),
            map_stride=self.io.map_stride,
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
    curve: list[dict[str, float]] = dataclasses.field(default_factory=list)
    """Means of the loss's parts, one entry per `CURVE_EVERY` updates."""
    pending: list[dict[str, float]] = dataclasses.field(default_factory=list)
    """Updates since the last point of the curve."""

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


def make_optimizer(cfg: FitCfg, model: nn.Module) -> torch.optim.Optimizer:
    """AdamW; the learning rate is set before each update."""
    return torch.optim.AdamW(
        model.parameters(), lr=cfg.learning_rate, weight_decay=cfg.weight_decay
    )


def save(state: Fit, output: Path) -> None:
    """Write the checkpoint: everything that going on needs."""
    output.mkdir(parents=True, exist_ok=True)
    values: dict[str, Any] = {
        "cfg": dataclasses.asdict(state.cfg),
        "model": state.model.state_dict(),
        "optimizer": state.optimizer.state_dict(),
        "rng": torch.get_rng_state(),
        "progress": {
            k: getattr(state, k)
            for k in ("data", "update", "seconds", "curve", "pending")
        },
    }
    with written_aside(output / CHECKPOINT) as temporary:
        torch.save(values, temporary)


def load(output: Path, device: str = "cpu", factory: ModelFactory = make_model) -> Fit:
    """Read a checkpoint.

    Raises:
        SoloError: There is none, or it cannot be read.
    """
    path = output / CHECKPOINT
    try:
        values = torch.load(path, map_location=device, weights_only=True)
        cfg = FitCfg(**{**values["cfg"], "device": device})
        model = factory(cfg).to(device)
        model.load_state_dict(values["model"])
        optimizer = make_optimizer(cfg, model)
        optimizer.load_state_dict(values["optimizer"])
        torch.set_rng_state(values["rng"].cpu())
        return Fit(cfg, model, optimizer, **values["progress"])
    except (OSError, KeyError, TypeError, RuntimeError, UnpicklingError) as error:
        reason = " ".join(str(error).split())[:200]
        raise SoloError(
            f"Cannot read the training {str(path)!r}: {reason}. Give the folder of a "
            "training by `solo recon train`."
        ) from error
