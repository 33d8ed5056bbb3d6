"""Files are whole or not there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from solo.errors import SoloError
from solo.files import write_json, written_aside

FULL_DISK = Path("/dev/full")
"""Every write to it fails for lack of space."""


def write_half(path: Path) -> None:
    with written_aside(path) as temporary:
        temporary.write_text("half of the n")
        raise RuntimeError


def write_to_full_disk(path: Path) -> None:
    with written_aside(path):
        FULL_DISK.write_text("x")


def test_a_failure_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "result.json"
    path.write_text("old")
    with pytest.raises(RuntimeError):
        write_half(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.json"]


def test_the_file_appears_only_when_it_is_whole(tmp_path):
    path = tmp_path / "result.txt"
    with written_aside(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"


@pytest.mark.skipif(not FULL_DISK.exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_clear_line(tmp_path):
    with pytest.raises(SoloError, match=r"Cannot write .* No space left"):
        write_to_full_disk(tmp_path / "result.txt")


def test_a_missing_folder_is_one_clear_line(tmp_path):
    with pytest.raises(SoloError, match="Cannot write"):
        write_json(tmp_path / "no" / "such.json", {})


def test_json_comes_back(tmp_path):
    write_json(tmp_path / "a.json", {"x": [1, 2.5]})
    assert json.loads((tmp_path / "a.json").read_text()) == {"x": [1, 2.5]}
