"""``solo train curves`` and ``solo eval curriculum``: curves of runs in one figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from solo.cli import Verb, print_table
from solo.cli.checks import check_new_folder, check_picture_path
from solo.errors import SoloError
from solo.files import read_json, written_aside
from solo.report.paper import CURRICULUM_CEILING
from solo.results import LEVEL_TAG, Curriculum, LevelCurve
from solo.runs.folder import CONFIG, PARAMS


@dataclass(frozen=True)
class CurveOptions(Verb):
    """The runs of a figure."""

    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN...")]
    """Folders of the runs."""
    labels: tuple[str, ...] = ()
    """Names in the figure, one per run; runs with the same name form a band. The folder
    names if omitted."""

    def check(self, output: Path) -> None:
        """Refuse a figure that cannot be written, and one without runs."""
        check_picture_path(output, (".png",))
        if not self.runs:
            raise SoloError("No run is given. Name the folder of at least one.")


@dataclass(frozen=True)
class TrainCurves(CurveOptions):
    """Plot episode length, velocity error, stance, levels and more of training runs.

    Runs that differ in their seed alone are drawn as one line, the mean, in a band from
    the lowest to the highest. Dashed lines mark what a walking teacher should reach on
    flat ground.
    """

    output: Path = Path("curves.png")
    """Figure to write."""
    log: Path | None = None
    """Folder for a small copy of the TensorBoard log of one run, averaged over every 10
    iterations and without histograms."""

    def run(self) -> dict[str, Any]:
        self.check(self.output)
        if self.log is not None:
            check_new_folder("log", self.log)
            if len(self.runs) > 1:
                raise SoloError(
                    f"--log copies the log of one run; there are {len(self.runs)}. "
                    "Give one."
                )

        from solo.stages.curves import group_runs, read_curves, write_log

        groups = group_runs(self.runs, self.labels)
        curves = {folder: read_curves(folder) for folder in self.runs}

        from solo.pictures.training import PANELS, draw_training

        drawn = {}
        for folder, found in curves.items():
            if not any(panel.tag in found for panel in PANELS):
                raise SoloError(
                    f"The folder {str(folder)!r} has no curves. Give the folder of a "
                    "run of `solo train` that logs to TensorBoard."
                )
            million = samples_per_iteration(folder) / 1e6
            drawn[folder] = {tag: ((c.iterations + 1) * million, c.values)
                             for tag, c in found.items()}  # fmt: skip
        with written_aside(self.output) as unfinished:
            lines = {label: [drawn[f] for f in runs] for label, runs in groups.items()}
            draw_training(PANELS, lines, unfinished, _title(groups))
        print(f"Wrote {self.output}")
        if self.log is not None:
            (only,) = curves.values()
            write_log(self.log, only, every=10)
            print(f"Wrote {self.log}")
        means: dict[str, dict[str, float]] = {}
        for label, runs in groups.items():
            means[label] = {}
            for panel in PANELS:
                ends = [curves[f][panel.tag].last_mean() for f in runs
                        if panel.tag in curves[f]]  # fmt: skip
                if ends:
                    means[label][panel.tag] = panel.factor * sum(ends) / len(ends)
        _print_means(means)
        return {"runs": [str(folder) for folder in self.runs], "means": means}


@dataclass(frozen=True)
class EvalCurriculum(CurveOptions):
    """Plot the curriculum levels of several training runs in one figure.

    Runs that differ in their seed alone are drawn as one line, the mean, in a band from
    the lowest to the highest.
    """

    output: Path = Path("curriculum.png")
    """Figure to write."""

    def run(self) -> dict[str, Any]:
        self.check(self.output)

        from solo.result_files import to_json
        from solo.stages.curves import group_runs

        groups = group_runs(self.runs, self.labels)
        names = self.labels or [folder.resolve().name for folder in self.runs]
        curves = list(map(read_levels, self.runs, names))
        by_folder = dict(zip(self.runs, curves, strict=True))

        from solo.pictures.training import draw_curriculum

        for curve in curves:
            print(
                f"{curve.name}: level {curve.final_level:.2f} after "
                f"{curve.iterations[-1] + 1} iterations, at best "
                f"{curve.highest_level:.2f}"
            )
        with written_aside(self.output) as unfinished:
            lines = {
                label: [by_folder[folder] for folder in folders]
                for label, folders in groups.items()
            }
            draw_curriculum(lines, CURRICULUM_CEILING, unfinished)
        print(f"Wrote {self.output}")
        return to_json(Curriculum(tuple(curves), CURRICULUM_CEILING, str(self.output)))


def read_levels(folder: Path, name: str) -> LevelCurve:
    """Read the curriculum levels of a run; its final level is the mean of a tenth.

    Raises:
        SoloError: The folder holds no such curve.
    """
    from solo.stages.curves import read_curves

    curve = read_curves(folder, (LEVEL_TAG,)).get(LEVEL_TAG)
    if curve is None:
        raise SoloError(
            f"The folder {str(folder)!r} has no curve {LEVEL_TAG!r}. Give the folder "
            "of a run of `solo train` that logs to TensorBoard and in which an episode "
            "has ended."
        )
    return LevelCurve(
        name=name,
        iterations=tuple(curve.iterations.tolist()),
        levels=tuple(curve.values.tolist()),
        final_level=curve.last_mean(),
        highest_level=float(curve.values.max()),
    )


def _title(groups: Mapping[str, Sequence[Path]]) -> str:
    return next(iter(groups)) if len(groups) == 1 else f"{len(groups)} settings"


def _print_means(means: Mapping[str, Mapping[str, float]]) -> None:
    """The last tenth of each curve, one column per setting."""
    from rich.table import Table

    from solo.pictures.training import PANELS

    table = Table("mean of the last tenth", *means)
    for panel in PANELS:
        if any(panel.tag in found for found in means.values()):
            cells = [
                f"{found[panel.tag]:.3g}" if panel.tag in found else "-"
                for found in means.values()
            ]
            table.add_row(panel.title, *cells)
    print_table(table)


def samples_per_iteration(folder: Path) -> int:
    """Control steps of all environments and processes in one iteration of a run.

    Raises:
        SoloError: The run does not say.
    """
    import yaml

    run = read_json(folder / CONFIG, "Give the folder of a run of `solo train`.")
    try:
        agent = yaml.safe_load((folder / PARAMS / "agent.yaml").read_text())
        # Runs from before it was written down are of one process, or look so.
        sizes = {
            "num_envs": run["num_envs"],
            "num_processes": run.get("num_processes", 1),
            "num_steps_per_env": agent["num_steps_per_env"],
        }
        if not all(isinstance(size, int) and size > 0 for size in sizes.values()):
            raise ValueError(f"the sizes are {sizes}")
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())[:200]
        raise SoloError(
            f"Cannot read the size of the run in {str(folder)!r}: {reason}. Give the "
            "folder of a run of `solo train`."
        ) from error
    return math.prod(sizes.values())
