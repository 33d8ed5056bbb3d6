"""``solo export``: write a trained policy as one file that a robot can run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from solo.cli import Verb
from solo.cli.checks import check_picture_path, say_loading
from solo.errors import SoloError
from solo.runs.folder import find_checkpoint


@dataclass(frozen=True)
class Export(Verb):
    """Write a trained policy as one self-describing ONNX file.

    The file holds the reconstructor and the student, everything a robot needs to know
    to run them, and a golden sequence of inputs and outputs that is checked on loading.
    """

    checkpoint: Annotated[Positional[Path], arg(metavar="CHECKPOINT")]
    """Run folder or checkpoint of `solo train perceptive`."""
    output: Path = Path("policy.onnx")
    """File to write."""

    def run(self) -> dict[str, Any]:
        check_picture_path(self.output, (".onnx",))
        checkpoint = find_checkpoint(self.checkpoint)
        say_loading()

        from solo.envs.locomotion_env_cfg import training_command
        from solo.export.metadata import ExportRecord
        from solo.export.write import export_bundle
        from solo.robots import get_robot
        from solo.runs import open_run

        run, ranges = open_run(checkpoint), training_command().ranges
        networks = run.networks
        if networks.student is None or networks.reconstructor is None:
            raise SoloError(
                f"{str(checkpoint)!r} is a policy of stage {run.stage!r}: it sees the "
                "true height map and velocity, which a robot does not have. Export a "
                "student of the perceptive stage (`solo train perceptive`)."
            )
        timestep, decimation = run.profile.physics
        low, high = zip(
            ranges.lin_vel_x, ranges.lin_vel_y, ranges.ang_vel_z, strict=True
        )
        record = ExportRecord(
            profile=run.profile.name,
            seed=run.record["seed"],
            command_low=low,
            command_high=high,
            control_hz=round(1.0 / (timestep * decimation), 9),
            iteration=run.iteration,
            versions=run.record["versions"],
            notes={
                "checkpoint": str(run.path),
                "differences_from_the_paper": run.record["differences_from_the_paper"],
            },
        )
        bundle = export_bundle(
            networks.student,
            networks.reconstructor,
            get_robot(run.record["robot"]),
            self.output,
            record,
        )
        size = self.output.stat().st_size
        depth = bundle.contract.depth
        print(
            f"Wrote {self.output}: {size / 1e6:.2f} MB, "
            f"{len(bundle.contract.joints.names)} joints, "
            f"{bundle.contract.control_hz:g} Hz, depth {depth.width}x{depth.height} to "
            f"{depth.output_width}x{depth.output_height}; differs from torch by "
            f"{bundle.golden_difference:.1e} over the golden sequence."
        )
        return {
            "output": str(self.output),
            "bundle_bytes": size,
            "checkpoint": str(run.path),
            "iteration": run.iteration,
            "profile": record.profile,
            "golden_difference": bundle.golden_difference,
            "sha256": bundle.metadata["graph"]["sha256"],
        }
