"""Files that are either whole or not there."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from solo.errors import SoloError


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """Yield a temporary path; what is written there takes the place of ``path``.

    A kill or a full disk leaves the old file, or none, but never half of one. Links are
    followed. What is no file (a device, a pipe, the standard output) is written to and
    stays what it is.

    Raises:
        SoloError: The file cannot be written.
    """
    temporary = None
    try:
        is_stream = _is_stream(path)
        target = path if is_stream else Path(os.path.realpath(path))
        folder = Path(tempfile.gettempdir()) if is_stream else target.parent
        # Short whatever the name: file systems allow 255 bytes.
        name = f".{target.stem[:40]}.{os.getpid()}.{threading.get_native_id()}"
        temporary = folder / f"{name}{target.suffix[:20]}"
        yield temporary
        if is_stream:
            _pour(temporary, target)
        else:
            os.replace(temporary, target)
    except OSError as error:
        raise SoloError(
            f"Cannot write {str(path)!r}: {error.strerror or error}. "
            "Choose a folder that exists, is writable and has space."
        ) from error
    finally:
        if temporary is not None:
            with suppress(OSError):  # What went wrong before is what to tell.
                temporary.unlink(missing_ok=True)


def _is_stream(path: Path) -> bool:
    """Whether a path is no file, or is where a stream of this process leads to."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    is_file = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return not is_file or _stream_at(status) is not None


def _stream_at(status: os.stat_result) -> int | None:
    """Standard output or error, if that is where they lead to."""
    for stream in (1, 2):
        with suppress(OSError):  # Closed.
            if os.path.samestat(status, os.fstat(stream)):
                return stream
    return None


def _pour(source: Path, target: Path) -> None:
    sys.stdout.flush()
    stream = _stream_at(target.stat())
    # Opening the path of a redirected output would begin the file anew.
    opened = os.dup(stream) if stream is not None else os.open(target, os.O_WRONLY)
    with source.open("rb") as read, os.fdopen(opened, "wb") as write:
        shutil.copyfileobj(read, write)


def write_json(path: Path, value: Any) -> None:
    """Write a result as JSON."""
    with written_aside(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2) + "\n")


def read_json(path: Path, hint: str) -> dict[str, Any]:
    """Read a JSON object; ``hint`` says what to do if that fails.

    Raises:
        SoloError: It is not there, damaged, or something else.
    """
    try:
        value = json.loads(path.read_text())
        if not isinstance(value, dict):
            raise ValueError(f"it holds a {type(value).__name__}, not an object")
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SoloError(f"Cannot read {str(path)!r}: {reason}. {hint}") from error
    return value


def read_npz(path: Path, hint: str) -> dict[str, np.ndarray]:
    """Read all arrays of an NPZ file; ``hint`` says what to do if that fails.

    Raises:
        SoloError: It is not there, damaged, or holds more than plain arrays.
    """
    try:
        if path.is_file() and not zipfile.is_zipfile(path):
            raise ValueError("it is no ZIP archive")  # NumPy advises to unpickle it.
        with np.load(path, allow_pickle=False) as archive:
            return dict(archive)
    # The archive, its compression and the arrays fail in as many ways.
    except Exception as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise SoloError(
            f"{str(path)!r} is not a whole .npz file of plain arrays ({reason}). {hint}"
        ) from error


@contextmanager
def owned_folder(folder: Path) -> Iterator[None]:
    """Create a folder if need be and keep other processes of ours out of it.

    Raises:
        SoloError: The folder cannot be written, or another process has it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise SoloError(
            f"Cannot write to the folder {str(folder)!r}: {error.strerror or error}. "
            "Choose another output."
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SoloError(
                f"Another process works in {str(folder)!r}. Stop it or wait for it, or "
                "choose another output."
            ) from None
        yield


def check_same(folder: Path, what: str, there: Any, here: Any) -> None:
    """Refuse to go on in a folder that something else was begun in.

    ``what`` is what it holds, such as ``evaluation``; ``there`` and ``here`` are
    settings as JSON has them.
    """
    for key, found, wanted in _differences(there, here):
        raise SoloError(
            f"{str(folder)!r} holds another {what}: {key} is {found} there and "
            f"{wanted} here. Give the same options, or choose another output."
        )


def _differences(
    there: Any, here: Any, path: str = ""
) -> Iterator[tuple[str, object, object]]:
    """Paths at which two JSON values differ, with both values."""
    if isinstance(there, dict) and isinstance(here, dict):
        for key in dict.fromkeys((*there, *here)):
            inner = f"{path}.{key}" if path else str(key)
            yield from _differences(there.get(key), here.get(key), inner)
    elif there != here:
        yield path, there, here
