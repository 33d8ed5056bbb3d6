"""Recognise result files by what is in them, and check what will be drawn.

Files of other machines and versions are welcome: only what is drawn must be there, and
what is not known is left alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solo.errors import SoloError
from solo.report.check import Malformed
from solo.report.formats import recognise

RESULT = "result.json"

EXPECTED = "a result of `solo eval`, `solo recon compare --json` or `solo bench --json`"


@dataclass(frozen=True, eq=False)
class Result:
    """One file."""

    kind: str
    """Name of a protocol, "curriculum", "recon" or "bench policy" and the like."""
    path: Path
    sha256: str
    """Of the file."""
    data: dict[str, Any]

    @property
    def folder(self) -> Path:
        """Where it lies, and what belongs to it."""
        return self.path.parent


def read_results(paths: Sequence[Path]) -> list[Result]:
    """Read files, or folders that hold a ``result.json``; a file given twice once.

    Raises:
        SoloError: There is none, or one is not a result.
    """
    if not paths:
        raise SoloError(f"No result is given. Name at least one file: {EXPECTED}.")
    unique: dict[Path, Path] = {}
    for path in map(find_file, paths):
        unique.setdefault(path.resolve(), path)
    return [read_result(path) for path in unique.values()]


def find_file(path: Path) -> Path:
    """The file of a result that was given by its file or folder."""
    if not path.exists():
        raise SoloError(f"There is no file {str(path)!r}. Give {EXPECTED}.")
    if not path.is_dir():
        return path
    if (path / RESULT).is_file():
        return path / RESULT
    if (path / "cells").is_dir():
        raise SoloError(
            f"The evaluation in {str(path)!r} is not finished: there is no {RESULT}. "
            "Run its command again to go on with it."
        )
    raise SoloError(
        f"There is no {RESULT} in the folder {str(path)!r}. Give {EXPECTED}."
    )


def read_result(path: Path) -> Result:
    """Read one file.

    Raises:
        SoloError: It cannot be read, is no JSON, not one of ours, or has a wrong value.
    """
    try:
        content = path.read_bytes()
        data = json.loads(content)
    except OSError as error:
        raise _refused(path, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        reason = "it is not JSON or was cut off"
        raise _refused(path, f"{reason} ({error})") from error
    if not isinstance(data, dict):
        raise _refused(path, f"it holds a {type(data).__name__}, not an object")
    try:
        kind = recognise(data)
    except Malformed as error:
        raise _refused(path, str(error)) from error
    return Result(kind, path, hashlib.sha256(content).hexdigest(), data)


def _refused(path: Path, reason: str) -> SoloError:
    return SoloError(f"Cannot draw {str(path)!r}: {reason}. It must be {EXPECTED}.")
