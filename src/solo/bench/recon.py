"""Speed of the reconstructors: training, and one robot in real time.

All on one core, and all methods in turn within each round, so that they meet the same
load of the machine: compare numbers of one run.

Training is measured as the paper has it, and with what makes it faster: a quarter of
the cells asked for per update (query networks), and batches of four windows 4 steps
apart, whose 7 images are encoded once instead of 16.

Streaming is what a robot does at each control step. The Query Reconstructor encodes the
newest image and has the tokens of the others; the baselines have their whole window
encoded, as their first layers or their memory need it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnxruntime
import torch
from torch import nn

from solo.bench.cfg import ReconBenchCfg
from solo.deploy.bundle.policy import make_session
from solo.progress import make_progress
from solo.reconstruction.networks import make_reconstructor
from solo.reconstruction.networks.interface import IO_PROFILES, Reconstructor
from solo.reconstruction.networks.query_reconstructor import QueryReconstructor
from solo.reconstruction.update import Batch, make_optimizer, update
from solo.sim.threads import stepping_threads

_WARM_UP_STEPS = 5


def bench_recon(cfg: ReconBenchCfg) -> dict[str, Any]:
    """Measure training and streaming on one core.

    Returns:
        ``<profile>.<method>`` with ``parameters``; ``train_samples_per_s`` (forward,
        backward and update), ``train_cells_samples_per_s`` with a quarter of the cells
        and ``train_shared_samples_per_s`` with shared images as well;
        ``train_ms_per_sample``, ``forward_ms_per_sample``;
        ``streaming_torch_ms`` and ``streaming_onnx_ms``, means at batch 1, and
        ``streaming_onnx_p99_ms``. And ``threads``, ``batch_size``.
    """
    result: dict[str, Any] = {"threads": 1, "batch_size": cfg.batch}
    total = len(cfg.profiles) * cfg.rounds * len(cfg.methods)
    with (
        make_progress() as progress,
        stepping_threads(),
        TemporaryDirectory() as folder,
    ):
        task = progress.add_task("measurements", total=total)
        for profile in cfg.profiles:
            subjects = {
                name: _Subject(name, profile, cfg.batch, Path(folder))
                for name in cfg.methods
            }
            for _ in range(cfg.rounds):
                for subject in subjects.values():
                    subject.measure(cfg.steps)
                    progress.advance(task)
            result[profile] = {
                name: subject.result(cfg.batch) for name, subject in subjects.items()
            }
    return result


class _Subject:
    """One method at one size, and the times it took so far."""

    def __init__(self, name: str, profile: str, batch_size: int, folder: Path) -> None:
        self.model = make_reconstructor(name, io=IO_PROFILES[profile])
        self._train = {
            "train": _make_training_step(self.model, batch_size),
            "train_cells": _make_training_step(self.model, batch_size, cells=True),
            "train_shared": _make_training_step(
                self.model, batch_size, cells=True, shared=True
            ),
        }
        self._windows = _make_windows(self.model, batch_size)
        self._module = StepExport(self.model)
        path = folder / f"{profile}-{name}.onnx"
        export_onnx(self._module, path)
        self._session = make_session(path.read_bytes(), sha256="")
        self._times: dict[str, list[float]] = {
            key: [] for key in (*self._train, "forward", "torch", "onnx")
        }

    def measure(self, streaming_steps: int) -> None:
        """One round; what comes first after a change of subject is not counted."""
        for key, train in self._train.items():
            train()
            self._times[key].append(_timed(train))
        with torch.inference_mode():
            self._times["forward"].append(_timed(lambda: self.model(*self._windows)))
            times = _stream_torch(self._module, streaming_steps)
            self._times["torch"] += times
        self._times["onnx"] += _stream_onnx(
            self._session, self._module, streaming_steps
        )

    def result(self, batch_size: int) -> dict[str, float]:
        """Means of all rounds."""
        mean = {key: float(np.mean(times)) for key, times in self._times.items()}
        return {
            "parameters": self.model.num_parameters(),
            **{f"{key}_samples_per_s": batch_size / mean[key] for key in self._train},
            "train_ms_per_sample": 1e3 * mean["train"] / batch_size,
            "forward_ms_per_sample": 1e3 * mean["forward"] / batch_size,
            "streaming_torch_ms": 1e3 * mean["torch"],
            "streaming_onnx_ms": 1e3 * mean["onnx"],
            "streaming_onnx_p99_ms": 1e3
            * float(np.quantile(self._times["onnx"], 0.99)),
        }


def _timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _make_windows(
    model: Reconstructor, batch_size: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Random depth and proprioception; the time does not depend on what is in them."""
    io = model.io
    depth = torch.rand(batch_size, io.depth_frames, *io.depth_shape)
    size = (batch_size, io.proprioception_frames, io.proprioception_dim)
    return depth, torch.randn(*size)


def _make_training_step(
    model: Reconstructor, batch_size: int, cells: bool = False, shared: bool = False
) -> Callable[[], None]:
    """A training step; maybe of a quarter of the queries, with shared images."""
    depth, frames = _make_windows(model, batch_size)
    height = torch.zeros(batch_size, *model.io.height_map.cells)
    velocity = frames[:, -1, :3]
    optimizer = make_optimizer(model)
    chosen = frame_of = None
    if cells:
        total = model.io.num_queries
        chosen = torch.randperm(total)[: total // 4]
    if shared:
        # Four windows of four images, each one image further than the one before.
        window = torch.arange(4).unsqueeze(1) + torch.arange(model.io.depth_frames)
        groups, images = -(-batch_size // 4), model.io.depth_frames + 3
        starts = torch.arange(groups).view(-1, 1, 1) * images
        frame_of = (starts + window).flatten(0, 1)[:batch_size]
        depth = torch.rand(groups * images, *model.io.depth_shape)
    batch = Batch(depth, frames, height, velocity, frame_of)

    def step() -> None:
        update(model, optimizer, batch, 1e-5, chosen)

    return step


def _stream_torch(module: StepExport, steps: int) -> list[float]:
    """Seconds per control step, each with new inputs and the state of the last."""
    inputs = module.get_dummy_inputs()
    times = []
    for _ in range(_WARM_UP_STEPS + steps):
        inputs = (*(torch.rand_like(sensor) for sensor in inputs[:2]), *inputs[2:])
        start = time.perf_counter()
        outputs = module(*inputs)
        times.append(time.perf_counter() - start)
        inputs = (*inputs[:2], *outputs[2:])
    return times[_WARM_UP_STEPS:]


def _stream_onnx(
    session: onnxruntime.InferenceSession,
    module: StepExport,
    steps: int,
) -> list[float]:
    """The same with onnxruntime."""
    inputs = [tensor.numpy() for tensor in module.get_dummy_inputs()]
    rng = np.random.default_rng(0)
    times = []
    for _ in range(_WARM_UP_STEPS + steps):
        inputs[:2] = [rng.random(x.shape, dtype=np.float32) for x in inputs[:2]]
        feed = dict(zip(module.input_names, inputs, strict=True))
        start = time.perf_counter()
        outputs: Sequence[Any] = session.run(None, feed)
        times.append(time.perf_counter() - start)
        inputs[2:] = outputs[2:]
    return times[_WARM_UP_STEPS:]


class StepExport(nn.Module):
    """A control step as ONNX: sensors and state to height, velocity and new state.

    The Query Reconstructor takes the newest image and keeps the tokens of older ones; a
    memory of the episode is the state of networks that have one; the others take whole
    windows. Zeros in the state begin an episode.
    """

    def __init__(self, model: Reconstructor, streaming: bool = True) -> None:
        """Wrap a model; it is not copied.

        Args:
            model: The reconstructor.
            streaming: Keep a state where the model has one; else whole windows.
        """
        super().__init__()
        self.model = model
        io = model.io
        is_query = isinstance(model, QueryReconstructor)
        has_state = streaming and (is_query or model.episode_memory)
        self.state = model.initial_state(1, "cpu") if has_state else ()
        """State at the beginning of an episode."""
        self.images = 1 if has_state and is_query else io.depth_frames
        """Images per step, the newest ones."""
        names = [f"state{k}" for k in range(len(self.state))]
        self.input_names = ["depth", "proprioception", *(f"{n}_in" for n in names)]
        self.output_names = ["height", "velocity", *(f"{n}_out" for n in names)]

    def forward(
        self, depth: torch.Tensor, proprioception: torch.Tensor, *state: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """Height [B, Y, X], velocity [B, 3] and the new state of a control step."""
        outputs, new = self.model(depth, proprioception, state or None)
        return outputs["height"], outputs["velocity"], *(new or ())

    def get_dummy_inputs(self) -> tuple[torch.Tensor, ...]:
        """Inputs of one robot at the beginning of an episode, for tracing."""
        io = self.model.io
        return (
            torch.zeros(1, self.images, *io.depth_shape),
            torch.zeros(1, io.proprioception_frames, io.proprioception_dim),
            *self.state,
        )


def export_onnx(module: StepExport, path: Path | str) -> None:
    """Write a module on CPU as ONNX with a batch of one."""
    with warnings.catch_warnings():
        # That sizes become constants, which is wanted.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(),
            module.get_dummy_inputs(),
            str(path),
            opset_version=18,
            input_names=module.input_names,
            output_names=module.output_names,
            dynamo=False,
        )
