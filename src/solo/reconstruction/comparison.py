"""Several reconstructors on the same data, measured on the same held-out terrain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from solo.progress import make_progress
from solo.reconstruction.cfg import FitCfg
from solo.reconstruction.data.recorder import EXTENT_PATCHES_M, check_disjoint
from solo.reconstruction.data.shards import Manifest
from solo.reconstruction.data.windows import Batch, WindowSet
from solo.reconstruction.metrics import Labels, score_frames, summarise
from solo.reconstruction.networks.interface import Reconstructor
from solo.reconstruction.offline import ModelFactory, fit, make_model, open_split
from solo.robots import get_robot
from solo.robots.view import cells_in_view

FIRST_SCORED_STEP = 19
SCORE_EVERY = 10
"""Steps of a held-out sequence that count: windows are full from step 15 on, and frames
closer than 0.2 s show almost the same."""

EXAMPLE_TERRAINS = (
    "stones_staggered",
    "boxes",
    "random_grid",
    "stairs_up_25",
    "stairs_down_25",
)
"""Rows of the qualitative figure (the paper's: Step Stones, High Plane, Random Grid and
Stairs Up/Down)."""

NOISE_M = 0.03
"""White noise of the second baseline, flat ground with noise, metres. It has edges
everywhere and knows nothing; a metric by which it is good is none."""

Predictor = Callable[[Batch], tuple[torch.Tensor, torch.Tensor]]
"""A batch to height maps [B, Y, X] and velocities [B, 3]."""

_EVALUATION_BATCH = 64


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a method made of F held-out windows, and the truth."""

    height: np.ndarray
    """The map acted on, [F, Y, X], metres."""
    true_height: np.ndarray
    """[F, Y, X], metres."""
    velocity: np.ndarray
    """[F, 3], m/s."""
    true_velocity: np.ndarray
    """[F, 3], m/s."""
    sequences: np.ndarray
    """Sequence of each window, [F]."""
    steps: np.ndarray
    """Step at which each window ends, [F]."""


Predict = Callable[[WindowSet, str], Prediction]
"""Runs a method on all scored windows of a split; the text is for the progress bar."""


@dataclass(frozen=True, eq=False)
class Example:
    """One row of the qualitative figure."""

    terrain: str
    depth: np.ndarray
    """Latest image of the window, 0 to 1, [H, W]."""
    truth: np.ndarray
    """True map, metres, [Y, X]."""
    maps: dict[str, np.ndarray]
    """Method to its map."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON, in millimetres and thousandths."""
        maps = {name: values.round(3).tolist() for name, values in self.maps.items()}
        depth, truth = self.depth.round(3).tolist(), self.truth.round(3).tolist()
        return {"terrain": self.terrain, "depth": depth, "truth": truth, "maps": maps}


def windows_of(recording: WindowSet) -> tuple[np.ndarray, np.ndarray]:
    """Sequences and last steps of the scored windows of a split, [F] each."""
    steps = scored_steps(recording.num_steps)
    sequences = np.repeat(np.arange(recording.num_sequences), len(steps))
    return sequences, np.tile(steps, recording.num_sequences)


def scored_steps(num_steps: int) -> np.ndarray:
    """Steps of a sequence that are evaluated; the last one if it is short."""
    steps = np.arange(FIRST_SCORED_STEP, num_steps, SCORE_EVERY)
    return steps if len(steps) else np.array([num_steps - 1])


def from_windows(predictor: Predictor) -> Predict:
    """A method that sees each window by itself."""

    def predict(recording: WindowSet, title: str) -> Prediction:
        sequences, ends = windows_of(recording)
        parts = []
        with make_progress() as progress, torch.inference_mode():
            task = progress.add_task(title, total=len(ends))
            for first in range(0, len(ends), _EVALUATION_BATCH):
                rows = slice(first, first + _EVALUATION_BATCH)
                batch = recording.windows(sequences[rows], ends[rows])
                height, velocity = predictor(batch)
                parts.append((height, batch.height, velocity, batch.velocity))
                progress.advance(task, len(ends[rows]))
        return _joined(parts, sequences, ends)

    return predict


def from_episodes(model: Reconstructor, device: str = "cpu") -> Predict:
    """A method that goes through each episode step by step, as on a robot."""

    def predict(recording: WindowSet, title: str) -> Prediction:
        steps = scored_steps(recording.num_steps)
        parts = []
        with make_progress() as progress, torch.inference_mode():
            task = progress.add_task(title, total=recording.num_sequences)
            for first in range(0, recording.num_sequences, _EVALUATION_BATCH):
                last = min(first + _EVALUATION_BATCH, recording.num_sequences)
                lanes = np.arange(first, last)
                state = model.initial_state(len(lanes), device)
                rows = []
                for step in range(int(steps[-1]) + 1):
                    batch = recording.windows(lanes, np.full(len(lanes), step))
                    begins = torch.from_numpy(recording.begins(lanes, step))
                    state = model.reset_state(state, begins.to(device))
                    sensed = (batch.depth.to(device), batch.proprioception.to(device))
                    outputs, state = model(*sensed, state)
                    if step in steps:
                        height = outputs["height"].cpu()
                        velocity = outputs["velocity"].cpu()
                        rows.append((height, batch.height, velocity, batch.velocity))
                # [lanes, steps, ...], as windows are ordered.
                columns = zip(*rows, strict=True)
                parts.append([torch.stack(c, dim=1).flatten(0, 1) for c in columns])
                progress.advance(task, len(lanes))
        return _joined(parts, *windows_of(recording))

    return predict


def _joined(
    parts: Sequence[Sequence[torch.Tensor]], sequences: np.ndarray, steps: np.ndarray
) -> Prediction:
    """Batches of heights, true heights, velocities and true velocities as one."""
    height, true_height, velocity, true_velocity = (
        torch.cat(column).numpy() for column in zip(*parts, strict=True)
    )
    return Prediction(height, true_height, velocity, true_velocity, sequences, steps)


def as_predict(model: nn.Module, device: str) -> Predict:
    """A trained reconstructor, used as it was trained."""
    model.eval()
    if isinstance(model, Reconstructor) and model.episode_memory:
        return from_episodes(model, device)

    def predictor(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        outputs, _ = model(batch.depth.to(device), batch.proprioception.to(device))
        return outputs["height"].cpu(), outputs["velocity"].cpu()

    return from_windows(predictor)


def flat_ground(base_height_m: float, noise_m: float = 0.0) -> Predict:
    """Level ground under a standing robot, at rest; with or without white noise."""
    generator = torch.Generator().manual_seed(0)

    def predictor(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        noise = torch.randn(batch.height.shape, generator=generator)
        return noise * noise_m - base_height_m, torch.zeros_like(batch.velocity)

    return from_windows(predictor)


def evaluate(
    found: Prediction, recording: WindowSet, in_view: np.ndarray
) -> dict[str, Any]:
    """The metrics of one method on the held-out sets, and where the error lies.

    Beside what `summarise` gives, ``l1_cm_per_cell`` [Y, X], the mean over all frames,
    rows from right to left of the robot, columns from back to front; and its means over
    the cells in view of a robot on flat ground and over the others.
    """
    scores = score_frames(
        found.height, found.true_height, found.velocity, found.true_velocity
    )
    labels = Labels(
        recording.shard_of[found.sequences],
        recording.terrains[found.sequences],
        recording.levels[found.sequences],
    )
    per_cell = 100.0 * np.abs(found.height - found.true_height).mean(axis=0)
    return {
        **summarise(scores, labels),
        "l1_cm_in_view": float(per_cell[in_view].mean()),
        "l1_cm_out_of_view": float(per_cell[~in_view].mean()),
        "l1_cm_per_cell": per_cell.round(2).tolist(),
    }


def extent_shift(
    found: Prediction, recording: WindowSet
) -> dict[str, dict[str, list[float]]]:
    """Error over difficulty on descending stairs, by side of the patch in metres."""
    error = 100.0 * np.abs(found.height - found.true_height).mean(axis=(1, 2))
    levels = recording.levels[found.sequences]
    shards = recording.shard_of[found.sequences]
    last = max(int(recording.levels.max()), 1)
    result = {}
    for shard, patch_m in enumerate(EXTENT_PATCHES_M[: shards.max() + 1]):
        present = np.unique(levels[shards == shard])
        result[f"{patch_m:g}"] = {
            "difficulty": [float(level) / last for level in present],
            "l1_cm": [
                float(error[(shards == shard) & (levels == level)].mean())
                for level in present
            ],
        }
    return result


def pick_examples(found: dict[str, Prediction], recording: WindowSet) -> list[Example]:
    """One window per terrain at its highest level: the one with the most relief."""
    first = next(iter(found.values()))
    terrains = recording.terrains[first.sequences]
    levels = recording.levels[first.sequences]
    examples = []
    for terrain in EXAMPLE_TERRAINS:
        rows = np.flatnonzero(terrains == terrain)
        if not len(rows):
            continue
        rows = rows[levels[rows] == levels[rows].max()]
        best = rows[first.true_height[rows].std(axis=(1, 2)).argmax()]
        batch = recording.windows(first.sequences[[best]], first.steps[[best]])
        maps = {name: prediction.height[best] for name, prediction in found.items()}
        depth, truth = batch.depth[0, -1].numpy(), first.true_height[best]
        examples.append(Example(terrain, depth, truth, maps))
    return examples


def compare(
    cfg: FitCfg,
    methods: Sequence[str],
    data: Path,
    output: Path,
    factory: ModelFactory = make_model,
) -> tuple[dict[str, Any], list[Example]]:
    """Train each method, or go on with it, and evaluate all of them.

    Args:
        cfg: The training; its method is replaced.
        methods: Names of the methods.
        data: Folder with the splits ``train`` and ``eval``, and maybe ``extent``.
        output: Folder with one training per method.
        factory: Makes the networks.

    Returns:
        What ``--json`` writes, and examples for the figure.
    """
    held_out = open_split(cfg, data / "eval")
    check_disjoint(data)
    has_extent = (data / "extent").is_dir()
    extent = open_split(cfg, data / "extent") if has_extent else None
    robot = get_robot(held_out.manifest.config["sampler"]["robot"])
    in_view = cells_in_view(robot)
    result: dict[str, Any] = {"methods": {}, "extent_shift": {}}
    predictions = {}
    for method in methods:
        trained = fit(replace(cfg, method=method), data, output / method, True, factory)
        predict = as_predict(trained.model, cfg.device)
        found = predictions[method] = predict(held_out, f"evaluating {method}")
        result["methods"][method] = {
            "parameters": trained.num_parameters,
            **evaluate(found, held_out, in_view),
            "samples_per_s": trained.samples_per_s,
            "cpu_seconds": trained.cpu_seconds,
            "updates": trained.update,
            "curve": trained.curve,
        }
        if extent is not None:
            found = predict(extent, f"extents, {method}")
            result["extent_shift"][method] = extent_shift(found, extent)
    for name, noise_m in (("flat", 0.0), ("noise", NOISE_M)):
        predict = flat_ground(robot.base_height_m, noise_m)
        found = predict(held_out, f"evaluating {name}")
        result[name] = {"parameters": 0, **evaluate(found, held_out, in_view)}
        if extent is not None and name == "flat":
            found = predict(extent, "extents, flat")
            result["extent_shift"]["flat"] = extent_shift(found, extent)
    result["share_in_view"] = float(in_view.mean())
    result["cell_cm"] = 100.0 * robot.height_map.cell_m
    settings = {k: v for k, v in vars(cfg).items() if k != "method"}
    splits = ("train", "eval", *(("extent",) if has_extent else ()))
    result["training"] = settings
    result["data"] = {k: Manifest.read(data / k).to_dict() for k in splits}
    return result, pick_examples(predictions, held_out)
