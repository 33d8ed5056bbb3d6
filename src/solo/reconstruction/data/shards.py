"""Recorded sequences on disk: compressed shards and the manifest that lists them.

A shard holds T control steps of N robots, each step once; windows are made when it is
read. Its arrays:

- ``depth_mm`` uint16 [T, N, H, W]: images in millimetres, 0 invalid. Eight bits would
  be steps of 12 mm, six times the noise of the sensor at 1 m and a quarter of the
  smallest edge that counts. It is stored as ``depth_planes``, see `pack_images`.
- ``height_mm`` int16 [T, N, Y, X]: true height map in millimetres.
- ``proprioception`` float32 [T, N, 84] and ``velocity`` float32 [T, N, 3].
- ``is_first`` bool [T, N]: an episode begins. ``delay`` uint8 [T, N]: latency of depth
  in control steps.
- ``terrain`` [N]: index into the scene's variants, and ``level`` [N].
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from solo.errors import SoloError
from solo.files import check_same, read_json, read_npz, write_json, written_aside
from solo.result_files import parse
from solo.terrains.scene import TerrainSceneCfg

FORMAT = 1
MANIFEST = "manifest.json"

_AGAIN = "Record the data again."

_DEFLATE_LEVEL = 1
"""Images with noise shrink by 7 % more at level 6, in twice the time."""


@dataclass(frozen=True)
class ShardInfo:
    """One line of the manifest."""

    file: str
    """Name in the folder."""
    sha256: str
    """Checksum of the file."""
    frames: int
    """Robots times steps."""
    scene: dict[str, Any]
    """The terrain it was recorded on, as `TerrainSceneCfg` has it."""
    terrains: list[str]
    """Terrain of each sequence."""
    levels: list[int]
    """Level of each sequence."""

    def __post_init__(self) -> None:
        if Path(self.file).name != self.file or self.file == "":
            raise ValueError(f"{self.file[:40]!r} is no name of a file")
        if not len(self.terrains) == len(self.levels) > 0:
            raise ValueError("terrains and levels need one entry for each sequence")


@dataclass
class Manifest:
    """What a folder of shards holds and how it was made."""

    sampler: str
    """Name of what moved the robots."""
    config: dict[str, Any]
    """What the shards depend on."""
    shards: dict[int, ShardInfo] = field(default_factory=dict)
    """The shards that are whole, by number."""

    @property
    def frames(self) -> int:
        """Frames of all shards."""
        return sum(shard.frames for shard in self.shards.values())

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        shards = {str(k): dataclasses.asdict(v) for k, v in sorted(self.shards.items())}
        return {
            "format": FORMAT,
            "sampler": self.sampler,
            "frames": self.frames,
            "config": self.config,
            "shards": shards,
        }

    @staticmethod
    def read(folder: Path) -> Manifest:
        """Read the manifest of a folder."""
        path = folder / MANIFEST
        if not path.is_file():
            raise SoloError(
                f"There is no recording in {str(folder)!r}: {MANIFEST} is missing. "
                "Make one with `solo recon collect`."
            )
        found = read_json(path, _AGAIN)
        if found.get("format") != FORMAT:
            raise SoloError(
                f"{str(path)!r} has format {found.get('format')!r}; this version reads "
                f"{FORMAT}. {_AGAIN}"
            )
        return parse(Manifest, found, path, _AGAIN)


def open_recording(folder: Path, sampler: str, config: dict[str, Any]) -> Manifest:
    """Begin a recording in a folder, or go on with one of the same configuration."""
    config = json.loads(json.dumps(config))
    if not (folder / MANIFEST).exists():
        return Manifest(sampler, config)
    manifest = Manifest.read(folder)
    check_same(folder, "recording", manifest.config, config)
    return manifest


def has_shard(folder: Path, manifest: Manifest, index: int) -> bool:
    """Whether a shard is there already."""
    shard = manifest.shards.get(index)
    return shard is not None and (folder / shard.file).is_file()


def write_shard(
    folder: Path,
    manifest: Manifest,
    index: int,
    arrays: dict[str, np.ndarray],
    scene: TerrainSceneCfg,
) -> None:
    """Write one shard, whole or not at all, then the manifest that lists it."""
    path = folder / shard_name(index)
    with written_aside(path) as temporary:
        packed = dict(arrays)
        packed["depth_planes"] = pack_images(packed.pop("depth_mm"))
        write_arrays(temporary, packed)
    num_steps, num_robots = arrays["is_first"].shape
    manifest.shards[index] = ShardInfo(
        file=path.name,
        sha256=checksum(path),
        frames=num_steps * num_robots,
        scene=dataclasses.asdict(scene),
        terrains=[scene.variants[k] for k in arrays["terrain"]],
        levels=[int(level) for level in arrays["level"]],
    )
    write_json(folder / MANIFEST, manifest.to_dict())


def shard_name(index: int) -> str:
    """File name of a shard."""
    return f"shard_{index:05d}.npz"


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write an NPZ file whose bytes depend on the arrays alone."""
    with zipfile.ZipFile(
        path, "w", zipfile.ZIP_DEFLATED, compresslevel=_DEFLATE_LEVEL
    ) as archive:
        for name, values in arrays.items():
            # Entries opened by name carry no date.
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(
                    file, np.ascontiguousarray(values), allow_pickle=False
                )


def pack_images(depth_mm: np.ndarray) -> np.ndarray:
    """Images [..., H, W] as bytes that shrink well, uint8 [2, ..., H, W].

    Differences along each row, low bytes and high bytes apart: a third smaller after
    deflation than the images themselves.
    """
    delta = depth_mm.astype("<u2")
    delta[..., 1:] -= depth_mm[..., :-1].astype("<u2")
    planes = delta[..., None].view(np.uint8)
    return np.ascontiguousarray(np.moveaxis(planes, -1, 0))


def unpack_images(planes: np.ndarray) -> np.ndarray:
    """The inverse of `pack_images`, uint16."""
    delta = planes[0] | (planes[1].astype(np.uint16) << 8)
    return np.cumsum(delta, axis=-1, dtype=np.uint16)


_ARRAYS: dict[str, tuple[str, tuple[int | str, ...]]] = {
    "depth_planes": ("uint8", (2, "T", "N", "H", "W")),
    "height_mm": ("int16", ("T", "N", "Y", "X")),
    "proprioception": ("float32", ("T", "N", "D")),
    "velocity": ("float32", ("T", "N", 3)),
    "is_first": ("bool", ("T", "N")),
    "delay": ("uint8", ("T", "N")),
}
"""Type and shape of what a shard holds; letters but T and N are free."""


def read_arrays(folder: Path, shard: ShardInfo) -> dict[str, np.ndarray]:
    """Read one shard and check that it is what was written."""
    path = folder / shard.file
    if not path.is_file():
        raise SoloError(
            f"Shard {str(path)!r} is missing. Run `solo recon collect` again with the "
            "same options; it records what is missing."
        )
    if checksum(path) != shard.sha256:
        raise SoloError(
            f"Shard {str(path)!r} is damaged: its checksum is not the manifest's. "
            "Delete it and run `solo recon collect` again with the same options."
        )
    arrays = read_npz(path, _AGAIN)
    steps = len(np.atleast_1d(arrays.get("is_first", np.empty(0))))
    sizes = {"T": steps, "N": len(shard.levels)}
    for name, (dtype, shape) in _ARRAYS.items():
        found = arrays.get(name, np.empty(()))
        wanted = [sizes.get(str(n), n) for n in shape]
        if (
            found.dtype != dtype
            or found.ndim != len(wanted)
            or any(
                isinstance(n, int) and n != there
                for n, there in zip(wanted, found.shape, strict=True)
            )
        ):
            raise SoloError(
                f"Shard {str(path)!r} is damaged: {name} has shape "
                f"{list(found.shape)} and type {found.dtype}; expected {wanted} and "
                f"{dtype}. {_AGAIN}"
            )
    arrays["depth_mm"] = unpack_images(arrays.pop("depth_planes"))
    return arrays


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
