"""``solo train pack``: a run as something to give away."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from solo.errors import SoloError


@dataclass(frozen=True)
class TrainPack:
    """Write a run's last checkpoint to a small folder of its own.

    What only an exact resume needs is left out: the state of the environments and the
    discriminator's memory. Later stages, `solo eval` and `solo export` take the folder
    as they take the run.
    """

    run_folder: Annotated[Positional[Path], arg(metavar="RUN")]
    """Folder of a run, or a checkpoint in one."""
    output: Path | None = None
    """New folder."""
    json: Path | None = None
    """File to write the sizes to."""

    def run(self) -> dict[str, Any]:
        """Write the folder and return its sizes."""
        if self.output is None:
            raise SoloError("--output is missing: give the path of a new folder.")

        from solo.stages.pack import pack_run

        packed = pack_run(self.run_folder, self.output)
        before, after = (packed[k] / 1e6 for k in ("bytes_before", "bytes"))
        print(f"Wrote {packed['checkpoint']}: {after:.1f} MB instead of {before:.1f}")
        return packed
