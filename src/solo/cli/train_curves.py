"""``solo train curves``: how a training went, as one figure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from solo.cli.checks import check_at_least, check_picture_path
from solo.errors import SoloError
from solo.files import written_aside

if TYPE_CHECKING:
    from solo.viewer.training_picture import Panel

STEPS_PER_ITERATION = 24
"""Control steps of an environment in an iteration (paper)."""


@dataclass(frozen=True)
class TrainCurves:
    """Draw episode length, velocity error, stance, levels and more of a run.

    Dashed lines are what a walking teacher has to reach on flat ground.
    """

    run_folder: Annotated[Positional[Path], arg(metavar="RUN")]
    """Folder of the run."""
    output: Path = Path("curves.png")
    """Figure to write."""
    log: Path | None = None
    """Folder for a small copy of the TensorBoard log, with the mean of each 10
    iterations and without histograms."""
    json: Path | None = None
    """File to write the means over the last tenth of the curves to."""

    def run(self) -> dict[str, Any]:
        """Draw, print the final values and return them."""
        check_picture_path(self.output, (".png",))
        if self.log is not None and self.log.exists() and any(self.log.iterdir()):
            raise SoloError(
                f"--log {str(self.log)!r} is not empty. Choose a new folder."
            )

        from solo.stages.curves import read_curves, write_log
        from solo.viewer.training_picture import draw_training

        curves = read_curves(self.run_folder)
        panels = _panels()
        if not any(panel.tag in curves for panel in panels):
            raise SoloError(
                f"The folder {str(self.run_folder)!r} has no curves. Give the folder "
                "of a run of `solo train` that logs to TensorBoard."
            )
        num_envs = _num_envs(self.run_folder)
        check_at_least("num_envs of the run", num_envs, 1)
        million = STEPS_PER_ITERATION * num_envs / 1e6
        drawn = {tag: ((c.iterations + 1) * million, c.values)
                 for tag, c in curves.items()}  # fmt: skip
        with written_aside(self.output) as unfinished:
            name = self.run_folder.resolve().name
            draw_training(panels, drawn, unfinished, name)
        print(f"Wrote {self.output}")
        if self.log is not None:
            write_log(self.log, curves, every=10)
            print(f"Wrote {self.log}")
        result: dict[str, Any] = {"run": str(self.run_folder)}
        for panel in panels:
            if panel.tag in curves:
                value = curves[panel.tag].last_mean() * panel.factor
                result[panel.tag] = value
                print(f"{panel.title}: {value:.3g}")
        return result


def _panels() -> tuple[Panel, ...]:
    from solo.viewer.training_picture import Panel

    return (
        Panel("Train/mean_episode_length", "episode length, steps of 1000", 1.0, 800.0),
        Panel("Episode_Metrics/velocity_error", "velocity error, m/s", 1.0, 0.3),
        Panel("Episode_Metrics/single_stance", "single stance, share", 1.0, 0.5),
        Panel("Episode_Metrics/foot_lift", "mean foot lift, cm", 100.0, 3.0),
        Panel("Curriculum/terrain_levels/mean", "terrain level"),
        Panel("Curriculum/assist", "upright torque, share"),
        Panel("Train/mean_reward", "return"),
        Panel("Policy/mean_std", "deviation of actions"),
        Panel("Loss/amp_style_reward", "style reward"),
        Panel("Loss/teacher_disagreement", "distance to the teacher, squared"),
        Panel("Loss/recon_height_cm", "map error, cm"),
        Panel("Perf/total_fps", "samples per second"),
    )


def _num_envs(folder: Path) -> int:
    """Environments of all processes of a run."""
    try:
        run = json.loads((folder / "run.json").read_text())
        stage = ("teacher", "student", "perceptive").index(run["stage"])
        return run["num_envs"] or run["profile"]["num_envs"][stage]
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise SoloError(
            f"Cannot read 'run.json' in {str(folder)!r}: {error!r}. Give the folder of "
            "a run of `solo train`."
        ) from error
