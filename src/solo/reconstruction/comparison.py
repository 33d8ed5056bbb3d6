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
from solo.reconstruction.checkpoint import FitCfg, ModelFactory, make_model
from solo.reconstruction.metrics import Labels, score_frames, summarise
from solo.reconstruction.recorder import EXTENT_PATCHES_M, check_disjoint
from solo.reconstruction.shards import Manifest
from solo.reconstruction.training import fit
from solo.reconstruction.windows import Batch, Recording
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

Predictor = Callable[[Batch], tuple[torch.Tensor, torch.Tensor]]
"""A batch to height maps [B, Y, X] and velocities [B, 3]."""

_EVALUATION_BATCH = 64


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a method made of F held-out windows, and the truth."""

    height: np.ndarray
    """[F, Y, X], metres."""
    true_height: np.ndarray
    """[F, Y, X], metres."""
    velocity: np.ndarray
    """[F, 3], m/s."""
    true_velocity: np.ndarray
    """[F, 3], m/s."""
    sequences: np.ndarray
    """Sequence of each window, [F]."""


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


def as_predictor(model: nn.Module, device: str = "cpu") -> Predictor:
    """Use a reconstructor on independent windows, as it was trained."""

    def predict(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        outputs, _ = model(batch.depth.to(device), batch.proprioception.to(device))
        return outputs["height"].cpu(), outputs["velocity"].cpu()

    model.eval()
    return predict


def flat_predictor(base_height_m: float) -> Predictor:
    """The baseline without a network: level ground under a standing robot, at rest."""

    def predict(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        height = torch.full_like(batch.height, -base_height_m)
        return height, torch.zeros_like(batch.velocity)

    return predict


def scored_steps(num_steps: int) -> np.ndarray:
    """Steps of a sequence that are evaluated; the last one if it is short."""
    steps = np.arange(FIRST_SCORED_STEP, num_steps, SCORE_EVERY)
    return steps if len(steps) else np.array([num_steps - 1])


def predict_all(
    predictor: Predictor, recording: Recording, title: str = "evaluating"
) -> Prediction:
    """Run a method on all scored windows of a split."""
    steps = scored_steps(recording.num_steps)
    sequences = np.repeat(np.arange(recording.num_sequences), len(steps))
    ends = np.tile(steps, recording.num_sequences)
    parts = []
    with make_progress() as progress, torch.inference_mode():
        task = progress.add_task(title, total=len(ends))
        for first in range(0, len(ends), _EVALUATION_BATCH):
            rows = slice(first, first + _EVALUATION_BATCH)
            batch = recording.windows(sequences[rows], ends[rows])
            height, velocity = predictor(batch)
            parts.append((height, batch.height, velocity, batch.velocity))
            progress.advance(task, len(ends[rows]))
    found = [torch.cat(column).numpy() for column in zip(*parts, strict=True)]
    return Prediction(found[0], found[1], found[2], found[3], sequences)


def evaluate(
    predictor: Predictor,
    recording: Recording,
    in_view: np.ndarray,
    title: str = "evaluating",
) -> dict[str, Any]:
    """The metrics of one method on the held-out sets, and where the error lies.

    Args:
        predictor: The method.
        recording: The held-out sets.
        in_view: Cells that a robot sees which stands on flat ground, bool [Y, X].
        title: Of the progress bar.

    Returns:
        What `summarise` gives; ``l1_cm_per_cell`` [Y, X], the mean over all frames:
        rows from right to left of the robot, columns from back to front; and its means
        over the cells in view and over the others, ``l1_cm_in_view`` and
        ``l1_cm_out_of_view``.
    """
    found = predict_all(predictor, recording, title)
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
    predictor: Predictor, recording: Recording, title: str = "evaluating extents"
) -> dict[str, dict[str, list[float]]]:
    """Error over difficulty on descending stairs, by side of the patch.

    Returns:
        Side in metres to ``difficulty`` and ``l1_cm``, one entry per level.
    """
    found = predict_all(predictor, recording, title)
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


def pick_examples(
    predictors: dict[str, Predictor], recording: Recording
) -> list[Example]:
    """One window per terrain at its highest level: the one with the most relief."""
    examples = []
    for terrain in EXAMPLE_TERRAINS:
        rows = np.flatnonzero(recording.terrains == terrain)
        if not len(rows):
            continue
        rows = rows[recording.levels[rows] == recording.levels[rows].max()]
        steps = scored_steps(recording.num_steps)
        ends = np.tile(steps, len(rows))
        batch = recording.windows(np.repeat(rows, len(steps)), ends)
        best = int(batch.height.flatten(1).std(dim=1).argmax())
        batch = Batch(*(part[best : best + 1] for part in batch))
        with torch.inference_mode():
            maps = {k: p(batch)[0][0].numpy() for k, p in predictors.items()}
        depth, truth = batch.depth[0, -1].numpy(), batch.height[0].numpy()
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

    Raises:
        SoloError: Data are missing or do not fit.
    """
    held_out = cfg.open(data / "eval")
    check_disjoint(data)
    has_extent = (data / "extent").is_dir()
    extent = cfg.open(data / "extent") if has_extent else None
    robot = get_robot(held_out.manifest.config["sampler"]["robot"])
    stride = cfg.io.map_stride
    in_view = cells_in_view(robot)[::stride, ::stride]
    flat = flat_predictor(robot.base_height_m)
    predictors: dict[str, Predictor] = {}
    result: dict[str, Any] = {"methods": {}, "extent_shift": {}}
    for method in methods:
        trained = fit(replace(cfg, method=method), data, output / method, True, factory)
        predictor = predictors[method] = as_predictor(trained.model, cfg.device)
        result["methods"][method] = {
            "parameters": trained.num_parameters,
            **evaluate(predictor, held_out, in_view, f"evaluating {method}"),
            "samples_per_s": trained.samples_per_s,
            "updates": trained.update,
            "curve": trained.curve,
        }
        if extent is not None:
            result["extent_shift"][method] = extent_shift(predictor, extent)
    result["flat"] = {"parameters": 0, **evaluate(flat, held_out, in_view)}
    result["share_in_view"] = float(in_view.mean())
    if extent is not None:
        result["extent_shift"]["flat"] = extent_shift(flat, extent)
    settings = {k: v for k, v in vars(cfg).items() if k != "method"}
    splits = ("train", "eval", *(("extent",) if has_extent else ()))
    result["training"] = settings
    result["data"] = {k: Manifest.read(data / k).to_dict() for k in splits}
    return result, pick_examples(predictors, held_out)
