"""What is recorded and trained; the options of ``solo recon`` are these fields.

Nothing heavy is imported here, so the command line can check its options at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from tyro.conf import Suppress

from solo.errors import FieldError, check_number, unknown_name
from solo.terrains.variants import VARIANTS

if TYPE_CHECKING:
    from solo.reconstruction.networks.interface import ReconstructionIoCfg

Split = Literal["train", "eval", "extent"]
ReconProfile = Literal["paper", "reduced", "laptop"]

HELD_OUT_SEED = 1_000_000
"""First terrain seed of held-out sets; training takes smaller ones."""

LEARNING_RATE = 5.0e-4
"""At the first update (paper)."""
WEIGHT_DECAY = 1.0e-4
"""AdamW's; the paper does not state the optimiser."""
MAX_GRAD_NORM = 1.0
"""Not stated for reconstructors; the paper's value for PPO."""


@dataclass(frozen=True)
class CollectCfg:
    """What to record."""

    split: Split = "train"
    """Split to record: training data, the held-out sets, or the stairs of two
    extents."""
    frames: int = 60_000
    """Frames of the train split, rounded up to whole shards."""
    terrain_seeds: tuple[int, ...] = (0, 1, 2, 3)
    """Terrain seeds of the train split, one per shard in turn (paper: four seeds)."""
    seed: int = 0
    """Seed of commands, starts and sensor errors."""
    robots: int = 64
    """Robots per shard of the train split."""
    steps: int = 200
    """Control steps per robot. They begin at rest in the middle of a patch: after 60
    steps most of what they see is still its level platform."""
    sets: Suppress[int] = 5
    """Independently generated held-out sets (paper: 5)."""
    repeats: Suppress[int] = 4
    """Robots per stairs and level of the extent split."""
    variants: Suppress[tuple[str, ...]] = tuple(VARIANTS)
    """Terrains."""
    num_levels: Suppress[int] = 10
    """Levels of difficulty."""

    def __post_init__(self) -> None:
        for name in ("frames", "robots", "steps"):
            check_number(name, getattr(self, name), 1)
        check_number("seed", self.seed, 0)
        taken = [s for s in self.terrain_seeds if not 0 <= s < HELD_OUT_SEED]
        if taken or not self.terrain_seeds:
            raise FieldError(
                "terrain_seeds",
                f"is {list(self.terrain_seeds)}; allowed are one or more from 0 to "
                f"{HELD_OUT_SEED - 1}. Larger ones are held out.",
            )


@dataclass(frozen=True)
class FitCfg:
    """One training; the same for all methods but for the name."""

    method: str = "qr"
    """qr, start or dpl; beyond the paper: start_memory, dpl_memory, qr_evidence and
    start_evidence."""
    updates: int = 15_000
    """Optimiser steps (paper: 15000)."""
    batch: int = 64
    """Windows per update; not stated in the paper."""
    seed: int = 0
    """Seed of network initialisation and sample order."""
    profile: ReconProfile = "paper"
    """Sizes: reduced halves the depth resolution; in laptop QR has a query per 2 x 2
    cells as well."""
    learning_rate: Suppress[float] = LEARNING_RATE
    """At the first update; it falls to 0 along half a cosine."""
    weight_decay: Suppress[float] = WEIGHT_DECAY
    """AdamW's."""
    max_grad_norm: Suppress[float] = MAX_GRAD_NORM
    """Gradients are clipped to this norm."""
    cells: int = 0
    """Queries that QR answers per update, drawn anew each time; 0 for all, as the
    paper. With a quarter of them (128; laptop 32) training takes a third less time."""
    neighbours: int = 1
    """Windows per robot in a batch, 4 steps apart; they share images, which are encoded
    once."""
    sequence: int = 8
    """Consecutive steps per robot in a batch, for start_memory and dpl_memory; the
    batch then has as many robots less."""
    device: str = "cpu"
    """Torch device."""

    def __post_init__(self) -> None:
        for name, minimum in (("updates", 1), ("batch", 1), ("seed", 0), ("cells", 0)):
            check_number(name, getattr(self, name), minimum)
        if self.profile not in (known := get_args(ReconProfile)):
            raise unknown_name("profile", self.profile, known, "Choose one of these.")
        for name in ("neighbours", "sequence"):
            size = getattr(self, name)
            if size < 1 or self.batch % size:
                raise FieldError(
                    name, f"is {size}; it must divide the batch of {self.batch}."
                )

    @property
    def io(self) -> ReconstructionIoCfg:
        """Sizes of inputs and outputs."""
        from solo.reconstruction.networks.interface import IO_PROFILES

        return IO_PROFILES[self.profile]
