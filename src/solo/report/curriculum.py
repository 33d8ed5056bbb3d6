"""Curves of the curriculum level over trainings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solo.pictures.training import smoothed
from solo.report import paper
from solo.report import parts as ui
from solo.report.figures import Line, curves
from solo.report.read import ResultFile
from solo.results import Curriculum, LevelCurve

_MAX_POINTS = 240


def curriculum_section(files: Sequence[ResultFile]) -> ui.Section:
    """Curriculum levels of all trainings of all files in one figure."""
    runs = [r for f in files if isinstance(f.result, Curriculum) for r in f.result.runs]
    notes = {run.name: _curriculum_notes(run) for run in runs}
    rows = []
    for run in runs:
        cells = [f"{run.final_level:.2f}", f"{run.highest_level:.2f}"]
        count = ui.quantity(run.iterations[-1] + 1)
        rows.append(ui.Row(run.name, [*cells, count, _plateau(run.name)]))
    named = {method_of(run.name) for run in runs}
    for method, quote in paper.CURRICULUM.items():
        if method not in named:
            rows.append(ui.Row(method, [ui.NONE, ui.NONE, ui.NONE, ui.quoted(quote)]))
    columns = [
        ui.Column("run"),
        ui.Column("final level", "last tenth"),
        ui.Column("highest"),
        ui.Column("iterations"),
        ui.Column("plateau", "paper", True),
    ]
    lines = [
        Line(k, *smooth(run.iterations, run.levels), has_markers=False)
        for k, run in enumerate(runs)
    ]
    level = (paper.CURRICULUM_CEILING, f"ceiling {paper.CURRICULUM_CEILING}")
    title = "Mean curriculum level over iterations"
    drawn = curves(title, lines, "iteration", "mean level", level=level)
    note = "Each point is the mean over the last 2 % of the run up to it."
    keys = [(f"b{k % ui.NUM_COLOURS}", run.name) for k, run in enumerate(runs)]
    parts = [
        ui.Badges(ui.shared_notes(notes)),
        ui.Table("Mean curriculum level", columns, rows, "fig:distill-curve"),
        ui.Drawing(title, [drawn], note, keys),
        ui.file_settings(files),
    ]
    intro = (
        "Mean curriculum level of all robots during training. Robots that solve the "
        "top level start again at a random one, so the mean saturates at about "
        f"{paper.CURRICULUM_CEILING}."
    )
    heads = [
        ui.Headline("Curriculum, final level", run.name,
                 ui.Cell(f"{run.final_level:.2f}", "mean of the last tenth"),
                 _plateau(run.name), notes[run.name])
        for run in runs
    ]  # fmt: skip
    return ui.Section("curriculum", "Curriculum progress", intro, parts, heads)


def method_of(name: str) -> str | None:
    """The paper's objective that a run is named after, if its name tells."""
    plain = name.lower().replace("_", "-").replace("+", "-").replace(" ", "-")
    for words, method in (
        (("ta-mse", "tamse"), "TA-MSE"),
        (("mse-ppo", "d-ppo"), "MSE+PPO"),
        (("ppo",), "PPO"),
    ):
        if any(word in plain for word in words):
            return method
    return None


def _plateau(name: str) -> ui.Cell:
    method = method_of(name)
    return ui.quoted(method and paper.CURRICULUM[method], "{}", method)


def _curriculum_notes(run: LevelCurve) -> list[str]:
    count, wanted = run.iterations[-1] + 1, paper.CURRICULUM_ITERATIONS
    return [] if count == wanted else [f"{count:,} iterations (paper: {wanted:,})"]


def smooth(
    xs: Sequence[float], levels: Sequence[float]
) -> tuple[list[float], list[float]]:
    """The running mean of a curve, at so few places that the page stays small."""
    step = max(1, -(-len(levels) // _MAX_POINTS))
    ends = np.unique([*range(step, len(levels) + 1, step), len(levels)])
    return [xs[end - 1] for end in ends], smoothed(levels)[ends - 1].tolist()
