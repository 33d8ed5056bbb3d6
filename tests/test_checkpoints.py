"""A checkpoint is read as it was written, or not at all."""

from __future__ import annotations

import errno
import os
import random
import shutil
from pathlib import Path

import pytest
import torch

from solo.bundles import shipped_teacher
from solo.checkpoints import read_checkpoint, write_checkpoint
from solo.errors import SoloError


def same(a, b) -> bool:
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def test_the_shipped_teacher_with_a_block_of_zeros_is_refused(tmp_path):
    """torch alone loads it: 4096 zeroed bytes are weights as good as any."""
    original = next(shipped_teacher().glob("model_*.pt"))
    damaged = tmp_path / original.name
    shutil.copy(original, damaged)
    assert read_checkpoint(damaged, "cpu")["iter"] >= 0
    middle = original.stat().st_size // 2
    with damaged.open("r+b") as file:
        file.seek(middle)
        file.write(bytes(4096))
    torch.load(damaged, weights_only=True)
    with pytest.raises(SoloError, match=r"Cannot read .*checksum.*Copy it again"):
        read_checkpoint(damaged, "cpu")


def test_no_flipped_byte_changes_what_is_read(tmp_path):
    values = {"weights": torch.arange(2000.0), "iter": 7, "names": ["a", "b"]}
    path = tmp_path / "model_7.pt"
    write_checkpoint(path, values)
    content, generator = path.read_bytes(), random.Random(0)
    refused = 0
    for _ in range(150):
        position = generator.randrange(len(content))
        changed = bytearray(content)
        changed[position] ^= 1 << generator.randrange(8)
        path.write_bytes(changed)
        try:
            assert same(read_checkpoint(path), values), position
        except SoloError:
            refused += 1
    assert refused > 100  # The others hit the padding between entries.


@pytest.mark.parametrize("content", [b"", b"PK", b"no checkpoint at all"])
def test_what_is_no_checkpoint_is_refused(tmp_path, content):
    path = tmp_path / "model_0.pt"
    path.write_bytes(content)
    with pytest.raises(SoloError, match="Cannot read the checkpoint"):
        read_checkpoint(path)


def test_a_full_disk_is_one_clear_line_and_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model_1.pt"
    write_checkpoint(path, {"iter": 1})

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(SoloError, match=r"Cannot write .* No space left"):
        write_checkpoint(path, {"iter": 2})
    assert read_checkpoint(path)["iter"] == 1
