"""Files are whole or not there."""

from __future__ import annotations

import errno
import json
import os
import pty
import stat
import subprocess
import sys
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


def test_a_link_is_followed_and_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "real.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    write_json(link, {"x": 1})
    assert link.is_symlink()
    assert json.loads(target.read_text()) == {"x": 1}
    assert os.listdir(tmp_path / "folder") == ["real.json"]


def test_a_link_to_nothing_makes_what_it_names(tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to("new.json")
    write_json(link, 1)
    assert link.is_symlink()
    assert (tmp_path / "new.json").read_text() == "1\n"


def test_a_device_is_written_to_and_stays_a_device(tmp_path):
    """As root, renaming a file onto /dev/null would replace it for everyone."""
    master, slave = pty.openpty()
    link = tmp_path / "link"
    link.symlink_to(os.ttyname(slave))
    for path in (Path(os.ttyname(slave)), link):
        write_json(path, [1])
        assert os.read(master, 100).split() == [b"[", b"1", b"]"]
        assert stat.S_ISCHR(path.stat().st_mode)
    assert link.is_symlink()


def test_a_pipe_gets_the_content(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    write_json(fifo, [1])
    assert json.loads(os.read(read, 100)) == [1]
    os.close(read)


@pytest.mark.parametrize("name", ["link", "/proc/self/fd/1", "out.txt"])
def test_a_redirected_output_keeps_what_was_printed(tmp_path, name):
    script = (
        "from pathlib import Path; from solo.files import write_json; print('before');"
        f"write_json(Path({name!r}), [1]); print('after')"
    )
    (tmp_path / "link").symlink_to("/proc/self/fd/1")  # As /dev/stdout is.
    with (tmp_path / "out.txt").open("w") as file:
        subprocess.run(
            [sys.executable, "-c", script], stdout=file, check=True, cwd=tmp_path
        )
    lines = (tmp_path / "out.txt").read_text().split()
    assert lines == ["before", "[", "1", "]", "after"]


def test_the_longest_name_is_written_and_a_longer_one_is_refused(tmp_path):
    write_json(tmp_path / ("ä" * 125 + ".json"), 1)
    with pytest.raises(SoloError, match=r"Cannot write .* name too long"):
        write_json(tmp_path / ("n" * 300 + ".json"), 1)


def test_a_folder_that_cannot_be_written_is_named_even_if_cleaning_up_fails(
    tmp_path, monkeypatch
):
    """On a read-only file system removing what was never made fails, too."""

    def refuse(*args, **kwargs):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "write_text", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(SoloError, match=r"Cannot write .* Read-only file system"):
        write_json(tmp_path / "a.json", 1)
