"""Sizes of a reconstructor's learning: offline, and in stage 3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class PerceptionCfg:
    """The reconstructor's part of stage 3; the defaults are the paper's size."""

    reconstructor: str = "qr"
    """Key of `RECONSTRUCTORS`, if a run does not ask for another."""
    samples: int = 8_192
    """Windows kept of a rollout; not stated in the paper."""
    batch: int = 512
    """Windows per update of the reconstructor; not stated in the paper."""
    updates: int = 16
    """Updates of the reconstructor per iteration; not stated in the paper."""
    streaming: bool = True
    """Encode one image per step and keep the tokens of older ones (QR)."""
    warm_up_iterations: int = 0
    """Iterations at the start in which the student still sees what stage 2 showed it.

    Not in the paper, which attaches the reconstructor at once. An untrained one shows
    flat ground and no motion; a student that has few samples to recover from it falls
    out of its gait, and the reconstructor then learns from falls.
    """
    warm_up_updates: int = 0
    """Updates of the reconstructor in each of those."""
    cells: int = 0
    """Queries that a query network answers per update, others each time; 0 for all. Not
    in the paper."""
    neighbours: int = 1
    """Windows of a batch that are of one robot and so share images, which are encoded
    once; 1 for independent windows. Not in the paper."""
    check_every: int = 50
    """Iterations between two looks at what happens without depth."""
    network: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the reconstructor's config that differ from its defaults."""


@dataclass(frozen=True)
class OfflineCfg:
    """A reconstructor's training on recorded data; the defaults are the paper's."""

    frames: int = 249_000
    """Frames that the teacher records."""
    robots: int = 64
    """Robots per shard of the recording; not stated in the paper."""
    steps: int = 200
    """Control steps per robot; not stated in the paper."""
    updates: int = 15_000
    """Optimiser steps."""
    batch: int = 64
    """Windows per update; not stated in the paper."""
