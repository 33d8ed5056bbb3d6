"""Descending stairs over difficulty on scenes of 8 m and of 10 m."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from solo.report import paper
from solo.report import parts as ui
from solo.report.figures import Line, Mark, curves
from solo.report.read import ProtocolRun
from solo.report.stress import causes_table, rate_point
from solo.results import MAP_ERROR, Job

_SIDES_M = (8.0, 10.0)
"""Sides of the paper's scenes: trained on, and never seen."""


def extent_section(runs: Sequence[ProtocolRun]) -> ui.Section:
    """Everything of the change of extent."""
    parts = [
        ui.Badges(ui.scale_notes(runs)),
        _extent_table(runs),
        _extent_figure(runs),
        causes_table(runs),
    ]
    intro = (
        "Descending stairs over difficulty, on the 8 m scenes of training and on "
        "10 m scenes that no policy has seen."
    )
    heads = [head for run in runs for head in _extent_headlines(run)]
    return ui.Section("extent", "Change of extent", intro, parts, heads)


def extent_marks() -> list[Mark]:
    """The paper's numbers at difficulty 0.99; QR's are named."""
    return [
        Mark(paper.EXTENT_DIFFICULTY, error, f"QR {side:g} m" if m == "QR" else "")
        for m, errors in paper.EXTENT_L1_CM.items()
        for side, error in zip(_SIDES_M, errors, strict=True)
    ]


def _extent_headlines(run: ProtocolRun) -> list[ui.Headline]:
    heads = []
    for side, target in zip(_SIDES_M, paper.EXTENT_L1_CM["QR"], strict=True):
        job = _at(run, paper.EXTENT_DIFFICULTY, side)
        measure = job and job.measures.get(MAP_ERROR)
        if not measure or measure.mean is None:
            continue
        cell, ends = ui.mean_cell(measure, 100.0, 2), measure.interval
        score = ui.Score(100 * measure.mean, target, False, ends and 100 * ends[0])
        heads.append(
            ui.Headline(f"Descending stairs of {side:g} m, height-map L1", run.label,
                     ui.Cell(f"{cell.main} cm", cell.small),
                     ui.quoted(target, "{:.1f} cm", "QR"), run.scale_notes(), score)
        )  # fmt: skip
    return heads


def _at(run: ProtocolRun, difficulty: float, side: float) -> Job | None:
    for job in run.cells:
        if job.difficulty == difficulty and (job.patch_m or 8.0) == side:
            return job
    return None


def _extent_table(runs: Sequence[ProtocolRun]) -> ui.Table:
    jobs = [job for run in runs for job in run.cells]
    has_map = ui.has_measure(runs, MAP_ERROR)
    rows = []
    for side in sorted({job.patch_m or 8.0 for job in jobs}):
        for difficulty in sorted({job.difficulty or 0.0 for job in jobs}):
            cells: list[ui.Entry] = []
            for run in runs:
                job = _at(run, difficulty, side)
                cells.append(ui.rate_cell(job.success) if job else ui.NONE)
                if has_map:
                    cells.append(ui.measure_cell(job, MAP_ERROR, 100.0))
            is_quoted = difficulty == paper.EXTENT_DIFFICULTY and side in _SIDES_M
            said = [
                paper.EXTENT_L1_CM[m][_SIDES_M.index(side)] if is_quoted else None
                for m in paper.METHODS
            ]
            cells += [ui.quoted(value, "{:.1f}") for value in said]
            rows.append(ui.Row(f"{side:g} m, {difficulty:g}", cells))
    columns = [ui.Column("scene, difficulty")]
    for run in runs:
        columns.append(ui.Column(run.label, "success, %", series=run.series))
        if has_map:
            columns.append(ui.Column(run.label, "map L1, cm", series=run.series))
    columns += [ui.Column(m, "paper, map L1, cm", True) for m in paper.METHODS]
    caption = "Success and on-policy height-map L1 with 95 % intervals"
    return ui.Table(caption, columns, rows, "fig:recon-and-foothold-quality")


def _extent_figure(runs: Sequence[ProtocolRun]) -> ui.Drawing:
    drawn = []
    mapped = [run for run in runs if ui.has_measure([run], MAP_ERROR)]
    if mapped:
        lines = [curve for run in mapped for curve in _extent_curves(run, _map_point)]
        title = "Height-map L1 over difficulty"
        y = "height-map L1, cm"
        drawn.append(curves(title, lines, "difficulty", y, extent_marks()))
    lines = [curve for run in runs for curve in _extent_curves(run, _success_point)]
    title = "Success over difficulty"
    drawn.append(curves(title, lines, "difficulty", "success, %", high=105.0))
    return ui.Drawing(
        "Solid with circles: 8 m, as in training. Dashed with squares: 10 m",
        drawn,
        "Vertical lines are 95 % intervals.",
        ui.legend(runs, "paper, at 0.99" if mapped else ""),
    )


Ends = tuple[float, float] | None


def _map_point(job: Job) -> tuple[float, Ends] | None:
    measure = job.measures.get(MAP_ERROR)
    if measure is None or measure.mean is None:
        return None
    ends = measure.interval
    return 100 * measure.mean, ends and (100 * ends[0], 100 * ends[1])


def _success_point(job: Job) -> tuple[float, Ends]:
    point = rate_point(0, job.success)
    return point.value, point.ends


def _extent_curves(
    run: ProtocolRun, point: Callable[[Job], tuple[float, Ends] | None]
) -> list[Line]:
    """One curve per side of the scene."""
    found = []
    for side in sorted({job.patch_m or 8.0 for job in run.cells}):
        jobs = [job for job in run.cells if (job.patch_m or 8.0) == side]
        jobs.sort(key=lambda job: job.difficulty or 0.0)
        points = [(job.difficulty or 0.0, point(job)) for job in jobs]
        kept = [(x, p) for x, p in points if p is not None]
        if kept:
            xs, ys = [x for x, _ in kept], [p[0] for _, p in kept]
            ends = [p[1] for _, p in kept]
            found.append(Line(run.series, xs, ys, side > _SIDES_M[0], ends))
    return found
