"""``solo export``: write a trained policy as one file that a robot can run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from solo.cli.checks import check_picture_path


@dataclass(frozen=True)
class Export:
    """Write a trained policy as one ONNX file that says what it needs.

    The file holds reconstructor and student, everything a robot has to know about
    them, and a sequence of inputs and outputs that is done again whenever it is loaded.
    """

    checkpoint: Annotated[Positional[Path], arg(metavar="CHECKPOINT")]
    """Run folder or checkpoint of `solo train perceptive`."""
    output: Path = Path("policy.onnx")
    """File to write."""
    json: Path | None = None
    """File to write the result to."""

    def run(self) -> dict[str, Any]:
        """Write the bundle, load it with all checks, and describe it.

        Raises:
            SoloError: The policy cannot be exported.
        """
        check_picture_path(self.output, (".onnx",))

        from solo.envs.commands_cfg import make_command
        from solo.export.checkpoint import load_policy
        from solo.export.metadata import ExportRecord
        from solo.export.write import export_bundle
        from solo.robots import get_robot
        from solo.stages.run_folder import find_checkpoint

        trained = load_policy(find_checkpoint(self.checkpoint))
        run, ranges = trained.run, make_command().ranges
        timestep, decimation = run["profile"]["physics"]
        low, high = zip(
            ranges.lin_vel_x, ranges.lin_vel_y, ranges.ang_vel_z, strict=True
        )
        record = ExportRecord(
            profile=run["profile"]["name"],
            seed=run["seed"],
            command_low=low,
            command_high=high,
            control_hz=round(1.0 / (timestep * decimation), 9),
            iteration=trained.iteration,
            versions=run["versions"],
            notes={
                "checkpoint": str(trained.checkpoint),
                "differences_from_the_paper": run["differences_from_the_paper"],
            },
        )
        bundle = export_bundle(
            trained.student,
            trained.reconstructor,
            get_robot(run["robot"]),
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
            "checkpoint": str(trained.checkpoint),
            "iteration": trained.iteration,
            "profile": record.profile,
            "golden_difference": bundle.golden_difference,
            "sha256": bundle.metadata["graph"]["sha256"],
        }
