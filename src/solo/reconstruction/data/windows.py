"""From recorded sequences to network inputs.

Random access to compressed shards would unpack a whole shard per sample, so a folder is
unpacked once, beside the shards, into flat files that are mapped into memory. Several
trainings share them through the page cache.
"""

from __future__ import annotations

import fcntl
import json
import shutil
from pathlib import Path

import numpy as np
import torch

from solo.errors import SoloError
from solo.files import write_json
from solo.reconstruction.data.shards import Manifest, ShardInfo, read_arrays
from solo.reconstruction.networks.interface import ReconstructionIoCfg
from solo.reconstruction.update import Batch
from solo.sensors.depth.cfg import DepthCameraCfg

_FIELDS = ("depth_mm", "proprioception", "height_mm", "velocity", "delay", "start")
_PER_MM = 0.001 / DepthCameraCfg.max_range_m
"""Depth of the camera's range becomes 1."""
_UNPACKED = ".unpacked"
_STAMP = "shards.json"


class WindowSet:
    """A split of a data set, ready for random access.

    Sequence s and step t count over all shards; a sequence is one robot of one shard.
    """

    def __init__(self, folder: Path, io: ReconstructionIoCfg | None = None) -> None:
        """Check and unpack the shards of a split, or take what was unpacked before."""
        self.manifest = Manifest.read(folder)
        self.io = io or ReconstructionIoCfg()
        shards = [self.manifest.shards[k] for k in sorted(self.manifest.shards)]
        if not shards:
            raise SoloError(
                f"The recording in {str(folder)!r} has no whole shard yet. Run `solo "
                "recon collect` again with the same options."
            )
        arrays = _unpack(folder, shards)
        self._depth, self._proprioception = arrays["depth_mm"], arrays["proprioception"]
        self._height, self._velocity = arrays["height_mm"], arrays["velocity"]
        self._delay, self._start = arrays["delay"], arrays["start"]
        self.terrains = np.array([name for s in shards for name in s.terrains])
        """Terrain of each sequence, [S]."""
        self.levels = np.array([level for s in shards for level in s.levels])
        """Level of each sequence, [S]."""
        self.shard_of = np.repeat(
            np.arange(len(shards)), [len(s.levels) for s in shards]
        )
        """Shard of each sequence, [S]; in the held-out split, its set."""

    @property
    def num_sequences(self) -> int:
        """Sequences S."""
        return len(self._delay)

    @property
    def num_steps(self) -> int:
        """Steps T of each sequence."""
        return self._delay.shape[1]

    @property
    def image_shape(self) -> tuple[int, int]:
        """Rows and columns of the recorded images."""
        rows, columns = self._depth.shape[-2:]
        return int(rows), int(columns)

    @property
    def num_samples(self) -> int:
        """Windows: one ends at every step."""
        return self.num_sequences * self.num_steps

    def statistics(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and standard deviation of proprioception, [84] each."""
        frames = self._proprioception.reshape(-1, self._proprioception.shape[-1])
        frames = frames[:: max(1, len(frames) // 20_000)].astype(np.float64)
        mean, std = frames.mean(axis=0), frames.std(axis=0)
        return torch.from_numpy(mean).float(), torch.from_numpy(std).float()

    def begins(self, sequences: np.ndarray, steps: np.ndarray | int) -> np.ndarray:
        """Whether an episode begins at given steps of given sequences, bool [B]."""
        return self._start[sequences, steps] == steps

    def windows(self, sequences: np.ndarray, steps: np.ndarray) -> Batch:
        """The windows that end at given steps of given sequences, both [B].

        Before an episode has enough frames its first one stands in for older ones, as
        in training (`solo.sensors.depth.camera`).
        """
        shared = self.shared_windows(sequences, steps)
        return shared._replace(depth=shared.depth[shared.frame_of], frame_of=None)

    def shared_windows(self, sequences: np.ndarray, steps: np.ndarray) -> Batch:
        """`windows` with each image once, and `Batch.frame_of`."""
        start = self._start[sequences, steps].astype(np.int64)[:, None]
        io = self.io
        ages = np.arange(io.depth_frames - 1, -1, -1) * io.depth_stride
        newest = steps - self._delay[sequences, steps]
        images = np.maximum(newest[:, None] - ages, start)
        recent = np.arange(io.proprioception_frames - 1, -1, -1)
        frames = np.maximum(steps[:, None] - recent, start)
        keys, frame_of = np.unique(
            sequences[:, None] * self.num_steps + images, return_inverse=True
        )
        depth = self._depth[keys // self.num_steps, keys % self.num_steps]
        height = self._height[sequences, steps]
        return Batch(
            (torch.from_numpy(depth.astype(np.float32)) * _PER_MM).clamp_(max=1.0),
            torch.from_numpy(self._proprioception[sequences[:, None], frames]),
            torch.from_numpy(height.astype(np.float32)) * 0.001,
            torch.from_numpy(self._velocity[sequences, steps]),
            torch.from_numpy(frame_of.reshape(images.shape)),
        )


def episode_starts(is_first: np.ndarray) -> np.ndarray:
    """Step at which the episode of each step began, uint16 [..., T].

    The first step begins one, whatever ``is_first`` says.
    """
    steps = np.arange(is_first.shape[-1], dtype=np.uint16)
    return np.maximum.accumulate(np.where(is_first, steps, 0), axis=-1).astype("u2")


def _unpack(folder: Path, shards: list[ShardInfo]) -> dict[str, np.ndarray]:
    """Map the arrays of all shards, sequence first: [S, T, ...]."""
    target, stamp = folder / _UNPACKED, [shard.sha256 for shard in shards]
    with (folder / ".unpacked.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Others that begin now wait for the files.
        if not _is_unpacked(target, stamp):
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()
            _write_unpacked(folder, shards, target)
            write_json(target / _STAMP, stamp)
        return {n: np.load(target / f"{n}.npy", mmap_mode="r") for n in _FIELDS}


def _is_unpacked(target: Path, stamp: list[str]) -> bool:
    try:
        return json.loads((target / _STAMP).read_text()) == stamp
    except (OSError, ValueError):
        return False


def _write_unpacked(folder: Path, shards: list[ShardInfo], target: Path) -> None:
    total = sum(len(shard.levels) for shard in shards)
    files: dict[str, np.memmap] = {}
    first = 0
    for shard in shards:
        arrays = read_arrays(folder, shard)
        arrays["start"] = episode_starts(arrays.pop("is_first").T).T
        for name in _FIELDS:
            values = arrays[name].swapaxes(0, 1)
            if name not in files:
                files[name] = np.lib.format.open_memmap(
                    target / f"{name}.npy",
                    mode="w+",
                    dtype=values.dtype,
                    shape=(total, *values.shape[1:]),
                )
            if files[name].shape[1:] != values.shape[1:]:
                raise SoloError(
                    f"Shard {shard.file!r} in {str(folder)!r} is damaged: {name} has "
                    f"shape {list(values.shape[1:])} and not "
                    f"{list(files[name].shape[1:])}, as in the first one."
                )
            files[name][first : first + len(values)] = values
        first += len(shard.levels)
    for file in files.values():
        file.flush()
