"""Training of one reconstructor on recorded data.

Everything that decides the result is a function of the seed and the update number: the
order of the samples (the same for all methods), and the learning rate. So an
interrupted training goes on exactly, and methods meet the same samples.
"""

from __future__ import annotations

import dataclasses
import math
import time
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import nn

from solo.allocator import keep_freed_memory
from solo.errors import SoloError
from solo.networks.reconstruction.criterion import reconstruction_loss
from solo.progress import make_progress
from solo.reconstruction.checkpoint import (
    CHECKPOINT,
    Fit,
    FitCfg,
    ModelFactory,
    load,
    make_model,
    make_optimizer,
    save,
)
from solo.reconstruction.windows import Recording

CURVE_EVERY = 100
"""Updates that are averaged into one point of the curve."""


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


def learning_rate(cfg: FitCfg, update: int) -> float:
    """Half a cosine from the first rate to 0."""
    return 0.5 * cfg.learning_rate * (1.0 + math.cos(math.pi * update / cfg.updates))


def fit(
    cfg: FitCfg,
    data: Path,
    output: Path,
    resume: bool = False,
    factory: ModelFactory = make_model,
    save_every_s: float = 60.0,
    stop_after: int | None = None,
) -> Fit:
    """Train a reconstructor on ``data/train`` and keep it in ``output``.

    Args:
        cfg: What to train.
        data: Folder of the recording.
        output: Folder of the checkpoint.
        resume: Go on with the training in ``output``, if there is one.
        factory: Makes the network.
        save_every_s: Time between checkpoints.
        stop_after: Leave after this many updates in all, as if interrupted.

    Raises:
        SoloError: Data or folder do not fit.
    """
    if cfg.device == "cpu":
        keep_freed_memory()
    recording = cfg.open(data / "train")
    state = _begin(cfg, recording, output, resume, factory)
    end = min(cfg.updates, stop_after or cfg.updates)
    saved = time.monotonic()
    with make_progress() as progress:
        task = progress.add_task(
            f"training {cfg.method}", total=cfg.updates, completed=state.update
        )
        while state.update < end:
            _update(state, recording)
            progress.advance(task)
            if time.monotonic() - saved > save_every_s:
                save(state, output)
                saved = time.monotonic()
    save(state, output)
    return state


def _update(state: Fit, recording: Recording) -> None:
    cfg = state.cfg
    indices = batch_indices(cfg.seed, state.update, cfg.batch, recording.num_samples)
    started = time.perf_counter()
    batch = [part.to(cfg.device) for part in recording.samples(indices)]
    depth, proprioception, height, velocity = batch
    for group in state.optimizer.param_groups:
        group["lr"] = learning_rate(cfg, state.update)
    state.model.train()
    outputs, _ = state.model(depth, proprioception)
    loss, parts = reconstruction_loss(outputs, height, velocity)
    state.optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(state.model.parameters(), cfg.max_grad_norm)
    state.optimizer.step()
    state.update += 1
    state.seconds += time.perf_counter() - started
    state.pending.append({name: float(value) for name, value in parts.items()})
    if not math.isfinite(float(loss.detach())):
        raise SoloError(
            f"Training of {cfg.method} diverged at update {state.update}: the loss is "
            "not finite. Start again with a smaller learning rate or another seed."
        )
    if len(state.pending) == CURVE_EVERY:
        means = {k: sum(p[k] for p in state.pending) / CURVE_EVERY for k in parts}
        state.curve.append({"update": state.update, **means})
        state.pending.clear()


def _begin(
    cfg: FitCfg, recording: Recording, output: Path, resume: bool, factory: ModelFactory
) -> Fit:
    """A new training, or the one in the folder."""
    shards = recording.manifest.shards
    data = [shards[k].sha256 for k in sorted(shards)]
    if (output / CHECKPOINT).is_file():
        if not resume:
            raise SoloError(
                f"{str(output)!r} already holds a training. Add --resume to go on with "
                "it, or choose another --output."
            )
        state = load(output, cfg.device, factory)
        if (
            dataclasses.replace(state.cfg, device=cfg.device) != cfg
            or state.data != data
        ):
            raise SoloError(
                f"The training in {str(output)!r} has other options or other data: "
                f"{_differences(state.cfg, cfg) or 'the recording was changed'}. Use "
                "the same ones, or another --output."
            )
        return state
    torch.manual_seed(cfg.seed)
    model = factory(cfg).to(cfg.device)
    if hasattr(model, "set_statistics"):
        model.set_statistics(*recording.statistics())  # type: ignore[operator]
    return Fit(cfg, model, make_optimizer(cfg, model), data)


def _differences(was: FitCfg, now: FitCfg) -> str:
    pairs = zip(vars(was).items(), vars(now).items(), strict=True)
    return ", ".join(f"{k} {a}, not {b}" for (k, a), (_, b) in pairs if a != b)
