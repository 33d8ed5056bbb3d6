"""Files that are either whole or not there."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from solo.errors import SoloError


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` and rename it when the block succeeds.

    A kill or a full disk leaves the old file, or none, but never half of one.

    Raises:
        SoloError: The file cannot be written.
    """
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise SoloError(
            f"Cannot write {str(path)!r}: {error.strerror or error}. "
            "Choose a folder that exists, is writable and has space."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write a result as JSON."""
    with written_aside(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2) + "\n")


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
            "Choose another --output."
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SoloError(
                f"Another process works in {str(folder)!r}. Stop it or wait for it, or "
                "choose another --output."
            ) from None
        yield
