"""Training of one reconstructor on recorded data, and the file that keeps it.

Everything that decides the result is a function of the seed and the update number: the
order of the samples (the same for all methods), and the learning rate. So an
interrupted training goes on exactly, and methods meet the same samples.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from solo.checkpoints import read_checkpoint, write_checkpoint
from solo.cpu import keep_freed_memory, onednn_linear
from solo.errors import SoloError, unknown_name
from solo.progress import make_progress
from solo.reconstruction.cfg import FitCfg
from solo.reconstruction.data.windows import WindowSet
from solo.reconstruction.networks import RECONSTRUCTORS, make_reconstructor
from solo.reconstruction.networks.attention_kernel import fast_small_heads
from solo.reconstruction.networks.dense import DenseReconstructor
from solo.reconstruction.networks.interface import State
from solo.reconstruction.update import Batch, cosine, make_optimizer, update

CHECKPOINT = "checkpoint.pt"

ModelFactory = Callable[[FitCfg], nn.Module]
"""Makes the network of a training."""

SAVE_EVERY_S = 60.0
"""Time between checkpoints."""

CURVE_EVERY = 100
"""Updates that are averaged into one point of the curve."""


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
    """The network of a method at the profile's size."""
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


def batch_indices(seed: int, update: int, batch: int, num_samples: int) -> np.ndarray:
    """The samples of one update, [batch]: every sample once before any comes again."""
    numbers = update * batch + np.arange(batch)
    passes, places = np.divmod(numbers, num_samples)
    indices = np.empty(batch, dtype=np.int64)
    for k in np.unique(passes).tolist():
        rows = passes == k
        indices[rows] = _pass_order(seed, k, num_samples)[places[rows]]
    return indices


@lru_cache(maxsize=2)
def _pass_order(seed: int, number: int, num_samples: int) -> np.ndarray:
    return np.random.default_rng([seed, 11, number]).permutation(num_samples)


def pick_windows(
    cfg: FitCfg, update: int, num_sequences: int, num_steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sequences and last steps of the windows of an update, [batch] each.

    With neighbours, groups of that many windows 4 steps apart are drawn instead of
    windows; groups do not overlap, and where they begin changes from update to update.
    """
    if cfg.neighbours == 1:
        total = num_sequences * num_steps
        return np.divmod(batch_indices(cfg.seed, update, cfg.batch, total), num_steps)
    stride = cfg.io.depth_stride
    length = cfg.neighbours * stride
    blocks, rest = divmod(num_steps, length)
    if blocks == 0:
        raise SoloError(
            f"neighbours is {cfg.neighbours}, which takes {length} steps of a robot; "
            f"the recording has {num_steps}. Use fewer."
        )
    per_sequence = blocks * stride
    groups = cfg.batch // cfg.neighbours
    indices = batch_indices(cfg.seed, update, groups, num_sequences * per_sequence)
    sequences, places = np.divmod(indices, per_sequence)
    block, phase = np.divmod(places, stride)
    offset = np.random.default_rng([cfg.seed, 13, update]).integers(rest + 1)
    first = block * length + phase + offset
    steps = first[:, None] + stride * np.arange(cfg.neighbours)
    return np.repeat(sequences, cfg.neighbours), steps.flatten()


def pick_steps(
    cfg: FitCfg, update: int, num_sequences: int, num_steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """What the lanes of an update go through: sequences [lanes], first steps [lanes].

    A lane goes through a sequence from its first step to its last, ``cfg.sequence``
    steps per update, then through another. The lanes are at different places in time.
    """
    chunks = max(1, num_steps // cfg.sequence)
    lanes = np.arange(cfg.batch // cfg.sequence)
    rounds, chunk = np.divmod(update + lanes, chunks)
    passes, places = np.divmod(rounds * len(lanes) + lanes, num_sequences)
    orders = {int(k): _pass_order(cfg.seed, int(k), num_sequences) for k in passes}
    sequences = [orders[int(k)][i] for k, i in zip(passes, places, strict=True)]
    return np.array(sequences), chunk * cfg.sequence


def pick_cells(cfg: FitCfg, update: int) -> torch.Tensor | None:
    """The queries that an update asks, [n]; None for all."""
    if not 0 < cfg.cells < cfg.io.num_queries:
        return None
    rng = np.random.default_rng([cfg.seed, 12, update])
    return torch.from_numpy(rng.permutation(cfg.io.num_queries)[: cfg.cells])


def fit(
    cfg: FitCfg,
    data: Path,
    output: Path,
    resume: bool = False,
    factory: ModelFactory = make_model,
    stop_after: int | None = None,
) -> Fit:
    """Train a reconstructor on ``data/train`` and keep it in ``output``.

    Args:
        cfg: What to train.
        data: Folder of the recording.
        output: Folder of the checkpoint.
        resume: Go on with the training in ``output``, if there is one.
        factory: Makes the network.
        stop_after: Leave after this many updates in all, as if interrupted.
    """
    if cfg.device == "cpu":
        keep_freed_memory()
    recording = open_split(cfg, data / "train")
    state = _begin(cfg, recording, output, resume, factory)
    end = min(cfg.updates, stop_after or cfg.updates)
    saved = time.monotonic()
    with make_progress() as progress, onednn_linear(), fast_small_heads():
        task = progress.add_task(
            f"training {cfg.method}", total=cfg.updates, completed=state.update
        )
        while state.update < end:
            _update(state, recording)
            progress.advance(task)
            if time.monotonic() - saved > SAVE_EVERY_S:
                save(state, output)
                saved = time.monotonic()
    save(state, output)
    return state


def _update(state: Fit, recording: WindowSet) -> None:
    cfg = state.cfg
    started, cpu_started = time.perf_counter(), time.process_time()
    batch, cells = _pick(state, recording).to(cfg.device), pick_cells(cfg, state.update)
    parts, state.memory = update(
        state.model,
        state.optimizer,
        batch,
        cosine(cfg.learning_rate, state.update / cfg.updates),
        None if cells is None else cells.to(cfg.device),
        state.memory,
        cfg.max_grad_norm,
    )
    state.update += 1
    state.seconds += time.perf_counter() - started
    state.cpu_seconds += time.process_time() - cpu_started
    if not math.isfinite(parts.pop("loss")):
        raise SoloError(
            f"Training of {cfg.method} diverged at update {state.update}: the loss is "
            "not finite. Start again with a smaller learning rate or another seed."
        )
    state.pending.append(parts)
    if len(state.pending) == CURVE_EVERY:
        means = {k: sum(p[k] for p in state.pending) / CURVE_EVERY for k in parts}
        state.curve.append({"update": state.update, **means})
        state.pending.clear()


def _pick(state: Fit, recording: WindowSet) -> Batch:
    """The batch of the next update; for a memory, the next steps of some episodes."""
    cfg, sizes = state.cfg, (recording.num_sequences, recording.num_steps)
    model = state.model
    if not (isinstance(model, DenseReconstructor) and model.episode_memory):
        windows = pick_windows(cfg, state.update, *sizes)
        if cfg.neighbours > 1:
            return recording.shared_windows(*windows)
        return recording.windows(*windows)
    sequences, first = pick_steps(cfg, state.update, *sizes)
    steps = np.minimum(first[:, None] + np.arange(cfg.sequence), sizes[1] - 1)
    lanes = np.repeat(sequences, cfg.sequence)
    begins = recording.begins(lanes, steps.flatten()).reshape(steps.shape)
    if state.memory is None:
        state.memory = model.initial_state(len(sequences), cfg.device)
    batch = recording.shared_windows(lanes, steps.flatten())
    return batch._replace(begins=torch.from_numpy(begins))


def _begin(
    cfg: FitCfg, recording: WindowSet, output: Path, resume: bool, factory: ModelFactory
) -> Fit:
    """A new training, or the one in the folder."""
    shards = recording.manifest.shards
    data = [shards[k].sha256 for k in sorted(shards)]
    if (output / CHECKPOINT).is_file():
        if not resume:
            raise SoloError(
                f"{str(output)!r} already holds a training. Resume it, or choose "
                "another output."
            )
        state = load(output, cfg.device, factory)
        if (
            dataclasses.replace(state.cfg, device=cfg.device) != cfg
            or state.data != data
        ):
            raise SoloError(
                f"The training in {str(output)!r} has other options or other data: "
                f"{_differences(state.cfg, cfg) or 'the recording was changed'}. Use "
                "the same ones, or another output."
            )
        return state
    torch.manual_seed(cfg.seed)
    model = factory(cfg).to(cfg.device)
    if hasattr(model, "set_statistics"):
        model.set_statistics(*recording.statistics())  # type: ignore[operator]
    optimizer = make_optimizer(model, cfg.learning_rate, cfg.weight_decay)
    return Fit(cfg, model, optimizer, data)


def _differences(was: FitCfg, now: FitCfg) -> str:
    pairs = zip(vars(was).items(), vars(now).items(), strict=True)
    return ", ".join(f"{k} {a}, not {b}" for (k, a), (_, b) in pairs if a != b)
