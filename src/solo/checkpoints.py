"""Checkpoint files: tensors and plain values, with a checksum over every one of them.

torch writes zip archives, whose entries carry a CRC-32 that torch itself does not look
at when it reads: a file with a block of zeros in it would load. Here it is looked at,
which costs a millisecond per megabyte; files of any age have it.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import torch

from solo.errors import SoloError
from solo.files import written_aside


def write_checkpoint(path: Path, values: dict[str, Any]) -> None:
    """Write tensors and plain values to a file that is either whole or not there.

    Raises:
        SoloError: The file cannot be written.
    """
    # Through memory: torch's own writer tells a full disk by errors of its own.
    buffer = io.BytesIO()
    torch.save(values, buffer)
    with written_aside(path) as unfinished:
        unfinished.write_bytes(buffer.getbuffer())


def read_checkpoint(path: Path, device: str | None = None) -> dict[str, Any]:
    """Read a checkpoint, all of it as it was written, without executing anything in it.

    Raises:
        SoloError: The file is missing, damaged or made by other software.
    """
    if not path.is_file():
        raise SoloError(
            f"There is no checkpoint {str(path)!r}. Give the path of a .pt file that "
            "`solo train` or `solo recon train` wrote."
        )
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
        if damaged is not None:
            raise ValueError(f"the checksum of {damaged!r} is wrong")
        values = torch.load(path, weights_only=True, map_location=device)
        if not isinstance(values, dict):
            raise ValueError(f"it holds a {type(values).__name__}")
    # Each layer of a damaged file has errors of its own.
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise SoloError(
            f"Cannot read the checkpoint {str(path)!r}: {reason.rstrip('.')}. It is "
            "damaged, or made by other software. Copy it again or use another one."
        ) from error
    return values
