"""``solo train pack``: a run as a small folder to share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from solo.cli.checks import check_run
from solo.errors import SoloError


@dataclass(frozen=True)
class TrainPack:
    """Write a run's last checkpoint to a small folder of its own.

    It drops what only an exact resume needs: the state of the environments and the
    discriminator's replay buffer. Later stages, `solo eval` and `solo export` accept
    the folder like a run.
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
        check_run(self.run_folder)

        from solo.stages.pack import pack_run

        packed = pack_run(self.run_folder, self.output)
        before, after = (packed[k] / 1e6 for k in ("bytes_before", "bytes"))
        print(f"Wrote {packed['checkpoint']}: {after:.1f} MB instead of {before:.1f}")
        return packed
