"""A tiny policy for the G1, and its bundle, written once."""

from __future__ import annotations

import atexit
import functools
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from tensordict import TensorDict

from solo.deploy.bundle.format import (
    GOLDEN_KEY,
    POLICY_KEY,
    checksum,
    join_model,
    split_model,
    to_json,
)
from solo.export.metadata import ExportRecord
from solo.export.write import export_bundle
from solo.networks.student import StudentModel
from solo.reconstruction.networks import make_reconstructor
from solo.reconstruction.networks.interface import ReconstructionIoCfg, Reconstructor
from solo.robots.g1 import G1
from tests.reconstruction.networks.helpers import SIZES

IO = ReconstructionIoCfg(depth_shape=(16, 25), query_block=2)
RECORD = ExportRecord("smoke", 7, (-0.5, -0.5, -1.0), (1.0, 0.5, 1.0))
GROUPS = ["proprioception", "reconstructed_velocity", "reconstructed_map"]
ACTOR: dict[str, Any] = {
    "hidden_dims": [16],
    "activation": "elu",
    "obs_normalization": True,
    "distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 0.5},
    "ame_cfg": {
        "dim": 8,
        "num_heads": 2,
        "hidden_channels": 2,
        "kernel_size": 3,
        "map_stride": 2,
    },
    "rnn_hidden_dim": 12,
}


def make_obs(batch: int) -> TensorDict:
    """Random groups of a perceptive student."""
    return TensorDict(
        {
            "proprioception": torch.randn(batch, 84),
            "reconstructed_velocity": torch.randn(batch, 3),
            "reconstructed_map": torch.randn(batch, 16, 32) * 0.2 - 0.75,
        },
        batch_size=[batch],
    )


def make_networks(
    name: str = "qr",
    mirror: dict[str, Any] | None = None,
    foot_view_cfg: dict[str, Any] | None = None,
    **io: Any,
) -> tuple[StudentModel, Reconstructor]:
    """Student and reconstructor whose weights have left their start."""
    torch.manual_seed(0)
    student = StudentModel(
        make_obs(1),
        {"actor": GROUPS},
        "actor",
        25,
        **ACTOR,
        mirror=mirror,
        foot_view_cfg=foot_view_cfg,
    )
    student.update_normalization(make_obs(50))
    reconstructor = make_reconstructor(name, **{**SIZES[name], "io": replace(IO, **io)})
    reconstructor.set_statistics(0.1 * torch.randn(84), torch.rand(84) + 0.5)
    with torch.no_grad():  # Heads begin near zero; then nothing would be seen.
        for part in (student, reconstructor):
            for weight in part.parameters():
                weight.add_(0.05 * torch.randn_like(weight))
    return student.eval(), reconstructor.eval()


@functools.cache
def bundle_path() -> Path:
    """The bundle of the tiny policy; do not change it."""
    folder = Path(tempfile.mkdtemp(prefix="solo-bundle-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    student, reconstructor = make_networks()
    export_bundle(student, reconstructor, G1, folder / "tiny.onnx", RECORD)
    return folder / "tiny.onnx"


def edited(
    target: Path,
    change: Callable[[dict[str, Any], dict[str, Any]], None],
    sign: bool = True,
) -> Path:
    """A copy whose metadata and golden sequence were changed, with new checksums."""
    model = split_model(bundle_path().read_bytes(), "tiny.onnx")
    meta = json.loads(model.metadata[POLICY_KEY])
    golden = json.loads(model.metadata[GOLDEN_KEY])
    change(meta, golden)
    if sign:
        meta["golden"]["sha256"] = checksum(golden)
        meta["sha256"] = checksum(meta)
    entries = {POLICY_KEY: to_json(meta), GOLDEN_KEY: to_json(golden)}
    target.write_bytes(join_model(model.graph, entries))
    return target
